// One job or one node in full, beside the page.

import { amount, bytes, clock, count, duration, el, number, plural } from "./ui.js";

const PERIOD = 1500; // milliseconds between two looks at an open job

export class Panel {
  constructor(root, store) {
    this.root = root;
    this.store = store;
    this.what = null;
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.what) location.hash = this.back; });
  }

  open(kind, id, back) {
    this.back = back;
    if (this.what && this.what.kind === kind && this.what.id === id) return;
    if (!this.what) this.before = document.activeElement;
    this.what = { kind, id };
    this.stale = true;
    this.root.hidden = false;
    this.root.replaceChildren(el("p", { class: "muted" }, "reading"));
    this.#load().then(() => this.root.focus());
  }

  close(focus = true) {
    if (!this.what) return;
    this.what = null;
    this.root.hidden = true;
    this.root.replaceChildren();
    if (focus || document.activeElement === document.body) this.before?.focus?.();
  }

  draw(changed) {
    if (!this.what) return;
    const set = this.what.kind === "job" ? changed.jobs : changed.nodes;
    if (changed.all || set.has(this.what.id) || changed.journal) this.stale = true;
    if (this.stale && !this.loading && performance.now() > (this.loadedAt ?? 0) + PERIOD) this.#load();
  }

  async #load() {
    const { kind, id } = this.what;
    this.loading = true;
    this.stale = false;
    const answer = await fetch(`/api/${kind}s/${id}`).catch(() => null);
    this.loading = false;
    this.loadedAt = performance.now();
    if (!this.what || this.what.id !== id || this.what.kind !== kind) return;
    if (!answer || !answer.ok) {
      this.#show("Not there", [el("p", {}, answer?.status === 404 ? "It is not there any more." : "It could not be read; it is tried again.")]);
      return;
    }
    const document_ = await answer.json();
    if (kind === "job") this.#job(document_);
    else this.#node(document_);
  }

  #show(title, parts, about = "") {
    const top = this.root.scrollTop;
    this.root.replaceChildren(
      el("div", { class: "row" }, el("h2", { id: "panel-title" }, title), el("a", { class: "button", href: this.back, "aria-label": "Close" }, "Close")),
      ...(about ? [el("p", { class: "muted" }, about)] : []), ...parts);
    this.root.scrollTop = top;
  }

  #job(job) {
    const { J, jobs } = this.store;
    const row = jobs.get(job.id);
    const now = this.store.now();
    const parts = [];
    if (job.why) {
      parts.push(el("div", { class: "notice" }, el("h3", {}, "Why it waits"), el("p", { class: "sentence" }, job.why.sentence),
        ...job.why.others.map((other) => el("p", {}, `Also: ${other.sentence}`)),
        el("p", { class: "muted" }, `What helps: ${job.why.hint}.`), el("p", { class: "muted small" }, `reason ${job.why.code}`)));
    }
    const facts = [
      ["State", row ? row[J.state] : "gone"], ["Queue", row ? this.store.queueName(row[J.queue]) : ""],
      ["Profile", row?.[J.profile]], ["Priority", row ? count(row[J.priority]) : ""],
      ["Members", row ? `${count(row[J.running])} running, ${count(row[J.placed])} placed, ${count(row[J.members])} known, at least ${count(job.minimum)}` : ""],
      ["By role", Object.entries(job.minimum_by_role).map(([role, least]) => `${role} ${least}`).join(", ")],
      ["Size", job.size ? `${job.size[2]} wanted, ${job.size[0]} to ${job.size[1]} possible` : ""],
      ["Starts with", job.together.filter((id) => id !== job.gang).join(", ")],
      ["Each asks for", job.asks.map(([many, asks]) => `${count(many)} × ${asked(asks)}`).join("; ")],
      ["Came", row ? `${clock(row[J.created])}, ${duration(now - row[J.created])} ago` : ""],
      ["Started", row?.[J.started] ? `${clock(row[J.started])}, after ${duration(row[J.started] - row[J.created])}` : ""],
      ["In the model", job.gang],
    ];
    parts.push(list(facts));
    parts.push(el("h3", {}, "Decisions"), journal(job.entries), el("p", {}, el("a", { href: `#/journal?job=${encodeURIComponent(row?.[J.name] ?? "")}` }, "all decisions about it")));
    parts.push(el("h3", {}, `Members (${count(job.members.length + job.more_members)})`), members(job.members, job.more_members));
    this.#show(row ? row[J.name] : "A job that is gone", parts, row ? `${row[J.kind] || "group"} in namespace ${row[J.namespace]}` : "");
  }

  #node(node) {
    const state = node.ready ? (node.unschedulable ? "cordoned" : "ready") : "down";
    const parts = [
      list([["State", state], ["Belongs to", node.queue ? this.store.queueName(node.queue) : ""], ["Taints", node.taints.join(", ")]]),
      el("h3", {}, "Room"),
      el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Resource"), el("th", { scope: "col", class: "n" }, "Used"), el("th", { scope: "col", class: "n" }, "Has"))),
        el("tbody", {}, ...node.amounts.map(([name, used, has]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "n" }, plain(name, used)), el("td", { class: "n" }, plain(name, has))))))),
      el("h3", {}, `Pods (${count(node.members.length + node.more_members)})`), members(node.members, node.more_members, true),
      el("details", {}, el("summary", {}, `${plural(Object.keys(node.labels).length, "label")}`), list(Object.entries(node.labels))),
    ];
    this.#show(node.name, parts, "Node");
  }
}

function list(facts) {
  return el("dl", {}, ...facts.filter(([, value]) => value !== "" && value !== undefined && value !== null).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));
}

function plain(name, value) {
  if (name === "cpu") return `${number(value / 1000)} cores`;
  return name === "memory" || name.includes("storage") || name.startsWith("hugepages") ? bytes(value) : count(value);
}

function asked(asks) {
  return Object.entries(asks).filter(([name]) => name !== "pods").map(([name, value]) => (name === "cpu" || name === "memory" ? plain(name, value) : `${count(value)} ${name}`)).join(" + ") || "a place";
}

function members(rows, more, links = false) {
  if (!rows.length) return el("p", { class: "muted" }, "None is known yet.");
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Members" }, el("table", {},
    el("thead", {}, el("tr", {}, ...["Pod", "State", "Node", "GPUs"].map((name, at) => el("th", { scope: "col", class: at === 3 ? "n" : "" }, name)))),
    el("tbody", {}, ...rows.map(([namespace, name, role, state, node, gpus, job]) => el("tr", {},
      el("th", { scope: "row" }, links && job ? el("a", { href: `#/map/job/${job}` }, name) : name, el("small", { class: "muted" }, role || namespace)),
      el("td", {}, el("span", { class: `badge ${state}` }, state)), el("td", {}, node || "–"), el("td", { class: "n" }, gpus ? amount("gpu", gpus).split(" ")[0] : "–"))),
    ...(more ? [el("tr", {}, el("td", { colspan: 4, class: "muted" }, `and ${count(more)} more`))] : []))));
}

function journal(rows) {
  if (!rows.length) return el("p", { class: "muted" }, "Nothing has been decided about it yet.");
  return el("ol", { class: "entries" }, ...rows.slice(-12).reverse().map((row) => el("li", {},
    el("time", {}, clock(row[4])), ` turn ${count(row[5])}: `, row[11], row[6] > 1 ? el("span", { class: "muted" }, ` (${count(row[6])} times since ${clock(row[3])})`) : null)));
}
