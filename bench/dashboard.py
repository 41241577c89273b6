"""The dashboard on a large cluster: is it there at once, does it keep up, and does the scheduler feel it?

    python -m bench.dashboard [--nodes N] [--pods N] [--rounds N]

A process holds a scheduler with all nodes and pods in its model, and serves the dashboard.  There is no API
server:  every write of the scheduler is answered at once, so the scheduler has all of a core, and whatever the
dashboard takes of it shows in the binds.  A browser looks.  First it opens the map; then 500 pods a second
change (half of them end, as many come and are bound) while it looks at one page after the other; then bursts of
pods are bound, with the page open and with none in turns.  Where there are two cores, the scheduler has the first
and the browser the others, as if it were on its user's machine.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import uvloop
from tests.browser import Browser

from bench.report import Figure, Report, publish
from podium.cli.loop import collect_rarely
from podium.dialects import speaking
from podium.engine.dispatcher import CallType
from podium.engine.world import World
from podium.kube.controller import Ticket
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.wire import Node, Object, Pod
from podium.runtime.configuration import embedded_profiles
from podium.runtime.measuring import MeasuredScheduler, Stopwatch
from podium.web.server import Dashboard, Source

COUNT_NODES, COUNT_PODS, ROUNDS = 5000, 50_000, 11
GANG, BURST, BURSTS = 8, 4000, 3
CHANGES = 500  # pods a second
WATCHED_SECONDS = 12.0  # on each page
OPENING_SECONDS = 2.5  # until everything is there, and nothing has to be caught up with
SETTLING_SECONDS = 0.5  # until the ends of a burst's pods are taken in
PORTION = 0.02
_CORES = sorted(os.sched_getaffinity(0))
PAGES = ("map", "jobs", "queues", "timeline", "journal")

Document = dict[str, Any]


class Cluster:
    """A scheduler whose world is made here: objects go straight in, and answers come at once."""

    def __init__(self, nodes: int, pods: int) -> None:
        dialects = speaking(with_controllers=False)  # nobody makes groups of lone pods here
        world = World(dialects)
        self.watch = Stopwatch()
        self.scheduler = MeasuredScheduler(world, embedded_profiles(), self.watch)
        self.groups = next(each for each in world.groups if each.kind == "PodGroup" and "volcano" in each.group)
        self.group_view = world.views[self.groups]
        self._made = 0
        self._asked: deque[Ticket] = deque()
        self._known: dict[tuple[str, str], Pod] = {}
        self.running: deque[Pod] = deque()
        self.bound = 0
        room = {"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
        for number in range(nodes):
            status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
            self._put(NODES, Node, {"metadata": {"name": f"node-{number:05}"}, "status": status})
        gangs = min(pods * 2 // 3, nodes * 7) // GANG
        for gang in range(gangs):
            self._group(f"train-{gang}")
            for member in range(GANG):
                self._running_pod(f"train-{gang}-{member}", f"node-{gang % nodes:05}", f"train-{gang}")
        for number in range(pods - gangs * GANG):
            self._running_pod(f"serve-{number}", f"node-{number % nodes:05}")
        for dialect in dialects:
            kinds = {each.resource.kind: each for each in dialect.definitions}
            for each in dialect.objects:
                definition = kinds[each["kind"]]
                self._put(definition.resource, definition.view, {**each, "metadata": {**each["metadata"]}})
        for resource in self.scheduler.resources:
            self.scheduler.synced(resource)

    def _put(self, resource: Resource, view: type[Object], document: Document) -> Object:
        self._made += 1
        document["metadata"] |= {"uid": f"u{self._made}", "resourceVersion": str(self._made)}
        document["metadata"].setdefault("creationTimestamp", _stamp())
        obj = msgspec.convert(document, view)
        self.scheduler.observe(resource, obj)
        return obj

    def _group(self, name: str) -> None:
        document = {"metadata": {"name": name, "namespace": "default"}, "spec": {"minMember": GANG}}
        self._put(self.groups, self.group_view, document)

    def _running_pod(self, name: str, node: str, group: str = "") -> None:
        status = {"phase": "Running", "startTime": _stamp()}
        self._pod(name, group, node=node, status=status)

    def _pod(self, name: str, group: str = "", node: str = "", status: Document | None = None) -> None:
        asks = {"cpu": "1", "memory": "1Gi", **({"nvidia.com/gpu": "1"} if group else {})}
        spec: Document = {
            "schedulerName": "volcano",
            "containers": [{"name": "m", "resources": {"requests": asks}}],
        }
        if node:
            spec["nodeName"] = node
        metadata = {"name": name, "namespace": "default"}
        if group:
            metadata |= {"annotations": {"scheduling.k8s.io/group-name": group}}  # type: ignore[dict-item]
        pod = self._put(PODS, Pod, {"metadata": metadata, "spec": spec, "status": status or {"phase": "Pending"}})
        assert isinstance(pod, Pod)
        self._known[pod.namespace, pod.name] = pod
        if node:
            self.running.append(pod)

    def create(self, name: str) -> None:
        self._pod(name)

    def end_one(self) -> None:
        """The pod that has run longest is gone."""
        pod = self.running.popleft()
        self._known.pop((pod.namespace, pod.name), None)
        self.scheduler.forget(PODS, pod)

    def step(self) -> bool:
        """A portion of the scheduler's work, with the answers to what it wrote; whether there was any."""
        now = time.time()
        until = time.perf_counter() + PORTION
        busy = False
        while time.perf_counter() < until:
            for _ in range(min(100, len(self._asked))):
                self._answer(self._asked.popleft(), now)
            tickets = self.scheduler.run(now, 20)
            self._asked.extend(tickets)
            wake = self.scheduler.next_wake(now)
            if not tickets and not self._asked and (wake is None or wake > now):
                return busy
            busy = True
        return True

    def _answer(self, ticket: Ticket, now: float) -> None:
        self.scheduler.done(ticket, None, None, now)
        if ticket.purpose != CallType.BIND:
            return
        self.bound += 1
        document: Document = ticket.change.document  # type: ignore[union-attr]
        pod = self._known[document["metadata"]["namespace"], document["metadata"]["name"]]
        self._made += 1
        # The server writes the binding's own annotations onto the pod: by them podium knows its binds.
        notes = {**(pod.metadata.annotations or {}), **(document["metadata"].get("annotations") or {})}
        metadata = msgspec.structs.replace(pod.metadata, resource_version=str(self._made), annotations=notes)
        spec = msgspec.structs.replace(pod.spec, node_name=document["target"]["name"])
        status = msgspec.structs.replace(pod.status, phase="Running", start_time=_stamp())
        placed = msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=status)
        self._known[pod.namespace, pod.name] = placed
        self.running.append(placed)
        self.scheduler.observe(PODS, placed)


