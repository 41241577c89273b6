// The decision journal: what each turn did and refused, with its numbers.

import { Pager, Table, clock, count, el, setText } from "./ui.js";

const KINDS = { all: "everything", bind: "binds", refuse: "refusals", evict: "evictions", phase: "admissions", nominate: "nominations", reserve: "held places", release: "places given back", resize: "sizes", queue: "queues", failure: "failures" };
const LIST_PERIOD = 800; // milliseconds between two lists
const WORDS = { bind: "bound", refuse: "refused", evict: "evicted", phase: "let in", nominate: "nominated", reserve: "holds", release: "released", resize: "resized", queue: "queue", failure: "failure" };

export class JournalPage {
  constructor(store) {
    this.store = store;
    this.search = el("input", { type: "search", placeholder: "job, node or reason", "aria-label": "Find decisions", oninput: () => { this.pager.page = 0; this.#list(); } });
    this.kind = el("select", { "aria-label": "Which decisions", onchange: () => { this.pager.page = 0; this.#list(); } }, ...Object.entries(KINDS).map(([key, words]) => el("option", { value: key }, words)));
    this.hold = el("button", { type: "button", "aria-pressed": "false", onclick: () => this.#pause() }, "Pause");
    this.total = el("p", { class: "muted" });
    this.pager = new Pager(() => this.#list(), 60);
    this.table = new Table("Decisions, the newest first", [
      { name: "Time" }, { name: "Turn", class: "n" }, { name: "Decision" }, { name: "Job" }, { name: "What, with its numbers", class: "why long" },
    ], { empty: "nothing has been decided yet", cards: true });
    this.root = el("section", { class: "card", "aria-labelledby": "journal-title" },
      el("div", { class: "row" }, el("h1", { id: "journal-title" }, "Decisions"), this.search, this.kind, this.hold), this.total, this.table.root, this.pager.root);
  }

  filter(query) {
    if (query.has("job")) {
      this.search.value = query.get("job");
      this.#list();
    }
  }

  draw(changed) {
    if (!this.store.hello || this.paused || !(changed.all || changed.journal || this.stale)) return;
    this.stale = !changed.all && performance.now() < (this.listedAt ?? 0) + LIST_PERIOD;
    if (!this.stale) this.#list();
  }

  #pause() {
    this.paused = !this.paused;
    this.hold.setAttribute("aria-pressed", String(this.paused));
    setText(this.hold, this.paused ? "Go on" : "Pause");
    if (!this.paused) this.#list();
  }

  #list() {
    const { E, journal } = this.store;
    if (!E) return;
    this.listedAt = performance.now();
    const wanted = this.search.value.trim().toLowerCase(), kind = this.kind.value;
    const rows = [...journal.values()].filter((row) => (kind === "all" || row[E.kind] === kind)
      && (!wanted || `${row[E.namespace]}/${row[E.name]} ${this.store.jobName(row)} ${row[E.profile]} ${row[E.text]}`.toLowerCase().includes(wanted)));
    rows.sort((a, b) => b[E.last] - a[E.last] || b[E.number] - a[E.number]);
    setText(this.total, `${count(rows.length)} of the last ${count(journal.size)} decisions. A refusal that is repeated is one line.`);
    this.table.show(this.pager.cut(rows), (row) => [
      clock(row[E.last]),
      { text: count(row[E.last_turn]), note: row[E.profile] },
      { text: WORDS[row[E.kind]] ?? row[E.kind], class: `badge ${row[E.kind]}` },
      row[E.job] ? { text: this.store.jobName(row), href: `#/journal/job/${row[E.job]}`, note: row[E.namespace] } : row[E.name],
      { text: row[E.text], note: row[E.times] > 1 ? `${count(row[E.times])} times since ${clock(row[E.at])}` : "" },
    ]);
  }
}
