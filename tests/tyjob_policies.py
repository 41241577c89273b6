"""The six placement policies of TYJobs on one scenario of the simulator: figures, and the pictures in docs/.

examples/sim/tyjobs.yaml    16 nodes and 20 jobs; which policy holds, the profile says (`basicPolicy`)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from podium.dialects.arranger.names import JOB, LEADER, ROLE, TYJOBS
from podium.dialects.arranger.types import BASIC_POLICIES, SCHEDULED_PARTLY, TYJob
from podium.kube.pod_resources import amounts, pod_requests
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Node, Pod
from podium.runtime.configuration import read_profiles, serving_all
from podium.sim.drawing.charts import bars
from podium.sim.drawing.svg import standalone
from podium.sim.scenario import Other, Stage, read_scenario

SCENARIO = Path(__file__).parent.parent / "examples" / "sim" / "tyjobs.yaml"
GPU = "nvidia.com/gpu"


class Figures(msgspec.Struct, frozen=True):
    """What a policy makes of the scenario."""

    pods: int
    nodes: int  # with pods of the jobs
    nodes_a_job: float  # the mean
    leader_nodes: int
    fragmentation: float  # the mean |CPU in use - memory in use| of all nodes
    gpu_at_leaders: float  # in use on the nodes of leaders
    cpu_at_workers: float  # in use on the nodes of workers
    partly: int  # jobs that are ScheduledPartly


def figures(policy: str) -> Figures:
    profiles = serving_all(read_profiles(f"profiles: {{arranger: {{basicPolicy: {policy}}}}}", policy))
    stage = Stage(read_scenario(SCENARIO), SCENARIO, profiles, Other())
    stage.run()
    server = stage.cluster.server
    jobs = [each for each in server.objects(TYJOBS) if isinstance(each, TYJob)]
    room = {
        each.name: amounts(each.status.allocatable) for each in server.objects(NODES) if isinstance(each, Node)
    }
    placed = [each for each in server.objects(PODS) if isinstance(each, Pod) and each.spec.node_name]
    used: dict[str, dict[str, int]] = {name: {} for name in room}
    for pod in placed:
        here = used[pod.spec.node_name]
        for name, amount in pod_requests(pod.spec).items():
            here[name] = here.get(name, 0) + amount
    own = [pod for pod in placed if JOB in pod.labels]
    homes: dict[str, set[str]] = {}
    for pod in own:
        homes.setdefault(pod.labels[JOB], set()).add(pod.spec.node_name)
    leaders = {pod.spec.node_name for pod in own if pod.labels[ROLE] == LEADER}
    workers = {pod.spec.node_name for pod in own if pod.labels[ROLE] != LEADER}

    def use(nodes: set[str], name: str) -> float:
        return sum(used[each].get(name, 0) for each in nodes) / sum(room[each][name] for each in nodes)

    apart = [abs(use({each}, "cpu") - use({each}, "memory")) for each in room]
    return Figures(
        pods=len(own),
        nodes=len({pod.spec.node_name for pod in own}),
        nodes_a_job=sum(map(len, homes.values())) / len(homes),
        leader_nodes=len(leaders),
        fragmentation=sum(apart) / len(apart),
        gpu_at_leaders=use(leaders, GPU),
        cpu_at_workers=use(workers, "cpu"),
        partly=sum(each.status.schedule_state == SCHEDULED_PARTLY for each in jobs),
    )


def all_figures() -> dict[str, Figures]:
    return {policy: figures(policy) for policy in BASIC_POLICIES}


def pictures(found: Mapping[str, Figures]) -> dict[str, str]:
    """Two pictures, by the names of their files."""
    names, each = list(found), list(found.values())
    counts = bars(
        "tyjob-policies-nodes",
        "Six policies, the same 20 jobs on 16 nodes: how far they spread",
        "Nodes with pods of the jobs, nodes with leaders, and the nodes of one job on average, for each policy.",
        names,
        [
            ("nodes used", [float(one.nodes) for one in each]),
            ("nodes with leaders", [float(one.leader_nodes) for one in each]),
            ("nodes a job", [round(one.nodes_a_job, 2) for one in each]),
        ],
    )
    shares = bars(
        "tyjob-policies-use",
        "Six policies, the same 20 jobs on 16 nodes: what is in use, in percent",
        "GPUs in use on nodes of leaders, CPUs on nodes of workers, and how far CPU and memory in use are apart.",
        names,
        [
            ("GPU at leaders", [round(100 * one.gpu_at_leaders, 1) for one in each]),
            ("CPU at workers", [round(100 * one.cpu_at_workers, 1) for one in each]),
            ("|CPU - memory|", [round(100 * one.fragmentation, 1) for one in each]),
        ],
    )
    return {f"{scene.name}.svg": standalone(scene) for scene in (counts, shares)}