def _stamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


async def _pump(cluster: Cluster) -> None:
    while True:
        busy = cluster.step()
        await asyncio.sleep(0 if busy else 0.005)


async def _change(cluster: Cluster, seconds: float) -> None:
    """So many pods end, come and are bound each second; one a second says when it came."""
    begin, done, probes = time.monotonic(), 0, 0
    while (passed := time.monotonic() - begin) < seconds:
        while done < passed * CHANGES / 2:
            done += 1
            cluster.end_one()
            cluster.create(f"newcomer-{begin:.0f}-{done}")
        if probes <= passed:
            probes += 1
            cluster.create(f"probe-{time.time():.3f}")
        await asyncio.sleep(0.01)


async def _burst(cluster: Cluster, number: int) -> tuple[float, float]:
    """Binds a second, and the process's own time of one, in seconds."""
    wanted = cluster.bound + BURST
    for each in range(BURST):
        cluster.create(f"burst-{number}-{each}")
    begin, used = time.perf_counter(), time.process_time()
    while cluster.bound < wanted:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    for _ in range(BURST):
        cluster.end_one()
    return BURST / seconds, used / BURST


async def _serve(pipe: Connection, nodes: int, pods: int) -> None:
    cluster = Cluster(nodes, pods)
    collect_rarely()  # as `podium run` does: else a collection of seconds falls into a burst or not, by chance
    source = Source(lambda: cluster.scheduler, cluster.watch.plugins_of_last_turns)
    async with Dashboard(source) as dashboard:
        pumping = asyncio.create_task(_pump(cluster))
        await asyncio.sleep(2)
        pipe.send(dashboard.login_url)
        number = 0
        while True:
            what, value = await asyncio.to_thread(pipe.recv)
            if what == "stop":
                break
            if what == "change":
                await _change(cluster, value)
                pipe.send(None)
            else:
                number += 1
                pipe.send(await _burst(cluster, number))
        pumping.cancel()


def serve(pipe: Connection, nodes: int, pods: int) -> None:
    os.sched_setaffinity(0, _CORES[:1])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(pipe, nodes, pods))


# --- the browser ------------------------------------------------------------------------------------------------

