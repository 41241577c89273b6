"""The load generator, in a process of its own so that it does not share an interpreter with a server.

    python -m bench.load create KUBECONFIG RESULT --clients 32 --seconds 8 [--count N]
    python -m bench.load change KUBECONFIG RESULT --rate 1000 --seconds 30
    python -m bench.load watch KUBECONFIG RESULT --watchers 50 --events N
    python -m bench.load burst KUBECONFIG RESULT --count N

Each writes one JSON document to the file RESULT.  The same client, `kube.http_client`, drives every server.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.bound import watching
from bench.pods import pod
from bench.population import create_all, waiting_pod
from podium.errors import TransportError
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import NODES, PODS
from podium.kube.transport import MERGE_PATCH, Request
from podium.kube.wire import Object

NAMESPACE = "default"
SENT = "podium.dev/sent"  # the annotation with the time a change was sent, and the change's number
CHANGED_PODS = 100
WARM_UP_SECONDS = 1.0
PATIENCE = 60.0  # seconds for what must come sooner or later
ASK_SECONDS = 0.02  # between two questions whether a server is ready

_SENT_MARK = f'"{SENT}":"'.encode()
_VERSION_MARK = b'"resourceVersion":"'
_CUT = 64  # bytes that hold a mark and its value

Document = dict[str, Any]


class _Listed(msgspec.Struct):
    items: list[Object]


async def create(arguments: argparse.Namespace) -> Document:
    """Creates pods with so many clients, each waiting for its answer before it goes on."""
    transport = HttpTransport(resolve(arguments.kubeconfig), width=arguments.clients)
    path = PODS.path(NAMESPACE)
    nodes = await _node_names(transport) if arguments.spread else []
    template = msgspec.json.encode(pod("NAME", node="NODE") if nodes else pod("NAME", gated=True))
    latencies: list[float] = []
    number = 0
    begin = time.monotonic()
    measured_from = begin + (0.0 if arguments.count else WARM_UP_SECONDS)
    end = begin + arguments.seconds + WARM_UP_SECONDS if not arguments.count else float("inf")

    async def client() -> None:
        nonlocal number
        while (now := time.monotonic()) < end and not (arguments.count and number >= arguments.count):
            mine, number = number, number + 1
            body = template.replace(b"NAME", b"bench-%d" % mine)
            if nodes:
                body = body.replace(b"NODE", nodes[mine % len(nodes)])
            answer = await transport.request(Request("POST", path, body=body), timeout=PATIENCE)
            if answer.status != 201:
                raise RuntimeError(f"create: {answer.status} {answer.body[:500]!r}")
            done = time.monotonic()
            if now >= measured_from and done <= end:
                latencies.append(done - now)

    await asyncio.gather(*(client() for _ in range(arguments.clients)))
    seconds = time.monotonic() - begin if arguments.count else arguments.seconds
    await transport.close()
    return {"count": len(latencies), "created": number, "seconds": seconds, "latencies": latencies}


async def _node_names(transport: HttpTransport) -> list[bytes]:
    listed = await transport.request(Request("GET", NODES.path()), timeout=PATIENCE)
    return [node.name.encode() for node in msgspec.json.decode(listed.body, type=_Listed).items]


async def change(arguments: argparse.Namespace) -> Document:
    """Changes pods at a steady rate; each change carries its number and the time it was sent."""
    transport = HttpTransport(resolve(arguments.kubeconfig))
    for number in range(CHANGED_PODS):
        body = msgspec.json.encode(pod(f"changed-{number}", gated=True))
        await transport.request(Request("POST", PODS.path(NAMESPACE), body=body))
    total = int(arguments.rate * arguments.seconds)
    under_way: set[asyncio.Task[None]] = set()
    failures: list[str] = []
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)

    async def one(number: int) -> None:
        mark = f"{time.time():.6f}/{number}"
        patch = msgspec.json.encode({"metadata": {"annotations": {SENT: mark}}})
        path = PODS.path(NAMESPACE, f"changed-{number % CHANGED_PODS}")
        request = Request("PATCH", path, body=patch, content_type=MERGE_PATCH)
        try:
            answer = await transport.request(request, timeout=PATIENCE)
        except TransportError as error:
            failures.append(str(error))
            return
        if answer.status != 200:
            failures.append(f"{answer.status} {answer.body[:300]!r}")

    begin = time.monotonic()
    for number in range(total):
        ahead = begin + number / arguments.rate - time.monotonic()
        if ahead > 0.001:
            await asyncio.sleep(ahead)
        task = asyncio.create_task(one(number))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    while under_way:
        await asyncio.wait(under_way)
    seconds = time.monotonic() - begin
    await transport.close()
    return {"count": total, "seconds": seconds, "failures": failures[:3]}


async def burst(arguments: argparse.Namespace) -> Document:
    """Creates pods that wait for a node, and asks whether the server is ready until all of them are bound."""
    transport = HttpTransport(resolve(arguments.kubeconfig))
    answers: list[float] = []

    async def ask() -> None:
        asking = HttpTransport(resolve(arguments.kubeconfig), width=1)
        while True:
            begin = time.monotonic()
            await asking.request(Request("GET", "/readyz"), timeout=PATIENCE)
            answers.append(time.monotonic() - begin)
            await asyncio.sleep(ASK_SECONDS)

    asker = asyncio.create_task(ask())
    begin = time.monotonic()
    async with watching(transport) as bound:
        names = (f"burst-{number}" for number in range(arguments.count))
        await create_all(transport, PODS, (waiting_pod(name, "podium") for name in names))
        created = time.monotonic() - begin
        await bound.count(arguments.count, PATIENCE)
        seconds = time.monotonic() - begin
    asker.cancel()
    await transport.close()
    return {"answers": answers, "created_seconds": created, "seconds": seconds}


async def watch(arguments: argparse.Namespace) -> Document:
    """Watches with so many watchers until each has seen so many changes."""
    transport = HttpTransport(resolve(arguments.kubeconfig))
    listed = await transport.request(Request("GET", PODS.path(NAMESPACE), query=(("limit", "1"),)))
    version = msgspec.json.decode(listed.body)["metadata"]["resourceVersion"]
    query = (("watch", "1"), ("resourceVersion", version), ("timeoutSeconds", "600"))
    reported = _Told()
    opened = 0
    all_open = asyncio.Event()

    async def watcher() -> list[tuple[float, int]]:
        """When changes arrived, and up to which one of all."""
        nonlocal opened
        arrivals: list[tuple[float, int]] = []
        position = 0
        async with transport.stream(Request("GET", PODS.path(NAMESPACE), query=query)) as stream:
            opened += 1
            if opened == arguments.watchers:
                all_open.set()
            async for batch in stream.batches():
                position += reported.again(position, batch)
                arrivals.append((time.time(), position))
                if position >= arguments.events:
                    break
        return arrivals

    async def everything() -> tuple[list[list[tuple[float, int]]], float]:
        watchers = [asyncio.create_task(watcher()) for _ in range(arguments.watchers)]
        await all_open.wait()
        print("ready", flush=True)
        used = time.process_time()
        return await asyncio.gather(*watchers), time.process_time() - used

    found, used = await everything()
    await transport.close()
    sent, numbers = reported.changes()
    lags: list[float] = []
    for arrivals in found:
        begin = 0
        for arrived, end in arrivals:
            lags += [arrived - at for at in sent[begin:end]]
            begin = end
    lags.sort()
    return {
        "watchers": len(found),
        "events": len(lags),
        "complete": sorted(numbers) == list(range(arguments.events)) and len(lags) == len(found) * len(numbers),
        "in_order": reported.agreed and reported.versions_rise(),
        "lags": lags[:: max(1, arguments.watchers // 5)],
        "cpu_seconds": used,
    }


class _Told:
    """What the watchers are told, kept once: who is first to hear of a change adds it, all others compare.

    While events come in, only the bytes around the marks are cut out; what they say is worked out at the end.
    Otherwise the measuring would take more of the machine than the server which is measured.
    """

    def __init__(self) -> None:
        self.agreed = True
        self._marks: list[bytes] = []
        self._versions: list[bytes] = []

    def again(self, position: int, lines: list[bytes]) -> int:
        """Takes in what a watcher hears after so many changes; returns how many these are."""
        found = [(line, at) for line in lines if (at := line.find(_SENT_MARK)) >= 0]
        self._compare(self._marks, position, [line[at : at + _CUT] for line, at in found])
        self._compare(self._versions, position, [_version(line, at) for line, at in found])
        return len(found)

    def _compare(self, known: list[bytes], position: int, heard: list[bytes]) -> None:
        before = known[position : position + len(heard)]
        self.agreed = self.agreed and heard[: len(before)] == before
        known += heard[len(before) :]

    def changes(self) -> tuple[list[float], list[int]]:
        """When each change was sent, and its number, in the order of their arrival."""
        cut = [_value(mark).partition(b"/") for mark in self._marks]
        return [float(sent) for sent, _, _ in cut], [int(number) for _, _, number in cut]

    def versions_rise(self) -> bool:
        versions = [int(_value(version)) for version in self._versions]
        return len(versions) == len(self._marks) and all(a < b for a, b in pairwise(versions))


def _version(line: bytes, mark: int) -> bytes:
    """The version of an event, cut out.  One server writes it behind the annotations, the other before them."""
    at = line.find(_VERSION_MARK, mark)
    if at < 0:
        at = line.find(_VERSION_MARK)
    return line[at : at + _CUT]


def _value(cut: bytes) -> bytes:
    """What stands after the mark with which the cut begins: `"name":"value"`."""
    return cut.split(b'"')[3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("create", "change", "watch", "burst"))
    parser.add_argument("kubeconfig")
    parser.add_argument("result", type=Path)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--count", type=int, default=0, help="create so many, however long it takes")
    parser.add_argument("--spread", action="store_true", help="put the pods onto the cluster's nodes in turn")
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--watchers", type=int, default=50)
    parser.add_argument("--events", type=int, default=0)
    arguments = parser.parse_args()
    work = {"create": create, "change": change, "watch": watch, "burst": burst}[arguments.what]
    arguments.result.write_bytes(msgspec.json.encode(uvloop.run(work(arguments))))


if __name__ == "__main__":
    main()
