"""podium from Python: submit, wait, why, queue, logs and the rest, for notebooks and scripts.

    from podium.client import Client

    with Client() as podium:                     # as kubectl would connect; or Client(kubeconfig=..., context=...)
        job, = podium.submit("train.yaml")
        print(podium.why(job).sentence)
        podium.wait(job, timeout=3600)
        for line in podium.logs(job):
            print(line)

`AsyncClient` has the same methods as coroutines, `async with` and `async for`.  What they give back are structs of
`podium.explain.answers`; what is wrong is a `podium.errors.PodiumError` with one sentence.
"""

from __future__ import annotations

from podium.client.asynchronous import AsyncClient
from podium.client.references import Reference
from podium.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "Reference"]
