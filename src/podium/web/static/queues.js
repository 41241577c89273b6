// Queues and pools as a tree: what each should have, has, borrows and waits for.

import { amount, count, el, plural, setText } from "./ui.js";

const RESOURCES = { gpu: "GPUs", cpu: "CPU", memory: "memory" };

export class QueuesPage {
  constructor(store) {
    this.store = store;
    this.resource = null;
    this.lines = new Map();
    this.choose = el("select", { id: "queue-of", onchange: (event) => { this.resource = event.target.value; this.draw({ all: true }); } },
      ...Object.entries(RESOURCES).map(([key, words]) => el("option", { value: key }, words)));
    this.body = el("tbody");
    this.empty = el("p", { class: "muted" }, "No queue is known yet.");
    this.table = el("table", { class: "queues cards", role: "table" }, el("caption", { class: "hidden" }, "Queues and pools"),
      el("thead", {}, el("tr", {}, ...["Queue", "Share", "In words", "Running", "Waiting", "Weight"].map((name, at) => el("th", { scope: "col", class: at > 2 ? "n" : "" }, name)))), this.body);
    this.root = el("section", { class: "card", "aria-labelledby": "queues-title" },
      el("div", { class: "row" }, el("h1", { id: "queues-title" }, "Queues and pools"), el("label", { for: "queue-of" }, "of"), this.choose),
      el("ul", { class: "legend" },
        ...[["used", "in use"], ["borrowed", "borrowed: beyond its share"], ["wanted", "waited for"], ["mark", "its share"], ["mark limit", "its limit"]].map(([key, words]) =>
          el("li", {}, el("i", { class: `chip bar-${key}` }), words))),
      el("div", { class: "wide", role: "region", tabindex: "0", "aria-label": "Queues and pools" }, this.table), this.empty);
  }

  draw(changed) {
    const { store } = this;
    if (!store.hello || !(changed.all || changed.queues)) return;
    const { Q } = store;
    if (this.resource === null && store.queues.length) {
      this.resource = store.queues.some((row) => row[Q.gpu][0] || row[Q.gpu][4]) || [...store.nodes.values()].some((row) => row[store.N.gpus]) ? "gpu" : "cpu";
      this.choose.value = this.resource;
    }
    this.empty.hidden = store.queues.length > 0;
    const rows = this.#tree();
    const whole = this.#whole(rows);
    const shown = new Set();
    rows.forEach(({ row, depth }, at) => {
      const id = row[Q.id];
      shown.add(id);
      let line = this.lines.get(id);
      if (!line) this.lines.set(id, (line = this.#line()));
      if (this.body.children[at] !== line.root) this.body.insertBefore(line.root, this.body.children[at] ?? null);
      this.#fill(line, row, depth, whole);
    });
    for (const [id, line] of this.lines) {
      if (!shown.has(id)) { line.root.remove(); this.lines.delete(id); }
    }
  }

  /** What a whole bar stands for: all that the cluster has. */
  #whole(rows) {
    const { Q, N, nodes } = this.store;
    let most = 1e-9;
    if (this.resource === "gpu") for (const row of nodes.values()) most += row[N.gpus];
    for (const { row } of rows) {
      const [used, deserved, limit, , waits] = row[Q[this.resource]];
      most = Math.max(most, used, deserved ?? 0, this.resource === "gpu" ? 0 : limit ?? used + waits);
    }
    return most;
  }

  /** Parents before children, by name. */
  #tree() {
    const { Q } = this.store;
    const below = new Map();
    for (const row of this.store.queues) {
      const parent = row[Q.parent];
      if (!below.has(parent)) below.set(parent, []);
      below.get(parent).push(row);
    }
    const found = [], seen = new Set();
    const visit = (row, depth) => {
      if (seen.has(row[Q.id])) return;
      seen.add(row[Q.id]);
      found.push({ row, depth });
      for (const child of (below.get(row[Q.id]) ?? []).sort((a, b) => a[Q.name].localeCompare(b[Q.name]))) if (row[Q.id] !== "") visit(child, depth + 1);
    };
    const roots = (below.get("") ?? []).sort((a, b) => a[Q.dialect].localeCompare(b[Q.dialect]) || a[Q.name].localeCompare(b[Q.name]));
    for (const row of roots) visit(row, 0);
    for (const row of this.store.queues) visit(row, 0); // whose parents go round in a circle
    return found;
  }

