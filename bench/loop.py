"""The bare bind loop: podium's transport, and nothing to decide or to watch.  What no scheduler can beat with it.

    python -m bench.loop KUBECONFIG [--width N]

Lists pods and nodes, gives every pod that has no node the next one, and ends when it is killed: the binds are
counted by a watch, as for everybody else.  The bindings are of podium's size: with the annotation that says which
gang's plan they belong to.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import msgspec
import uvloop

from bench.population import NAMESPACE
from podium.engine.effects import GANG_PLAN
from podium.engine.recovery import write_plan
from podium.kube.http_client import WIDTH, HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import NODES, PODS
from podium.kube.transport import Request
from podium.kube.wire import Object

PATIENCE = 120.0


class _Listed(msgspec.Struct):
    items: list[Object]


async def bind_all(kubeconfig: str, width: int) -> None:
    transport = HttpTransport(resolve(kubeconfig), width=width)
    unbound = (("fieldSelector", "spec.nodeName="),)
    pods = await transport.request(Request("GET", PODS.path(NAMESPACE), unbound), timeout=PATIENCE)
    nodes = await transport.request(Request("GET", NODES.path()), timeout=PATIENCE)
    places = [each.name for each in msgspec.json.decode(nodes.body, type=_Listed).items]
    waiting = enumerate(msgspec.json.decode(pods.body, type=_Listed).items)

    plan = {GANG_PLAN: write_plan("the-bare-loop", 1, len(places), time.time())}

    async def worker() -> None:
        for number, pod in waiting:
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name, "namespace": NAMESPACE, "uid": pod.uid, "annotations": plan},
                "target": {"apiVersion": "v1", "kind": "Node", "name": places[number % len(places)]},
            }
            path = PODS.path(NAMESPACE, pod.name, "binding")
            answer = await transport.request(Request("POST", path, body=msgspec.json.encode(binding)))
            if answer.status != 201:
                raise RuntimeError(f"{pod.name}: {answer.status} {answer.body[:300]!r}")

    await asyncio.gather(*(worker() for _ in range(width)))
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig")
    parser.add_argument("--width", type=int, default=WIDTH, help="binds under way at once")
    arguments = parser.parse_args()
    uvloop.run(bind_all(arguments.kubeconfig, arguments.width))


if __name__ == "__main__":
    main()
