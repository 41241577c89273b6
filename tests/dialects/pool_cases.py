"""Pools by a table: a small cluster, what happens, and what must come of it.

A case has a title, what is given, perhaps what happens `when`, and `then`.

    given   order (preempt-first), globalPreemption (true), pdb
            pools       name, selector (labels), expressions, supportResources, the flags and borrowingPools
            nodes       name, labels, alloc (cpu alone: the rest is ample), capacity (as alloc), taints
            pods        name, pool (its annotation; null: none), priority, request, node (it runs there),
                        scheduler, since (later than others), labels, selector, grace, preempts (true)
            budgets     labels of pods that may not be disrupted: a list
            pod         who comes when all others are there
            recreateEvicted  whoever was pushed out comes again
    when    relabel, createPool, updatePools, deletePool, removeNode, addNodes, createPods
    then    members (pool -> nodes), queue (pod -> pool; null: nobody's), queues, stats, running, placement,
            waiting, waitingCount, waitingIn, boundCount, canBorrow, victims; and of `pod`: outcome (bind, preempt,
            borrow, wait), node, target, queue, victims, victimCount, victimsFrom

Three kinds of cases say it shorter:

    order         who of given.pods gets the places of given.queue that come free, one after the other
    borrowTarget  idle: what pools have free, tasks: how many are there, homePending: who waits; who lends?
    pickNode      candidates: nodes by who would have to go, and broken budgets; which one is it?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from podium.cli.pools_table import Pool, printed
from podium.dialects.aibee.names import DEFAULT_POOL, DIALECT, POOL, POOLS, SCHEDULER, pool_name
from podium.engine.dispatcher import CallType
from podium.kube.changes import Delete
from podium.kube.resources import NODES, PODS
from podium.kube.transport import MERGE_PATCH
from tests.dialects.pool_stage import GPU, PoolStage
from tests.embedded.server import Document

PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_FLAGS = ("disablePreemption", "disableBorrowing", "disableSharing", "borrowingPools", "supportResources")
_AMPLE = {"memory": "1000Gi", "pods": "110"}


class Case(PoolStage):
    """A case that is played."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        options = {"preemption": given.get("globalPreemption", True), "order": given.get("order", "preempt-first")}
        if "pdb" in given:
            options["pdb"] = given["pdb"]
        super().__init__(str(options))
        self.given = given
        self._came = 0
        for pool in given.get("pools") or ():
            self.make_pool(pool)
        for node in given.get("nodes") or ():
            self.make_node(node)
        self.settle()  # Kubernetes has no order between kinds; here pools and nodes are known before any pod
        for pod in sorted(given.get("pods") or (), key=lambda each: each.get("since", 0)):
            self.make_pod(pod)
        for number, labels in enumerate(given.get("budgets") or ()):
            self.make_budget(f"budget-{number}", labels)

    # --- what is there -------------------------------------------------------------------------------------------

    def make_pool(self, pool: Mapping[str, Any]) -> None:
        selector: Document = {}
        if pool.get("selector") is not None:
            selector["matchLabels"] = pool["selector"]
        if pool.get("expressions"):
            selector["matchExpressions"] = pool["expressions"]
        spec = {name: pool[name] for name in _FLAGS if name in pool}
        self.apply(
            {
                "apiVersion": POOLS.api_version,
                "kind": POOLS.kind,
                "metadata": {"name": pool["name"]},
                "spec": {**({"nodeSelector": selector} if selector else {}), **spec},
            }
        )

    def make_node(self, node: Mapping[str, Any]) -> None:
        alloc, capacity = _room(node.get("alloc") or {}), _room(node.get("capacity") or node.get("alloc") or {})
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": node["name"], "labels": node.get("labels") or {}},
                "spec": {"taints": node["taints"]} if "taints" in node else {},
                "status": {
                    "capacity": capacity,
                    "allocatable": alloc,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
        )

    def make_pod(self, pod: Mapping[str, Any]) -> None:
        self.server.now += 1
        priority, node = pod.get("priority", 0), pod.get("node")
        spec: Document = {}
        if priority:
            self._ensure_class(priority)
            spec["priorityClassName"] = f"class-{priority}"
        if node:
            spec["nodeName"] = node
        if "selector" in pod:
            spec["nodeSelector"] = pod["selector"]
        if "grace" in pod:
            spec["terminationGracePeriodSeconds"] = pod["grace"]
        if not pod.get("preempts", True):
            spec["preemptionPolicy"] = "Never"
        amounts = _amounts(pod.get("request") or {})
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": pod["name"],
                    "namespace": "default",
                    "annotations": {POOL: pod["pool"]} if pod.get("pool") is not None else {},
                    "labels": pod.get("labels") or {},
                },
                "spec": {
                    "schedulerName": pod.get("scheduler", SCHEDULER),
                    "containers": [{"name": "main", "image": "app", "resources": _resources(amounts)}],
                    **spec,
                },
            }
        )
        if node:
            self.run_pod(pod["name"])

    def make_budget(self, name: str, labels: Mapping[str, str]) -> None:
        """One that is used up."""
        self.apply(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": dict(labels)}},
            }
        )
        status = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        self.server.ok("PATCH", f"{PDBS}/{name}/status", {"status": status}, media=MERGE_PATCH)

    # --- what happens --------------------------------------------------------------------------------------------

    def happens(self, when: Mapping[str, Any]) -> None:
        for name, labels in (when.get("relabel") or {}).items():
            known = self.get(NODES, name)["metadata"].get("labels") or {}
            self.relabel(name, {**dict.fromkeys(known), **labels})
        if "createPool" in when:
            self.make_pool(when["createPool"])
        if "deletePool" in when:
            self.delete_pool(when["deletePool"])
        for pool in when.get("updatePools") or ():
            self.server.ok("DELETE", POOLS.path("", pool["name"]))
            self.make_pool(pool)
        if "removeNode" in when:
            self.server.ok("DELETE", NODES.path("", when["removeNode"]))
        for node in when.get("addNodes") or ():
            self.make_node(node)
        for pod in when.get("createPods") or ():
            self.make_pod(pod)

    def comes_to_rest(self) -> None:
        """Everybody finds a place who will; who was told to go is gone, and comes again if the case says so."""
        for _ in range(8):
            self.settle(40)
            gone = set(self.told_to_go)
            self.bury()
            if self.given.get("recreateEvicted"):
                for pod in self.given.get("pods") or ():
                    if pod["name"] in gone and pod["name"] not in self._pods():
                        self.make_pod({**pod, "node": None})
            self._run_placed()
        self.settle(40)

    def _run_placed(self) -> None:
        for name, pod in self._pods().items():
            if "nodeName" in pod["spec"] and pod["status"].get("phase") != "Running":
                self.run_pod(name)

    def _pods(self) -> dict[str, Document]:
        items = self.server.ok("GET", PODS.path("default"))["items"]
        return {each["metadata"]["name"]: each for each in items}

    @property
    def told_to_go(self) -> list[str]:
        sent = [each.change for each in self.tickets if each.purpose == CallType.EVICT]
        return [each.name for each in sent if isinstance(each, Delete)]

    @property
    def waiting(self) -> list[str]:
        return [name for name, pod in self._pods().items() if "nodeName" not in pod["spec"]]

    def borrows(self, pool: str, lender: str) -> bool:
        """Whether a pod of a pool that finds nothing elsewhere gets a place on the nodes of another one."""
        name = f"borrows-{pool}-{lender}"
        self.make_pod({"name": name, "pool": pool, "request": {"cpu": 1}})
        self.settle()
        node = self.placed.get(name)
        return node is not None and self.pool_of(node) == lender

    def queue_of(self, pod: str) -> str | None:
        """The pool in whose queue a pod is; None if it is nobody's."""
        tasks = [each for each in self.world.cluster.tasks.values() if each.name == pod]
        ours = [each for each in tasks if each.gang.profile == SCHEDULER]
        return self.world.cluster.queues[ours[0].gang.queue].name if ours else None

    def pool_of(self, node: str) -> str:
        return next(name for name, nodes in self.members().items() if node in nodes)

    # --- what has come of it -------------------------------------------------------------------------------------

    def attempted(self, pod: Mapping[str, Any]) -> Document:
        """What became of a pod that came last."""
        self.settle()
        before = set(self.told_to_go)
        self.make_pod(pod)
        self.settle()
        name, victims = pod["name"], sorted(set(self.told_to_go) - before)
        node = self.placed.get(name, "")
        nominated = self.nominated(name)
        if victims:
            return {"outcome": "preempt", "node": node or nominated, "victims": victims}
        if not node:
            return {"outcome": "wait", "queue": self.queue_of(name), "victims": []}
        home, owner = self.queue_of(name), self.pool_of(node)
        if owner != home:
            return {"outcome": "borrow", "target": owner, "node": node, "victims": []}
        return {"outcome": "bind", "node": node, "victims": []}

    def statistics(self, pool: str) -> Document:
        """As `podium pools` prints it: whole numbers, and "-" where there is nothing to say."""
        reports, queues = self.world.reports.all(), self.world.cluster.queues
        pools = [Pool(queue, reports[id]) for id, queue in queues.items() if queue.dialect == DIALECT]
        lines = [line.split()[-7:] for line in printed(pools, "table").splitlines()]
        head, rows = lines[1], [line for line in lines if len(line) == 7 and line != lines[1]]
        first = 6 * [each.queue.name for each in pools].index(pool_name(pool))
        return {
            row[0]: {
                name.lower(): int(cell) if cell != "-" else cell
                for name, cell in zip(head[1:], row[1:], strict=True)
            }
            for row in rows[first : first + 6]
        }