  #line() {
    const line = { name: el("span", { class: "queue" }), note: el("small", { class: "muted" }), words: el("td", { role: "cell", class: "words long" }), running: el("td", { role: "cell", class: "n", "data-label": "running" }), waiting: el("td", { role: "cell", class: "n", "data-label": "waiting" }), weight: el("td", { role: "cell", class: "n", "data-before": "weight" }) };
    for (const key of ["used", "borrowed", "wanted", "mark", "limit"]) line[key] = el("i", { class: key === "limit" ? "bar-mark limit" : `bar-${key}` });
    line.bar = el("div", { class: "share", role: "img" }, line.used, line.borrowed, line.wanted, line.mark, line.limit);
    line.head = el("th", { role: "rowheader", scope: "row" }, line.name, line.note);
    line.root = el("tr", { role: "row" }, line.head, el("td", { role: "cell", class: "long" }, line.bar), line.words, line.running, line.waiting, line.weight);
    return line;
  }

  #fill(line, row, depth, whole) {
    const { Q } = this.store;
    const [used, deserved, limit, guaranteed, waits] = row[Q[this.resource]];
    const borrowed = deserved === null ? 0 : Math.max(0, used - deserved);
    const percent = (value) => `${Math.min(100, (100 * value) / whole)}%`;
    line.head.style.paddingLeft = `${0.8 + depth * 1.1}rem`;
    line.head.setAttribute("aria-level", String(depth + 1));
    setText(line.name, row[Q.name]);
    setText(line.note, [row[Q.dialect], row[Q.open] ? "" : "closed", row[Q.nodes] ? `owns ${plural(row[Q.nodes], "node")}` : ""].filter(Boolean).join(" · "));
    line.used.style.width = percent(used - borrowed);
    line.borrowed.style.left = percent(used - borrowed);
    line.borrowed.style.width = percent(borrowed);
    line.wanted.style.left = percent(used);
    line.wanted.style.width = percent(Math.min(waits, Math.max(0, whole - used)));
    line.mark.hidden = deserved === null;
    line.mark.style.left = percent(deserved ?? 0);
    line.limit.hidden = limit === null || limit > whole * 1.0001;
    line.limit.style.left = percent(limit ?? 0);
    const parts = [`${amount(this.resource, used)} in use`];
    const owner = row[Q.nodes] > 0; // what it holds elsewhere while its own nodes lend is borrowed as well
    if (deserved !== null) parts.push(`${owner ? "its nodes have" : "its share is"} ${amount(this.resource, deserved)}`);
    if (borrowed > 0) parts.push(`${owner ? "at least " : ""}${amount(this.resource, borrowed)} borrowed`);
    if (guaranteed) parts.push(`${amount(this.resource, guaranteed)} guaranteed`);
    if (limit !== null) parts.push(`at most ${amount(this.resource, limit)}`);
    if (waits) parts.push(`${amount(this.resource, waits)} waited for`);
    const words = parts.join(", ");
    setText(line.words, words);
    line.bar.setAttribute("aria-label", `${row[Q.name]}: ${words}`);
    const jobs = row[Q.jobs];
    setText(line.running, count((jobs.running ?? 0) + (jobs.starting ?? 0)));
    const waiting = (jobs.waiting ?? 0) + (jobs.holding ?? 0);
    const key = `${waiting} ${row[Q.id]}`;
    if (line.key !== key) {
      line.key = key;
      line.waiting.replaceChildren(waiting ? el("a", { href: `#/jobs?state=waiting&queue=${encodeURIComponent(row[Q.id])}` }, count(waiting)) : "0");
    }
    setText(line.weight, count(row[Q.weight]));
  }
}
