// The cluster map: a tile for each node, a cell for each of its GPUs, coloured by whose job has it.
// Only tiles that have changed are drawn again.

import { HEATS, SERIES } from "./palette.js";
import { Pager, Table, amount, count, el, inks, number, plural, setText, sized } from "./ui.js";

const SIZES = [44, 38, 32, 26, 22, 18, 15, 12, 10, 8, 7, 6, 5, 4, 3, 2];
const LIST_PERIOD = 1000; // milliseconds between two counts of all nodes
const LARGEST = 8; // jobs in the legend
const KEYS = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home", "End", "Enter"];
const names = new Intl.Collator("en", { numeric: true });

export class MapPage {
  constructor(store) {
    this.store = store;
    this.by = "job";
    this.lit = 0; // the job that is pointed at
    this.order = [];
    this.at = new Map(); // a node's place in the order
    this.cursor = null; // the node that the keys are at: it stays there when others come and go
    this.early = []; // keys that were pressed before there was a map
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-describedby": "map-help", "aria-label": "Cluster map" });
    this.said = el("p", { class: "hidden", "aria-live": "polite" });
    this.legend = el("ul", { class: "legend", "aria-label": "The largest jobs" });
    const choose = el("select", { id: "map-by", onchange: (event) => { this.by = event.target.value; this.#whole(); } },
      el("option", { value: "job" }, "job"), el("option", { value: "queue" }, "queue"), el("option", { value: "fill" }, "how full"));
    this.search = el("input", { type: "search", placeholder: "node, state, model or job", "aria-label": "Find nodes", oninput: () => { this.pager.page = 0; this.#list(); } });
    this.pager = new Pager(() => this.#list());
    this.table = new Table("Nodes", [
      { name: "Node" }, { name: "State" }, { name: "GPUs", class: "n" }, { name: "CPU", class: "n" }, { name: "Memory", class: "n" },
      { name: "Pods", class: "n" }, { name: "Jobs" },
    ], { empty: "no node is like that" });
    this.root = el("div", {},
      el("section", { class: "card", "aria-labelledby": "map-title" },
        el("div", { class: "row" }, el("h1", { id: "map-title" }, "Cluster map"),
          el("label", { for: "map-by" }, "coloured by"), choose),
        this.summary = el("p", { class: "muted" }),
        this.scroll = el("div", { class: "canvas" }, this.canvas),
        this.legend,
        el("p", { id: "map-help", class: "muted small" }, "A tile is a node, a cell a GPU; an empty one is free. A node without GPUs is as dark as its CPU is full. Point at a cell, or use the arrow keys; Enter opens the node. The table below says the same."),
        this.said),
      el("section", { class: "card", "aria-labelledby": "nodes-title" },
        el("div", { class: "row" }, el("h2", { id: "nodes-title" }, "Nodes"), this.search), this.table.root, this.pager.root));
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerleave", () => this.#tip(null));
    this.canvas.addEventListener("click", (event) => this.#open(this.#under(event)));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("focus", () => this.#whole());
    this.canvas.addEventListener("blur", () => { this.#tip(null); this.#whole(); });
    this.tip = document.getElementById("tip");
  }

  repaint() {
    this.inks = null;
  }

  draw(changed) {
    if (!this.store.hello) return;
    // While nodes come in, the map waits for the last of them: it would be laid out anew for each portion.
    if (this.store.nodes.size < this.store.hello.counts.nodes && !this.store.ready) return;
    if (changed.all || !this.inks) {
      this.#arrange();
      this.#whole();
      if (this.order.length) for (const key of this.early.splice(0)) this.#press(key);
    } else if (changed.nodes.size) {
      const context = this.#context();
      for (const number of changed.nodes) {
        const place = this.at.get(number);
        if (place !== undefined) this.#tile(context, place);
      }
    }
    if (changed.all || changed.nodes.size || changed.jobs.size) this.stale = true;
    if (this.stale && (changed.all || performance.now() > (this.listedAt ?? 0) + LIST_PERIOD)) {
      this.stale = false;
      this.listedAt = performance.now();
      this.#words();
      this.#list();
    }
  }

  // --- where tiles are ----------------------------------------------------------------------------------------------

  #arrange() {
    const { N, nodes } = this.store;
    this.inks = inks(["paper", "raised", "text", "muted", "grid", "axis", "bad", "wait", ...Array.from({ length: SERIES }, (_, n) => `series${n}`), ...Array.from({ length: HEATS }, (_, n) => `heat${n}`)]);
    this.order = [...nodes.values()].sort((a, b) => (b[N.gpus] > 0) - (a[N.gpus] > 0) || names.compare(a[N.name], b[N.name])).map((row) => row[N.id]);
    this.at = new Map(this.order.map((number, place) => [number, place]));
    const most = Math.max(1, ...Array.from(nodes.values(), (row) => Math.ceil(row[N.gpus])));
    this.rows = most >= 4 ? 2 : 1;
    if (most > 16) this.rows = Math.ceil(Math.sqrt(most / 2));
    this.columns = Math.ceil(most / this.rows);
    const width = Math.max(200, this.scroll.clientWidth || 800);
    const highest = Math.max(420, window.innerHeight * 0.62);
    for (const size of SIZES) {
      this.cell = size;
      this.inner = size > 4 ? 1 : 0;
      this.gap = size > 12 ? 8 : size > 6 ? 4 : size > 3 ? 3 : 2;
      this.named = size >= 15 && this.order.length <= 200;
      this.width = Math.max(this.columns * size, this.named ? 64 : 0);
      this.height = this.rows * size + (this.named ? 15 : 0);
      this.across = Math.max(1, Math.floor((width + this.gap) / (this.width + this.gap)));
      this.down = Math.ceil(this.order.length / this.across);
      if (this.down * (this.height + this.gap) <= highest) break;
    }
    this.size = [width, Math.max(1, this.down * (this.height + this.gap) - this.gap)];
  }

  #context() {
    return sized(this.canvas, ...this.size);
  }

  #whole() {
    if (!this.inks) return;
    const context = this.#context();
    context.clearRect(0, 0, ...this.size);
    for (let place = 0; place < this.order.length; place += 1) this.#tile(context, place);
  }

  #corner(place) {
    return [(place % this.across) * (this.width + this.gap), Math.floor(place / this.across) * (this.height + this.gap)];
  }

  // --- one tile -----------------------------------------------------------------------------------------------------

  #tile(context, place) {
    const { N } = this.store;
    const row = this.store.nodes.get(this.order[place]);
    if (!row) return;
    const [x, y] = this.#corner(place);
    const { cell, inner, inks: ink } = this;
    context.clearRect(x - 1, y - 1, this.width + 2, this.height + 2);
    context.globalAlpha = 1;
    const gpus = Math.ceil(row[N.gpus]);
    if (!gpus) {
      context.fillStyle = row[N.state] === "down" ? ink.bad : ink[`heat${Math.min(HEATS - 1, Math.floor((row[N.cpu] / 100) * HEATS))}`];
      const mine = !this.lit || row[N.held].some((each) => each[0] === this.lit);
      context.globalAlpha = mine ? 1 : 0.25;
      context.fillRect(x, y, this.columns * cell - inner, this.rows * cell - inner);
    } else {
      const cells = this.#cells(row, gpus);
      if (inner === 0 && !this.lit) this.#runs(context, cells, x, y, row[N.state]);
      else for (let at = 0; at < gpus; at += 1) {
        const left = x + (at % this.columns) * cell, top = y + Math.floor(at / this.columns) * cell;
        this.#one(context, cells[at], left, top, cell - inner, row[N.state]);
      }
    }
    context.globalAlpha = 1;
    if (row[N.state] !== "ready") {
      context.strokeStyle = row[N.state] === "down" ? ink.bad : ink.axis;
      context.lineWidth = cell > 6 ? 2 : 1;
      context.strokeRect(x, y, this.columns * cell - inner, this.rows * cell - inner);
    }
    if (this.order[place] === this.cursor && document.activeElement === this.canvas) {
      context.strokeStyle = ink.text;
      context.lineWidth = 2;
      context.strokeRect(x, y, this.columns * cell - inner, this.rows * cell - inner);
    }
    if (this.named) {
      context.fillStyle = ink.muted;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "alphabetic";
      context.fillText(clipped(row[N.name], Math.floor(this.width / 6)), x, y + this.rows * cell + 11);
    }
  }

  /** Which jobs are in which cell: a list of [job, share of the cell]. */
  #cells(row, gpus) {
    const cells = Array.from({ length: gpus }, () => []);
    let next = 0;
    const parts = [];
    for (const [job, held] of row[this.store.N.held]) {
      let whole = Math.floor(held + 1e-6);
      if (held - whole > 1e-3) parts.push([job, held - whole]);
      while (whole > 0 && next < gpus) { cells[next].push([job, 1]); next += 1; whole -= 1; }
    }
    for (const [job, share] of parts) {
      const free = cells.findIndex((cell, at) => at >= next && cell.reduce((sum, each) => sum + each[1], 0) + share <= 1.001);
      if (free >= 0) cells[free].push([job, share]);
    }
    return cells;
  }

  /** Small cells have no lines between them: neighbours of one job are one rectangle. */
  #runs(context, cells, x, y, state) {
    const { cell, inks: ink } = this;
    context.fillStyle = state === "down" ? ink.wait : ink.grid;
    for (let at = 0; at < cells.length; at += this.columns) {
      const many = Math.min(this.columns, cells.length - at);
      context.fillRect(x, y + (at / this.columns) * cell, many * cell, cell);
    }
    for (let at = 0; at < cells.length;) {
      const job = cells[at][0]?.[0], line = Math.floor(at / this.columns);
      let end = at + 1;
      while (end < cells.length && Math.floor(end / this.columns) === line && cells[end][0]?.[0] === job) end += 1;
      if (job !== undefined) {
        context.fillStyle = this.#ink(job);
        context.fillRect(x + (at % this.columns) * cell, y + line * cell, (end - at) * cell, cell);
      }
      at = end;
    }
  }

  #one(context, held, left, top, size, state) {
    const ink = this.inks;
    context.globalAlpha = 1;
    context.fillStyle = state === "down" ? ink.wait : ink.grid;
    context.fillRect(left, top, size, size);
    let bottom = top + size;
    for (const [job, share] of held) {
      context.globalAlpha = this.lit && job !== this.lit ? 0.22 : 1;
      context.fillStyle = this.#ink(job);
      const height = share >= 0.999 ? size : Math.max(1, size * share);
      bottom -= height;
      context.fillRect(left, bottom, size, height);
    }
  }

  #ink(job) {
    if (this.by === "fill") return this.inks[`heat${HEATS - 2}`];
    if (this.by === "queue") {
      const row = this.store.jobs.get(job);
      const place = row ? this.store.queues.findIndex((each) => each[0] === row[this.store.J.queue]) : -1;
      return place < 0 ? this.inks.axis : this.inks[`series${place % SERIES}`];
    }
    return this.inks[this.store.ink(job)];
  }

