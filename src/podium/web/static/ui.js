// Small helpers: elements, words for numbers, tables that change only where their rows do.

/** An element with attributes and children. Text is always text, never HTML. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const LOCALE = "en";
const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });

export const count = (value) => whole.format(value);

export function number(value) {
  return Math.abs(value) < 100 ? short.format(value) : whole.format(value);
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${number(value)} ${units[unit]}`;
}

export function amount(resource, value) {
  if (resource === "memory") return bytes(value);
  return resource === "cpu" ? `${number(value)} cores` : `${number(value)} GPU${value === 1 ? "" : "s"}`;
}

export function duration(seconds) {
  seconds = Math.max(0, Math.round(seconds));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString("en-GB");
}

export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Sets text only where it differs, so that nothing is laid out for nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A table whose body follows a list of rows: cells are touched only where their words change. */
export class Table {
  constructor(caption, heads, { sort = null, onSort = null, empty = "nothing", cards = false } = {}) {
    this.heads = heads;
    this.empty = empty;
    this.body = el("tbody");
    this.lines = new Map(); // rows of the table by what tells them apart
    this.headCells = heads.map((head) => {
      const cell = el("th", { scope: "col", class: head.class });
      if (head.sort && onSort) cell.append(el("button", { type: "button", class: "sort", onclick: () => onSort(head.sort) }, head.name));
      else cell.append(head.name);
      return cell;
    });
    // Phones show rows as cards, which takes the meaning of a table away from some browsers: roles keep it.
    this.table = el("table", { class: cards ? "cards" : null, role: "table" }, el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, ...this.headCells)), this.body);
    this.root = el("div", { class: "wide", role: "region", tabindex: "0", "aria-label": caption }, this.table);
    this.sorted(sort);
  }

  sorted(sort) {
    this.heads.forEach((head, at) => {
      const mine = sort && head.sort === sort.key;
      if (head.sort) this.headCells[at].setAttribute("aria-sort", mine ? (sort.down ? "descending" : "ascending") : "none");
    });
  }

  /** `cells(row)` gives for each head a text or {text, class, href, note, title}; `row[0]` tells rows apart. */
  show(rows, cells) {
    const body = this.body;
    if (!rows.length) {
      this.lines.clear();
      body.replaceChildren(el("tr", { role: "row" }, el("td", { role: "cell", colspan: this.heads.length, class: "muted" }, this.empty)));
      return;
    }
    if (!this.lines.size) body.replaceChildren();
    const wanted = new Set(rows.map((row) => row[0]));
    for (const [key, line] of this.lines) {
      if (!wanted.has(key)) { line.remove(); this.lines.delete(key); }
    }
    rows.forEach((row, at) => {
      let line = this.lines.get(row[0]);
      if (!line) {
        line = el("tr", { role: "row" }, ...this.heads.map((head, column) => el(column ? "td" : "th", {
          class: head.class, scope: column ? null : "row", role: column ? "cell" : "rowheader", "data-label": head.label,
        })));
        line.words = [];
        this.lines.set(row[0], line);
      }
      if (body.children[at] !== line) body.insertBefore(line, body.children[at] ?? null);
      cells(row).forEach((cell, column) => this.#cell(line, column, typeof cell === "object" && cell !== null ? cell : { text: String(cell ?? "") }));
    });
  }

  #cell(line, column, cell) {
    const key = `${cell.class ?? ""}\n${cell.text}\n${cell.href ?? ""}\n${cell.note ?? ""}\n${cell.width ?? ""}`;
    if (line.words[column] === key) return;
    line.words[column] = key;
    const place = line.children[column];
    const words = cell.href ? el("a", { href: cell.href }, cell.text) : cell.class ? el("span", { class: cell.class }, cell.text) : cell.text;
    const parts = [words];
    if (cell.note) parts.push(el("small", { class: "muted" }, cell.note));
    place.replaceChildren(...parts);
  }
}

/** Buttons that leaf through pages of a list. */
export class Pager {
  constructor(onTurn, size = 50) {
    this.page = 0;
    this.size = size;
    this.words = el("span", { class: "muted" });
    this.back = el("button", { type: "button", onclick: () => { this.page -= 1; onTurn(); } }, "Back");
    this.on = el("button", { type: "button", onclick: () => { this.page += 1; onTurn(); } }, "Next");
    this.root = el("div", { class: "pager" }, this.back, this.words, this.on);
  }

  cut(rows) {
    const last = Math.max(0, Math.ceil(rows.length / this.size) - 1);
    this.page = Math.min(Math.max(0, this.page), last);
    const first = this.page * this.size;
    this.back.disabled = this.page === 0;
    this.on.disabled = this.page === last;
    setText(this.words, rows.length ? `${count(first + 1)} to ${count(Math.min(rows.length, first + this.size))} of ${count(rows.length)}` : "none");
    this.root.hidden = rows.length <= this.size;
    return rows.slice(first, first + this.size);
  }
}

/** The inks of the palette as the browser sees them now. */
export function inks(names) {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** A canvas that is as sharp as the screen. */
export function sized(canvas, width, height) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