# --- cases that say it shorter -----------------------------------------------------------------------------------


def served_in_order(given: Mapping[str, Any]) -> list[str]:
    """Who gets one place of a pool after the other, as it comes free."""
    queue = given["queue"]
    names = given.get("existing")
    if names is None:
        names = {queue, *(each["pool"] for each in given["pods"] if each["pool"] is not None)}
    pools = [
        {"name": each, "selector": {"pool": each}} for each in sorted({*names, queue}) if each != DEFAULT_POOL
    ]
    label = {} if queue == DEFAULT_POOL else {"pool": queue}
    node = {"name": "n", "labels": label, "alloc": {"cpu": 1}}
    first = {"name": "first", "pool": queue, "node": "n", "priority": 1000}
    pods = [{**each, "request": {"cpu": 1}} for each in [{**first, "since": -1}, *given["pods"]]]
    stage = Case({"globalPreemption": False, "pools": pools, "nodes": [node], "pods": pods})
    stage.settle()
    found, running = [], "first"
    for _ in given["pods"]:
        stage.server.ok("DELETE", PODS.path("default", running), {"gracePeriodSeconds": 0})
        stage.settle()
        running = next(iter(stage.placed), "")
        if not running:
            break
        found.append(running)
    return found


def lender_of(given: Mapping[str, Any]) -> str:
    """The pool on whose nodes a pod finds its place: its own if it waits at home."""
    waits, idle = given.get("homePending") or {}, given.get("idle") or {}
    nodes, pods = [], []
    for pool in given["pools"]:
        name = pool["name"]
        room = dict(idle.get(name) or {"cpu": 0, "memory": 0})
        more = 1 if waits.get(name) else 0  # what waits there fits once a pod of its own has ended
        alloc = {**room, "cpu": room.get("cpu", 0) + more}
        nodes.append({"name": f"n-{name}", "labels": {"pool": name}, "alloc": alloc})
        for number in range((given.get("tasks") or {}).get(name, 0) - waits.get(name, 0)):
            pods.append({"name": f"{name}-{number}", "pool": name, "node": f"n-{name}"})
        if more:
            busy = {"cpu": 1, "memory": 0}
            pods.append({"name": f"{name}-b", "pool": name, "node": f"n-{name}", "request": busy, "priority": 9})
            wanted = {"cpu": alloc["cpu"], "memory": 0}
            pods += (
                {"name": f"{name}-w{number}", "pool": name, "request": wanted} for number in range(waits[name])
            )
    pools = [{**each, "selector": {"pool": each["name"]}} for each in given["pools"]]
    stage = Case({"pools": pools, "nodes": nodes, "pods": pods})
    found = stage.attempted({"name": "p", **given["pod"]})
    return str(found.get("target", given["pod"]["pool"]))