OBSERVE = """
window.longest = []; window.lags = [];
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.longest.push(each.duration); })
  .observe({ type: "longtask", buffered: true });
"""
# From a pod's creation until the page has been drawn with it.
FOLLOW = """
{
  const apply = podium.store.apply.bind(podium.store), seen = new Set();
  podium.store.apply = (kind, data) => {
    apply(kind, data);
    if (kind !== "jobs") return;
    for (const row of data.rows) if (row[1].startsWith("probe-") && !seen.has(row[1])) {
      seen.add(row[1]);
      podium.drawn.push(() => window.lags.push(Date.now() / 1000 - Number(row[1].slice(6))));
    }
  };
}
"""


def look(browser: Browser, url: str, pipe: Connection) -> Iterator[Figure]:
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=OBSERVE)
    browser.visit(url, width=1400)
    browser.until("performance.getEntriesByName('podium-ready').length", 30)
    marks = browser.evaluate(
        "['podium-map', 'podium-ready'].map((name) => performance.getEntriesByName(name)[0].startTime)"
    )
    paint = browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    size = browser.evaluate("[podium.store.nodes.size, podium.store.jobs.size]")
    yield Figure("nodes on the page", size[0])
    yield Figure("jobs on the page", size[1])
    yield Figure("first paint", paint / 1000, "s", 2.0, at_least=False)
    yield Figure("whole map drawn", marks[0] / 1000, "s", 2.0, at_least=False)
    yield Figure("everything there", marks[1] / 1000, "s")
    yield Figure("longest task while it opens", max(browser.evaluate("window.longest"), default=0.0), "ms")
    browser.evaluate(FOLLOW)
    lags: list[float] = []
    for page in PAGES:
        browser.evaluate(f"location.hash = '#/{page}'")
        time.sleep(1.0)
        browser.evaluate("window.longest.length = 0; window.lags.length = 0")
        pipe.send(("change", WATCHED_SECONDS))
        pipe.recv()
        time.sleep(1.0)
        longest = max(browser.evaluate("window.longest"), default=0.0)
        yield Figure(f"{page}: longest task, {CHANGES} pods a second change", longest, "ms", 100.0, at_least=False)
        found = browser.evaluate("window.lags")
        assert len(found) >= WATCHED_SECONDS - 3, f"only {len(found)} changes were seen on {page}"
        lags += found
    yield Figure("behind, median", median(lags), "s")
    yield Figure("behind, longest", max(lags), "s", 1.0, at_least=False)
    yield Figure("complaints of the page", len(browser.complaints()), "", 0.0, at_least=False)


def compare(browser: Browser, url: str, pipe: Connection, rounds: int) -> Iterator[Figure]:
    """Bursts with the map open and with no page, some of each in turns.

    Their medians are compared turn by turn, and the median of those ratios counts: what else the machine does
    moves over seconds and minutes, and would otherwise be larger than what is looked for.
    """
    rates: dict[bool, list[float]] = {True: [], False: []}
    spent: dict[bool, list[float]] = {True: [], False: []}
    pipe.send(("burst", None))
    pipe.recv()  # the first one warms up
    for number in range(rounds):
        for opened in (True, False) if number % 2 else (False, True):
            browser.visit(url if opened else f"{url.partition('/login')[0]}/static/icon.svg", width=1400)
            time.sleep(OPENING_SECONDS - SETTLING_SECONDS)
            found = []
            for _ in range(BURSTS):
                time.sleep(SETTLING_SECONDS)
                pipe.send(("burst", None))
                found.append(pipe.recv())
            rates[opened].append(median(rate for rate, _ in found))
            spent[opened].append(median(used for _, used in found))
    yield Figure("binds without a page", median(rates[False]), "binds/s")
    yield Figure("binds with the map open", median(rates[True]), "binds/s")
    yield Figure("with / without, binds", _ratio(rates), "x", 0.97)
    yield Figure("with / without, time of the process", _ratio(spent), "x")


def _ratio(found: dict[bool, list[float]]) -> float:
    return median(opened / closed for opened, closed in zip(found[True], found[False], strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=COUNT_NODES)
    parser.add_argument("--pods", type=int, default=COUNT_PODS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=["look", "compare"])
    given = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        print("there is no Chromium: install it first", file=sys.stderr)
        return 1
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, given.nodes, given.pods))
    process.start()
    os.sched_setaffinity(0, _CORES[1:] or _CORES)
    url = ours.recv()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, Path(profile))
        try:
            if given.only != "compare":
                figures += look(browser, url, ours)
            if given.only != "look":
                figures += compare(browser, url, ours, given.rounds)
        finally:
            browser.close()
            ours.send(("stop", None))
            process.join(20)
            process.kill()
    report = Report("dashboard", f"{given.nodes:,} nodes and {given.pods:,} pods in a browser", figures)
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
