"""Simulated kubelets for a server under measurement, in a process of their own.

python -m bench.kubelets KUBECONFIG
"""

from __future__ import annotations

import sys

import uvloop

from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.kube.driver import Driver
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.manager import Manager

CONCURRENCY = 32


async def play(kubeconfig: str) -> None:
    """Runs the pods of all nodes until the process is ended.  Events would be a load of their own."""
    transport = HttpTransport(resolve(kubeconfig))
    await Driver(transport, Manager(simulated_kubelets(events=False)), concurrency=CONCURRENCY).run()


if __name__ == "__main__":
    uvloop.run(play(sys.argv[1]))