def preempted_on(given: Mapping[str, Any]) -> str:
    """The node on which somebody has to go for a pod that needs all of it."""
    home, whole = given["pool"], 60
    nodes, pods = [], []
    pools = {home}
    for node, candidate in given["candidates"].items():
        nodes.append({"name": node, "labels": {"pool": home}, "alloc": {"cpu": whole}})
        victims = candidate["victims"]
        for number, victim in enumerate(victims):
            pools.add(victim["pool"])
            guarded = number < candidate.get("pdbViolations", 0)
            pods.append(
                {
                    "name": f"{node}-{number}",
                    "node": node,
                    "request": {"cpu": whole / len(victims)},
                    "labels": {"guarded": "yes"} if guarded else {},
                    **victim,
                }
            )
    stage = Case(
        {
            "pools": [
                {"name": name, "selector": {"pool": name}, "disableBorrowing": True} for name in sorted(pools)
            ],
            "nodes": nodes,
            "pods": pods,
            "budgets": [{"guarded": "yes"}],
        }
    )
    found = stage.attempted({"name": "p", "pool": home, "priority": 1000, "request": {"cpu": whole}})
    return str(found["node"])


# --- checking ----------------------------------------------------------------------------------------------------


def outcome(case: Mapping[str, Any]) -> tuple[Document, Document]:
    """What came of a case, of that what it says about it, and what it says."""
    given, then, when = case["given"], dict(case["then"]), case.get("when") or {}
    match case["op"]:
        case "order":
            return {"order": served_in_order(given)}, then
        case "borrowTarget":
            return {"target": lender_of(given)}, then
        case "pickNode":
            return {"node": preempted_on(given)}, then
        case "attempt":
            stage = Case(given)
            found = stage.attempted(given["pod"])
            found["victimCount"] = len(found.get("victims", ()))
            chosen = found.get("victims", [])
            if "victimsFrom" in then:
                found["victimsFrom"] = then["victimsFrom"] if set(chosen) <= set(then["victimsFrom"]) else chosen
            if "victims" in then:
                then["victims"] = sorted(then["victims"])
            return {name: found.get(name) for name in then}, then
    stage = Case(given)
    stage.settle()
    if when:
        stage.happens(when)
    if case["op"] == "settle":
        stage.comes_to_rest()
    else:
        stage.settle()
    return {name: _seen(stage, name, said) for name, said in then.items()}, then