  // --- pointing -----------------------------------------------------------------------------------------------------

  #under(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const column = Math.floor(x / (this.width + this.gap)), line = Math.floor(y / (this.height + this.gap));
    const place = line * this.across + column;
    if (column >= this.across || place < 0 || place >= this.order.length) return null;
    const [left, top] = this.#corner(place);
    const cell = Math.floor((y - top) / this.cell) * this.columns + Math.floor((x - left) / this.cell);
    return { place, cell };
  }

  #point(event) {
    const found = this.#under(event);
    this.#tip(found, event.clientX, event.clientY);
  }

  #tip(found, x = 0, y = 0) {
    const row = found && this.store.nodes.get(this.order[found.place]);
    this.tip.hidden = !row;
    const lit = row ? this.#cells(row, Math.ceil(row[this.store.N.gpus]))[found.cell]?.[0]?.[0] ?? 0 : 0;
    if (lit !== this.lit) {
      this.lit = lit;
      this.#whole();
    }
    if (!row) return;
    this.tip.replaceChildren(el("strong", {}, row[this.store.N.name]), ...this.#sentences(row).map((text) => el("div", {}, text)));
    const right = x + 290 > window.innerWidth;
    this.tip.style.left = `${right ? Math.max(8, x - 280) : x + 14}px`;
    this.tip.style.top = `${Math.min(y + 14, window.innerHeight - this.tip.offsetHeight - 8)}px`;
  }

  #sentences(row) {
    const { N, J, jobs } = this.store;
    const used = row[N.held].reduce((sum, each) => sum + each[1], 0);
    const lines = [`${row[N.state]}${row[N.model] ? `, ${row[N.model]}` : ""}`];
    if (row[N.gpus]) lines.push(`${number(used)} of ${amount("gpu", row[N.gpus])} in use`);
    lines.push(`CPU ${row[N.cpu]} %, memory ${row[N.memory]} %, ${plural(row[N.pods], "pod")}`);
    for (const [job, held] of row[N.held].slice(0, 6)) {
      const who = jobs.get(job);
      lines.push(`${who ? `${who[J.namespace]}/${who[J.name]}` : "a job"}${held ? `: ${amount("gpu", held)}` : ""}`);
    }
    return lines;
  }

  #open(found) {
    if (found) location.hash = `#/map/node/${this.order[found.place]}`;
  }

  #key(event) {
    if (!KEYS.includes(event.key)) return;
    event.preventDefault();
    if (this.order.length) this.#press(event.key);
    else this.early.push(event.key);
  }

  #press(key) {
    const place = this.at.get(this.cursor) ?? -1;
    if (key === "Enter") {
      if (place >= 0) this.#open({ place });
      return;
    }
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.across, ArrowUp: -this.across, Home: -Infinity, End: Infinity };
    const next = Math.min(this.order.length - 1, Math.max(0, place + steps[key]));
    const row = this.store.nodes.get(this.order[next]);
    if (!row) return; // connected anew, and the rows are on their way
    this.cursor = this.order[next];
    const [x, y] = this.#corner(next);
    const box = this.canvas.getBoundingClientRect();
    this.#tip({ place: next, cell: -1 }, box.left + x + this.width, box.top + y);
    this.#whole();
    setText(this.said, `${row[this.store.N.name]}: ${this.#sentences(row).join("; ")}`);
  }

  // --- in words -----------------------------------------------------------------------------------------------------

  #words() {
    const { N, J, nodes, jobs } = this.store;
    const held = new Map();
    let has = 0, used = 0, whole = 0;
    for (const row of nodes.values()) {
      has += row[N.gpus];
      let mine = 0;
      if (row[N.gpus]) for (const [job, share] of row[N.held]) { held.set(job, (held.get(job) ?? 0) + share); mine += share; }
      used += mine;
      whole += row[N.gpus] > 0 && mine < 0.001 && row[N.state] === "ready";
    }
    const text = has ? `${plural(nodes.size, "node")} with ${amount("gpu", has)}: ${number(used)} in use, ${number(has - used)} free, ${plural(whole, "node")} wholly free.`
      : `${plural(nodes.size, "node")}, none with GPUs.`;
    setText(this.summary, text);
    this.canvas.setAttribute("aria-label", `Cluster map. ${text}`);
    const largest = [...held].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, LARGEST);
    const key = JSON.stringify(largest.map(([job, share]) => [job, share, jobs.get(job)?.[J.name], this.#ink(job)]));
    if (key === this.legendKey) return;
    this.legendKey = key;
    this.legend.replaceChildren(...largest.map(([job, share]) => {
      const row = jobs.get(job);
      const chip = el("i", { class: "chip" });
      chip.style.background = this.#ink(job);
      return el("li", {}, el("a", {
        href: `#/map/job/${job}`,
        onmouseenter: () => { this.lit = job; this.#whole(); },
        onmouseleave: () => { this.lit = 0; this.#whole(); },
      }, chip, `${row ? row[J.name] : "a job"} `, el("span", { class: "muted" }, amount("gpu", share))));
    }), ...(held.size > LARGEST ? [el("li", { class: "muted" }, `and ${count(held.size - LARGEST)} more`)] : []));
  }

  #list() {
    const { N, J, nodes, jobs } = this.store;
    const wanted = this.search.value.trim().toLowerCase();
    let rows = this.order.map((number) => nodes.get(number)).filter(Boolean);
    if (wanted) {
      rows = rows.filter((row) => `${row[N.name]} ${row[N.state]} ${row[N.model]}`.toLowerCase().includes(wanted)
        || row[N.held].some(([job]) => jobs.get(job)?.[J.name].toLowerCase().includes(wanted)));
    }
    this.table.show(this.pager.cut(rows), (row) => {
      const used = row[N.held].reduce((sum, each) => sum + each[1], 0);
      const listed = row[N.held].slice(0, 3).map(([job]) => jobs.get(job)?.[J.name] ?? "a job").join(", ");
      return [
        { text: row[N.name], href: `#/map/node/${row[N.id]}`, note: row[N.model] },
        { text: row[N.state], class: `badge ${row[N.state]}` },
        row[N.gpus] ? `${number(used)} of ${number(row[N.gpus])}` : "–", `${row[N.cpu]} %`, `${row[N.memory]} %`, count(row[N.pods]),
        row[N.held].length > 3 ? `${listed} and ${count(row[N.held].length - 3)} more` : listed,
      ];
    });
  }
}

function clipped(text, most) {
  return text.length > most ? `…${text.slice(text.length - most + 1)}` : text;
}
