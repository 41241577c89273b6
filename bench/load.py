"""The load generator, in a process of its own so that it does not share an interpreter with a server.

    python -m bench.load create KUBECONFIG RESULT --clients 32 --seconds 8 [--count N]
    python -m bench.load change KUBECONFIG RESULT --rate 1000 --seconds 30
    python -m bench.load watch KUBECONFIG RESULT --watchers 50 --events N

Each writes one JSON document to the file RESULT.  The same client, `kube.http_client`, drives every server.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.pods import pod
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

_SENT_MARK = f'"{SENT}":"'.encode()
_VERSION_MARK = b'"resourceVersion":"'

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
        answer = await transport.request(request, timeout=PATIENCE)
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


async def watch(arguments: argparse.Namespace) -> Document:
    """Watches with so many watchers until each has seen so many changes."""
    transport = HttpTransport(resolve(arguments.kubeconfig))
    listed = await transport.request(Request("GET", PODS.path(NAMESPACE), query=(("limit", "1"),)))
    version = msgspec.json.decode(listed.body)["metadata"]["resourceVersion"]
    query = (("watch", "1"), ("resourceVersion", version), ("timeoutSeconds", "600"))
    opened = 0
    all_open = asyncio.Event()

    async def watcher() -> tuple[list[float], list[int], bool]:
        """Lags, the numbers of the changes as they came, and whether the versions only went up."""
        nonlocal opened
        lags: list[float] = []
        numbers: list[int] = []
        in_order, last = True, 0
        async with transport.stream(Request("GET", PODS.path(NAMESPACE), query=query)) as stream:
            opened += 1
            if opened == arguments.watchers:
                all_open.set()
            async for line in stream.lines():
                mark = line.find(_SENT_MARK)
                if mark < 0:
                    continue
                mark += len(_SENT_MARK)
                sent, _, number = line[mark : line.index(b'"', mark)].partition(b"/")
                lags.append(time.time() - float(sent))
                numbers.append(int(number))
                at = line.index(_VERSION_MARK) + len(_VERSION_MARK)
                current = int(line[at : line.index(b'"', at)])
                in_order = in_order and current > last
                last = current
                if len(numbers) == arguments.events:
                    break
        return lags, numbers, in_order

    async def everything() -> list[tuple[list[float], list[int], bool]]:
        watchers = [asyncio.create_task(watcher()) for _ in range(arguments.watchers)]
        await all_open.wait()
        print("ready", flush=True)
        return await asyncio.gather(*watchers)

    found = await everything()
    await transport.close()
    wanted = list(range(arguments.events))
    first = found[0][1]
    return {
        "watchers": len(found),
        "events": sum(len(numbers) for _, numbers, _ in found),
        "complete": all(sorted(numbers) == wanted for _, numbers, _ in found),
        "in_order": all(in_order and numbers == first for _, numbers, in_order in found),
        "lags": sorted(lag for lags, _, _ in found for lag in lags)[:: max(1, arguments.watchers // 5)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("create", "change", "watch"))
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
    work = {"create": create, "change": change, "watch": watch}[arguments.what]
    arguments.result.write_bytes(msgspec.json.encode(uvloop.run(work(arguments))))


if __name__ == "__main__":
    main()
