// What has been: how full the cluster was, and when jobs waited and ran. The same marks as in the simulator's report:
// thin while a job waits, thick while it runs; lines differ in their dashes, and not by colour alone.

import { DASHES, SERIES } from "./palette.js";
import { clock, count, duration, el, inks, number, sized } from "./ui.js";

const ROWS = 40;
const LINES = [["gpu", "GPUs", 0], ["cpu", "CPU", 1], ["memory", "Memory", 2]];
const COUNTS = [["running", "jobs that run", 2], ["waiting", "jobs that wait", 1]];
const LEFT = 46, RIGHT = 10, TOP = 12, BOTTOM = 22;

export class TimelinePage {
  constructor(store) {
    this.store = store;
    this.range = el("select", { id: "range", onchange: () => this.draw({ all: true }) }, el("option", { value: "600" }, "10 minutes"), el("option", { value: "3600", selected: true }, "hour"), el("option", { value: "86400" }, "day"));
    this.use = el("canvas", { role: "img" });
    this.counts = el("canvas", { role: "img" });
    this.gantt = el("canvas", { role: "img" });
    this.tables = [el("tbody"), el("tbody")];
    this.root = el("div", {},
      el("section", { class: "card", "aria-labelledby": "time-title" },
        el("div", { class: "row" }, el("h1", { id: "time-title" }, "Timeline"), el("label", { for: "range" }, "of the last"), this.range),
        el("h2", {}, "In use"), legend(LINES, "% of the cluster's"), el("div", { class: "canvas" }, this.use),
        el("h2", {}, "Jobs"), legend(COUNTS), el("div", { class: "canvas" }, this.counts),
        el("details", {}, el("summary", {}, "As a table"), table(["At", "GPUs", "CPU", "Memory", "Run", "Wait"], this.tables[0], "How full the cluster was"))),
      el("section", { class: "card", "aria-labelledby": "gantt-title" },
        el("h2", { id: "gantt-title" }, "When jobs waited and ran"),
        this.about = el("p", { class: "muted" }), el("div", { class: "canvas" }, this.gantt),
        el("details", {}, el("summary", {}, "As a table"), table(["Job", "Queue", "GPUs", "Came", "Waited", "Ran"], this.tables[1], "When jobs waited and ran"))));
  }

  repaint() {
    this.drawnAt = 0;
  }

  draw(changed) {
    if (!this.store.hello || !this.root.isConnected) return;
    if (!changed.all && performance.now() < (this.drawnAt ?? 0) + 1000) return;
    this.drawnAt = performance.now();
    this.inks = inks(["text", "raised", "muted", "grid", "axis", "wait", "good", "bad", ...Array.from({ length: SERIES }, (_, n) => `series${n}`)]);
    this.end = this.store.now();
    this.begin = Math.max(this.end - Number(this.range.value), Math.min(this.end - 60, this.#first()));
    this.#curves(this.use, LINES, 100, " %");
    const S = this.store.S;
    const samples = this.#samples();
    const most = Math.max(4, ...samples.map((row) => Math.max(row[S.running] ?? 0, row[S.waiting] ?? 0)));
    this.#curves(this.counts, COUNTS, 2 * Math.ceil(most / 2), ""); // half of it is a whole number of jobs
    this.#jobs();
    this.#table(samples);
  }

  /** Since when anything is known: a short story fills the picture, too. */
  #first() {
    const { J, S } = this.store;
    const created = (row) => row[J.created];
    let first = this.store.samples[0]?.[S.at] ?? this.end;
    if (this.store.days.length) first = Math.min(first, this.store.days[0][S.at]);
    for (const row of this.store.gone) first = Math.min(first, created(row));
    if (this.store.jobs.size < 5000) for (const row of this.store.jobs.values()) first = Math.min(first, created(row));
    return first - 5;
  }

  #samples() {
    const S = this.store.S;
    const rows = Number(this.range.value) > 3600 ? this.store.days : this.store.samples;
    return rows.filter((row) => row[S.at] >= this.begin - 120);
  }

