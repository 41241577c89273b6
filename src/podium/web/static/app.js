// The entrance: which page is shown, and when it is drawn.

import { MapPage } from "./map.js";
import { QueuesPage } from "./queues.js";
import { JobsPage } from "./jobs.js";
import { TimelinePage } from "./timeline.js";
import { JournalPage } from "./journal.js";
import { Panel } from "./panel.js";
import { Store } from "./store.js";
import { listen } from "./stream.js";
import { count, duration, el, number, setText } from "./ui.js";

const PERIOD = 250; // milliseconds between two drawings, at least
const PAGES = { map: MapPage, queues: QueuesPage, jobs: JobsPage, timeline: TimelinePage, journal: JournalPage };
const TITLES = { map: "Map", queues: "Queues", jobs: "Jobs", timeline: "Timeline", journal: "Decisions" };

const store = new Store();
const place = document.getElementById("page");
const panel = new Panel(document.getElementById("panel"), store);
const kept = {};
let page = null;
let name = "";
let drawnAt = 0;
let due = 0;
const marked = new Set();
const drawn = []; // to be called after the next drawing

function route() {
  const [, wanted, thing, id] = /^#\/(\w+)(?:\/(\w+)\/(\d+))?/.exec(location.hash) ?? [];
  const chosen = PAGES[wanted] ? wanted : "map";
  if (chosen !== name) {
    const first = name === "";
    name = chosen;
    page = kept[name] ??= new PAGES[name](store);
    place.replaceChildren(page.root);
    document.title = `${TITLES[name]} – podium`;
    for (const link of document.querySelectorAll("#tabs a")) {
      if (link.getAttribute("href") === `#/${name}`) {
        link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else link.removeAttribute("aria-current");
    }
    if (!first) place.focus({ preventScroll: true });
    page.filter?.(new URLSearchParams(location.hash.split("?")[1] ?? ""));
    page.draw({ all: true, jobs: new Set(), nodes: new Set() });
  } else page.filter?.(new URLSearchParams(location.hash.split("?")[1] ?? ""));
  if (thing) panel.open(thing, Number(id), `#/${name}`);
  else panel.close(false);
}

function changed() {
  if (due) return;
  const wait = Math.max(0, drawnAt + PERIOD - performance.now());
  due = setTimeout(() => requestAnimationFrame(draw), wait);
}

function draw() {
  due = 0;
  drawnAt = performance.now();
  const what = store.take();
  tiles();
  page.draw(what);
  panel.draw(what);
  mark("podium-map", store.hello && store.nodes.size >= store.hello.counts.nodes);
  mark("podium-ready", store.ready);
  while (drawn.length) drawn.pop()();
}

/** When something was drawn for the first time: the browser's own tools show such marks. */
function mark(what, there) {
  if (there && !marked.has(what)) {
    marked.add(what);
    performance.mark(what);
  }
}

// --- the cluster in short -----------------------------------------------------------------------------------------

const TILES = ["gpus", "running", "waiting", "nodes"].map((key) => {
  const value = el("strong", {}, "–");
  const words = el("span", { class: "muted" });
  const fill = el("i");
  const root = el("div", { class: `tile ${key}` }, el("span", { class: "label" }), value, words, key === "gpus" ? el("div", { class: "gauge" }, fill) : null);
  return { key, root, value, words, fill, label: root.firstChild };
});
document.getElementById("tiles").append(...TILES.map((tile) => tile.root));

function tiles() {
  const [gpus, running, waiting, nodes] = TILES;
  if (!store.hello) {
    setText(nodes.words, store.nobody ? "no scheduler works here now" : "");
    return;
  }
  const { N, J } = store;
  let has = 0, held = 0, ready = 0;
  for (const row of store.nodes.values()) {
    has += row[N.gpus];
    if (row[N.gpus]) for (const each of row[N.held]) held += each[1];
    ready += row[N.state] === "ready";
  }
  const percent = has ? Math.round((100 * held) / has) : 0;
  setText(gpus.label, "GPUs in use");
  setText(gpus.value, has ? `${percent} %` : "none");
  setText(gpus.words, has ? `${number(held)} of ${number(has)}` : "no node has any");
  gpus.fill.style.width = `${percent}%`;
  setText(running.label, "Jobs running");
  setText(running.value, count((store.states.running ?? 0) + (store.states.starting ?? 0)));
  setText(running.words, store.states.starting ? `${count(store.states.starting)} starting` : "");
  const waits = (store.states.waiting ?? 0) + (store.states.holding ?? 0);
  setText(waiting.label, "Jobs waiting");
  setText(waiting.value, count(waits));
  setText(waiting.words, waits ? `longest ${duration(longest(J))}` : "nobody waits");
  setText(nodes.label, "Nodes ready");
  setText(nodes.value, count(ready));
  setText(nodes.words, ready === store.nodes.size ? "all of them" : `of ${count(store.nodes.size)}`);
}

function longest(J) {
  let first = Infinity;
  for (const row of store.jobs.values()) if (row[J.state] === "waiting" && row[J.created] < first) first = row[J.created];
  return store.now() - first;
}

// --- light and dark, and the connection ---------------------------------------------------------------------------

const root = document.documentElement;
const saved = localStorage.getItem("theme");
if (saved) root.dataset.theme = saved;
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  repaint();
});
function repaint() {
  for (const each of Object.values(kept)) each.repaint?.();
  store.changed.all = true;
  changed();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
window.addEventListener("resize", repaint);

const live = document.getElementById("live");
listen(store, {
  onChange: changed,
  onState: (state) => {
    live.dataset.state = state;
    setText(live, state === "live" ? "live" : "connection lost, trying again");
  },
});
setInterval(() => { store.changed.samples = true; changed(); }, 5000); // ages grow although nothing happens
window.addEventListener("hashchange", route);
route();
window.podium = { store, drawn }; // for the console, and for tests
