// What is known of the cluster, and what of it has changed since a page last looked.

import { SERIES } from "./palette.js";

const ENTRIES = 5000;
const GONE = 1000;
const POINTS = 720;

export class Store {
  constructor() {
    this.clear();
  }

  clear() {
    this.jobs = new Map();
    this.nodes = new Map();
    this.queues = [];
    this.queueById = new Map();
    this.journal = new Map();
    this.whys = new Map();
    this.gone = [];
    this.samples = [];
    this.days = [];
    this.states = {};
    this.inkOf = new Map();
    this.inkUse = new Array(SERIES).fill(0);
    this.hello = null;
    this.ready = false;
    this.nobody = false;
    this.changed = { jobs: new Set(), nodes: new Set(), queues: true, journal: true, samples: true, all: true };
  }

  /** How far this machine's clock is from the scheduler's does not matter: ages are by the latter's. */
  now() {
    return Date.now() / 1000 + (this.skew ?? 0);
  }

  take() {
    const changed = this.changed;
    this.changed = { jobs: new Set(), nodes: new Set(), queues: false, journal: false, samples: false, all: false };
    return changed;
  }

  get dirty() {
    const c = this.changed;
    return c.all || c.jobs.size > 0 || c.nodes.size > 0 || c.queues || c.journal || c.samples;
  }

  apply(kind, data) {
    const handler = this[`on_${kind}`];
    if (handler) handler.call(this, data);
  }

  on_hello(data) {
    this.clear();
    this.hello = data;
    this.skew = data.now - Date.now() / 1000;
    const fields = (names) => Object.fromEntries(names.map((name, at) => [name, at]));
    this.J = fields(data.fields.jobs);
    this.N = fields(data.fields.nodes);
    this.Q = fields(data.fields.queues);
    this.E = fields(data.fields.journal);
    this.S = fields(data.fields.samples);
  }

  on_nobody() {
    this.clear();
    this.nobody = true;
  }

  on_ready() {
    this.ready = true;
    this.changed.all = true;
  }

  on_jobs(data) {
    const { id, state } = this.J;
    for (const row of data.rows) {
      const before = this.jobs.get(row[id]);
      if (before) this.states[before[state]] -= 1;
      this.states[row[state]] = (this.states[row[state]] ?? 0) + 1;
      this.jobs.set(row[id], row);
      this.changed.jobs.add(row[id]);
    }
  }

  on_gone(data) {
    const { id, state } = this.J;
    for (const row of data.rows) {
      const before = this.jobs.get(row[id]);
      if (before) this.states[before[state]] -= 1;
      this.jobs.delete(row[id]);
      this.#giveBack(row[id]);
      this.changed.jobs.add(row[id]);
      this.gone.push(row);
    }
    if (this.gone.length > GONE) this.gone.splice(0, this.gone.length - GONE);
  }

  on_nodes(data) {
    for (const row of data.rows) {
      if (!this.nodes.has(row[0])) this.changed.all = true;
      this.nodes.set(row[0], row);
      this.changed.nodes.add(row[0]);
    }
    for (const number of data.gone ?? []) {
      this.nodes.delete(number);
      this.changed.all = true;
    }
  }

  on_queues(data) {
    this.queues = data.rows;
    this.queueById = new Map(data.rows.map((row) => [row[0], row]));
    this.changed.queues = true;
  }

  on_journal(data) {
    for (const row of data.rows) this.journal.set(row[0], row);
    while (this.journal.size > ENTRIES) this.journal.delete(this.journal.keys().next().value);
    this.on_whys(data);
    this.changed.journal = true;
  }

  on_whys(data) {
    for (const [number, why] of Object.entries(data.whys)) this.whys.set(Number(number), why);
  }

  on_samples(data) {
    this.samples.push(...data.rows);
    if (this.samples.length > POINTS) this.samples.splice(0, this.samples.length - POINTS);
    this.changed.samples = true;
  }

  on_days(data) {
    this.days = data.rows;
    this.changed.samples = true;
  }

  /** Why a job waits, in one sentence; "" if nothing is known. */
  why(row) {
    const why = row[this.J.why];
    if (why === null) return "";
    return typeof why === "string" ? why : this.whys.get(why)?.[1] ?? "";
  }

  /** The ink of a job, the same on every page: the one that covers least, so that large jobs differ. */
  ink(job) {
    let found = this.inkOf.get(job);
    if (found === undefined) {
      const ink = this.inkUse.indexOf(Math.min(...this.inkUse));
      found = { ink, covers: Math.max(1, this.jobs.get(job)?.[this.J.gpus] ?? 1) };
      this.inkUse[ink] += found.covers;
      this.inkOf.set(job, found);
    }
    return `series${found.ink}`;
  }

  #giveBack(job) {
    const found = this.inkOf.get(job);
    if (found !== undefined) this.inkUse[found.ink] -= found.covers; // it keeps the ink in the timeline
  }

  /** What users call the job of an entry of the journal. */
  jobName(entry) {
    return this.jobs.get(entry[this.E.job])?.[this.J.name] ?? entry[this.E.name];
  }

  queueName(id) {
    return this.queueById.get(id)?.[this.Q.name] ?? (id.split("/").pop() || "no queue");
  }
}