  #frame(canvas, height) {
    const width = Math.max(260, canvas.parentElement.clientWidth);
    const context = sized(canvas, width, height);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const x = (at) => LEFT + ((at - this.begin) / (this.end - this.begin)) * (width - LEFT - RIGHT);
    context.fillStyle = this.inks.muted;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const marks = width < 500 ? 3 : 6;
    for (let n = 0; n <= marks; n += 1) {
      const at = this.begin + ((this.end - this.begin) * n) / marks;
      context.textAlign = n === 0 ? "left" : n === marks ? "right" : "center";
      context.fillText(n === marks ? "now" : clock(at).slice(0, this.end - this.begin < 900 ? 8 : 5), x(at), height - 6);
    }
    return { context, width, x };
  }

  #curves(canvas, lines, top, unit) {
    const height = 190;
    const { context, width, x } = this.#frame(canvas, height);
    const y = (value) => TOP + (1 - value / top) * (height - TOP - BOTTOM);
    context.lineWidth = 1;
    context.textAlign = "right";
    for (const part of [0, 0.5, 1]) {
      const at = Math.round(y(top * part)) + 0.5;
      context.strokeStyle = this.inks.grid;
      context.beginPath();
      context.moveTo(LEFT, at);
      context.lineTo(width - RIGHT, at);
      context.stroke();
      context.fillStyle = this.inks.muted;
      context.fillText(`${number(top * part)}${unit}`, LEFT - 6, at + 4);
    }
    const S = this.store.S, samples = this.#samples();
    const said = [];
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, height);
    context.clip();
    for (const [key, words, ink] of lines) {
      const mine = samples.filter((row) => row[S[key]] !== null);
      if (!mine.length) continue;
      context.strokeStyle = this.inks[`series${ink}`];
      context.setLineDash(DASHES[ink]);
      context.lineWidth = 2;
      context.beginPath();
      mine.forEach((row, at) => context[at ? "lineTo" : "moveTo"](x(row[S.at]), y(row[S[key]])));
      context.lineTo(x(this.end), y(mine[mine.length - 1][S[key]]));
      context.stroke();
      said.push(`${words} ${number(mine[mine.length - 1][S[key]])}${unit} now`);
    }
    context.restore();
    canvas.setAttribute("aria-label", said.length ? `Over time: ${said.join(", ")}.` : "Nothing has been measured yet.");
    if (!said.length) {
      context.fillStyle = this.inks.muted;
      context.textAlign = "center";
      context.fillText("the first point comes within seconds", width / 2, height / 2);
    }
  }

  /** The largest jobs of the time that is shown, by GPUs and time, in order of their arrival. */
  #chosen() {
    const { J } = this.store;
    const found = [];
    const see = (row) => {
      const end = row[J.ended] || this.end;
      if (end >= this.begin && (row[J.started] || row[J.state] === "waiting" || row[J.state] === "holding")) {
        found.push([(row[J.gpus] || row[J.cores] / 16) * (end - Math.max(this.begin, row[J.created])), row]);
      }
    };
    for (const row of this.store.jobs.values()) see(row);
    for (const row of this.store.gone) see(row);
    this.of = found.length;
    found.sort((a, b) => b[0] - a[0]);
    return found.slice(0, ROWS).map((each) => each[1]).sort((a, b) => a[J.created] - b[J.created] || a[0] - b[0]);
  }

  #jobs() {
    const { J } = this.store;
    const rows = this.#chosen();
    this.about.textContent = `Thin while a job waits, thick while it runs. ${this.of > rows.length ? `The ${count(rows.length)} largest of ${count(this.of)} jobs.` : ""}`;
    const step = 20, height = rows.length * step + BOTTOM + 8;
    const { context, width, x } = this.#frame(this.gantt, height);
    context.textBaseline = "middle";
    rows.forEach((row, at) => {
      const middle = 8 + at * step + step / 2;
      const came = Math.max(LEFT, x(row[J.created])), end = x(row[J.ended] || this.end);
      const started = row[J.started] ? Math.max(LEFT, x(row[J.started])) : end;
      context.fillStyle = this.inks.wait;
      context.fillRect(came, middle - 1.5, Math.max(1, started - came), 3);
      if (row[J.started]) {
        context.fillStyle = this.inks[this.store.ink(row[J.id])];
        context.fillRect(started, middle - 6, Math.max(2, end - started), 12);
        if (row[J.state] === "failed") {
          context.fillStyle = this.inks.bad;
          context.fillRect(end - 3, middle - 6, 3, 12);
        }
      }
      this.#name(context, `${row[J.name]}`, middle, width, { came, started, end });
    });
    this.gantt.setAttribute("aria-label", `${count(rows.length)} jobs over time; the table below has the same.`);
    this.tables[1].replaceChildren(...rows.map((row) => line([row[J.name], this.store.queueName(row[J.queue]), number(row[J.gpus]), clock(row[J.created]),
      duration((row[J.started] || row[J.ended] || this.end) - row[J.created]), row[J.started] ? duration((row[J.ended] || this.end) - row[J.started]) : "–"])));
  }

  // A job's name before its bar, behind it, or on the longer part of it: where it has room, and shortened where it has none.
  #name(context, name, middle, width, { came, started, end }) {
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    const line = started - came > end - started;  // it waited longer than it ran
    const from = line ? came : started, to = line ? started : end;
    const before = came - 6, after = width - RIGHT - end - 6, within = to - from - 12;
    const room = [before, after, within].find((each) => each >= context.measureText(name).width) ?? Math.max(before, after, within);
    const label = shortened(context, name, room), wide = context.measureText(label).width;
    context.fillStyle = this.inks.text;
    if (room === within) {
      context.fillStyle = this.inks.raised;  // readable on every ink
      if (line) {
        context.fillRect(from + 4, middle - 7, wide + 4, 14);
        context.fillStyle = this.inks.text;
      }
    }
    context.fillText(label, room === before ? came - wide - 6 : room === after ? end + 6 : from + 6, middle);
  }

  #table(samples) {
    const S = this.store.S;
    const step = Math.max(1, Math.ceil(samples.length / 30));
    const percent = (value) => (value === null ? "–" : `${number(value)} %`);
    this.tables[0].replaceChildren(...samples.filter((_, at) => at % step === 0).reverse().map((row) =>
      line([clock(row[S.at]), percent(row[S.gpu]), percent(row[S.cpu]), percent(row[S.memory]), count(row[S.running]), count(row[S.waiting])])));
  }
}

// Names of jobs differ at their end: that stays.
function shortened(context, text, room) {
  const tail = text.slice(-5);
  let label = text;
  for (let kept = text.length - 6; kept > 0 && context.measureText(label).width > room; kept -= 1) label = `${text.slice(0, kept)}…${tail}`;
  return label;
}

function legend(lines, unit = "") {
  return el("ul", { class: "legend" }, ...lines.map(([, words, ink]) => el("li", {}, el("i", { class: `line ink${ink}` }), words)), unit ? el("li", { class: "muted" }, unit) : null);
}

function table(heads, body, caption) {
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, el("table", {}, el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, ...heads.map((name, at) => el("th", { scope: "col", class: at ? "n" : "" }, name)))), body));
}

function line(cells) {
  return el("tr", {}, ...cells.map((text, at) => el(at ? "td" : "th", { class: at ? "n" : "", scope: at ? null : "row" }, text)));
}
