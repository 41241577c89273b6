// Jobs with the reason for which each waits: one screen of who runs, who waits, and why.

import { Pager, Table, count, duration, el, number, setText } from "./ui.js";

const SHOWN = { open: "waiting and running", waiting: "waiting", running: "running", ended: "ended", all: "all" };
const IN = {
  open: new Set(["waiting", "holding", "starting", "running", "leaving"]),
  waiting: new Set(["waiting", "holding"]),
  running: new Set(["starting", "running", "leaving"]),
  ended: new Set(["done", "failed"]),
};
const ORDER = { waiting: 0, holding: 1, starting: 2, running: 3, leaving: 4, failed: 5, done: 6 };
const LIST_PERIOD = 1000; // milliseconds between two times that the whole list is put in order

export class JobsPage {
  constructor(store) {
    this.store = store;
    this.sort = { key: "state", down: false };
    this.listedAt = 0;
    this.rows = [];
    this.search = el("input", { type: "search", placeholder: "job, namespace, queue or reason", "aria-label": "Find jobs", oninput: () => this.#again() });
    this.state = el("select", { "aria-label": "Which jobs", onchange: () => this.#again() }, ...Object.entries(SHOWN).map(([key, words]) => el("option", { value: key }, words)));
    this.queue = el("select", { "aria-label": "Of which queue", onchange: () => this.#again() }, el("option", { value: "*" }, "all queues"));
    this.total = el("p", { class: "muted" });
    this.pager = new Pager(() => this.#list());
    this.table = new Table("Jobs", [
      { name: "State", sort: "state" }, { name: "Job", sort: "name" }, { name: "Queue", sort: "queue" }, { name: "Pods", class: "n", sort: "members", label: "pods" },
      { name: "GPUs", class: "n", sort: "gpus", label: "GPUs" }, { name: "Age", class: "n", sort: "created", label: "old" }, { name: "Where it runs, or why not", class: "why long" },
    ], { sort: this.sort, onSort: (key) => this.#sortBy(key), empty: "no job is like that", cards: true });
    this.root = el("section", { class: "card", "aria-labelledby": "jobs-title" },
      el("div", { class: "row" }, el("h1", { id: "jobs-title" }, "Jobs"), this.search, this.state, this.queue), this.total, this.table.root, this.pager.root);
  }

  filter(query) {
    if (query.has("state") && SHOWN[query.get("state")]) this.state.value = query.get("state");
    if (query.has("queue")) {
      this.wantedQueue = query.get("queue");
      this.#queues();
      this.queue.value = this.wantedQueue;
    }
    if (query.toString()) this.#again();
  }

  draw(changed) {
    if (!this.store.hello) return;
    if (changed.all || changed.queues) this.#queues();
    if (changed.all || performance.now() > this.listedAt + LIST_PERIOD) this.#list();
    else this.#show();
  }

  #queues() {
    const { Q, queues } = this.store;
    const key = queues.map((row) => row[0]).join("\n");
    if (key === this.queueKey || !Q) return;
    this.queueKey = key;
    const chosen = this.queue.value;
    this.queue.replaceChildren(el("option", { value: "*" }, "all queues"), ...queues.map((row) => el("option", { value: row[Q.id] }, row[Q.name])));
    this.queue.value = this.wantedQueue ?? chosen;
    if (!this.queue.value) this.queue.value = "*";
  }

  #again() {
    this.pager.page = 0;
    if (this.store.hello) this.#list();
  }

  #sortBy(key) {
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : false };
    this.table.sorted(this.sort);
    this.#list();
  }

  /** Chooses and sorts; the rows themselves are looked up when they are shown. */
  #list() {
    this.listedAt = performance.now();
    const { store } = this;
    const { J } = store;
    const wanted = this.search.value.trim().toLowerCase();
    const states = IN[this.state.value], queue = this.queue.value;
    const found = [];
    for (const row of store.jobs.values()) {
      if (states && !states.has(row[J.state])) continue;
      if (queue !== "*" && row[J.queue] !== queue && !this.#isBelow(row[J.queue], queue)) continue;
      if (wanted && !`${row[J.namespace]}/${row[J.name]} ${row[J.kind]} ${row[J.queue]} ${store.why(row)}`.toLowerCase().includes(wanted)) continue;
      found.push(row);
    }
    const { key, down } = this.sort;
    const sign = down ? -1 : 1;
    const field = J[key];
    const compare = key === "state" ? (a, b) => ORDER[a[field]] - ORDER[b[field]] || a[J.created] - b[J.created] || a[0] - b[0]
      : typeof found[0]?.[field] === "string" ? (a, b) => (a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : a[0] - b[0])
        : (a, b) => a[field] - b[field] || a[0] - b[0];
    found.sort((a, b) => sign * compare(a, b));
    this.rows = found.map((row) => row[J.id]);
    setText(this.total, `${count(found.length)} of ${count(store.jobs.size)} jobs`);
    this.#show();
  }

  #isBelow(queue, above) {
    const { Q, queueById } = this.store;
    for (let at = queueById.get(queue), steps = 0; at && steps < 32; steps += 1) {
      if (at[Q.parent] === above) return true;
      at = queueById.get(at[Q.parent]);
    }
    return false;
  }

  #show() {
    const { store } = this;
    const { J } = store;
    const now = store.now();
    const shown = this.pager.cut(this.rows).map((id) => store.jobs.get(id)).filter(Boolean);
    this.table.show(shown, (row) => [
      { text: row[J.state], class: `badge ${row[J.state]}` },
      { text: row[J.name], href: `#/jobs/job/${row[J.id]}`, note: `${row[J.namespace]} · ${row[J.kind] || "group"}` },
      store.queueName(row[J.queue]),
      { text: `${count(row[J.running])} of ${count(row[J.members])}`, note: row[J.minimum] > 1 ? `at least ${count(row[J.minimum])}` : "" },
      row[J.gpus] ? number(row[J.gpus]) : "–",
      duration(now - row[J.created]),
      store.why(row) || where(row[J.where]),
    ]);
  }
}

function where([nodes, others]) {
  if (!nodes.length) return "";
  return { text: `on ${nodes.join(", ")}${others ? ` and ${count(others)} more` : ""}`, class: "muted" };
}