def _seen(stage: Case, name: str, said: Any) -> Any:
    match name:
        case "members":
            return {pool: nodes for pool, nodes in stage.members().items() if pool in said}
        case "queue":
            return {pod: stage.queue_of(pod) for pod in said}
        case "queues":
            return sorted(stage.pool_names, key=lambda each: (each != DEFAULT_POOL, each))
        case "running" | "placement":
            return {pod: node for pod, node in stage.running.items() if pod in said}
        case "waiting":
            return sorted(stage.waiting)
        case "waitingCount":
            return len(stage.waiting)
        case "waitingIn":
            return {pod: stage.queue_of(pod) for pod in said if pod in stage.waiting}
        case "boundCount":
            return {node: count for node, count in Counter(stage.placed.values()).items() if node in said}
        case "stats":
            return {pool: _part(stage.statistics(pool), wanted) for pool, wanted in said.items()}
        case "canBorrow":
            return {
                pool: {lender: stage.borrows(pool, lender) for lender in lenders} for pool, lenders in said.items()
            }
        case "victims":
            return sorted(stage.told_to_go)
    raise AssertionError(f"cases say nothing of {name}")


def _part(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Document:
    return {resource: {name: found[resource][name] for name in amounts} for resource, amounts in wanted.items()}


# --- amounts -----------------------------------------------------------------------------------------------------


def _amounts(given: Mapping[str, Any]) -> dict[str, str]:
    names = {"gpu": GPU, "storage": "ephemeral-storage"}
    return {names.get(name, name): f"{amount}" for name, amount in given.items()}


def _room(given: Mapping[str, Any]) -> dict[str, str]:
    return {"cpu": "4", **_AMPLE, **_amounts(given)}


def _resources(amounts: Mapping[str, str]) -> Document:
    extended = {name: amount for name, amount in amounts.items() if "/" in name}
    return {"requests": dict(amounts), **({"limits": extended} if extended else {})}
