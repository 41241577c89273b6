"""The view: rows of the model, and what of it has changed, whatever happens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.core.framework.plugin import Plugin
from podium.kube.resources import NODES, PODS
from podium.kube.transport import MERGE_PATCH
from podium.runtime.measuring import MeasuredScheduler, Stopwatch
from podium.web import details, history, job_rows, journal, node_rows, queue_rows
from podium.web.history import History, Ring
from podium.web.view import PORTION, Document, View
from tests.engine.stage import Stage

Known = dict[str, dict[Any, list[Any]]]


class Page:
    """What a page knows that has taken everything in."""

    def __init__(self) -> None:
        self.rows: Known = {"jobs": {}, "nodes": {}, "queues": {}, "journal": {}}
        self.whys: dict[str, list[str]] = {}
        self.gone: list[list[Any]] = []

    def take(self, steps: Iterable[list[Document]]) -> int:
        """How many rows came."""
        count = 0
        for documents in steps:
            for document in documents:
                kind, rows = document["is"], document.get("rows", [])
                count += len(rows)
                assert len(rows) <= PORTION or kind in ("samples", "days", "queues")
                if kind == "queues":
                    self.rows["queues"] = {}
                if kind == "gone":
                    self.gone += rows
                    for row in rows:
                        self.rows["jobs"].pop(row[0], None)
                elif kind in self.rows:
                    self.rows[kind] |= {row[0]: row for row in rows}
                self.whys |= document.get("whys", {})
                for number in document.get("gone", ()):
                    del self.rows["nodes"][number]
        return count

    def job(self, name: str) -> dict[str, Any]:
        (found,) = (row for row in self.rows["jobs"].values() if row[1] == name)
        return dict(zip(job_rows.FIELDS, found, strict=True))

    def node(self, name: str) -> dict[str, Any]:
        (found,) = (row for row in self.rows["nodes"].values() if row[1] == name)
        return dict(zip(node_rows.FIELDS, found, strict=True))

    def queue(self, name: str) -> dict[str, Any]:
        (found,) = (row for row in self.rows["queues"].values() if row[1] == name)
        return dict(zip(queue_rows.FIELDS, found, strict=True))

    def why(self, name: str) -> str:
        why = self.job(name)["why"]
        return why if isinstance(why, str) else self.whys[str(why)][1] if why is not None else ""


class Looking:
    """A stage with a view on it, and a page that follows."""

    def __init__(self, stage: Stage | None = None) -> None:
        self.stage = stage or Stage()
        watch = Stopwatch()
        for name, profile in watch.measured(self.stage.scheduler.profiles).items():
            self.stage.scheduler.profiles[name] = profile  # type: ignore[index]
        self.plugins: list[Plugin] = []
        self.view = View(self.stage.scheduler, watch.plugins_of_last_turns, History())
        self.page = Page()

    def settle(self, seconds: float = 5.0) -> int:
        self.stage.settle(seconds)
        return self.page.take(self.view.refresh(self.stage.server.now, watched=True))


GPU = "nvidia.com/gpu"


def with_gpus(stage: Stage, name: str, gpus: int, group: str = "", scheduler: str = "volcano") -> None:
    container = {"name": "m", "image": "x:1", "resources": {"limits": {GPU: str(gpus)}}}
    stage.pod(name, group, containers=[container], schedulerName=scheduler)


def test_a_gang_from_its_arrival_to_its_end() -> None:
    looking = Looking()
    stage, page = looking.stage, looking.page
    stage.node("n1", **{GPU: "8"})
    stage.group("train", 2)
    with_gpus(stage, "train-0", 4, "train")
    looking.settle()
    assert page.job("train") | {"id": 0} == page.job("train") | {"id": 0, "state": "waiting", "members": 1}
    assert "2" in page.why("train")
    with_gpus(stage, "train-1", 4, "train")
    looking.settle()
    job = page.job("train")
    assert (job["state"], job["placed"], job["minimum"], job["gpus"]) == ("starting", 2, 2, 8.0)
    assert (job["why"], job["where"], job["kind"]) == (None, [["n1"], 0], "PodGroup")
    assert page.node("n1")["held"] == [[job["id"], 8.0]]
    for pod in ("train-0", "train-1"):
        stage.run_pod(pod)
    looking.settle()
    assert (page.job("train")["state"], page.job("train")["running"]) == ("running", 2)
    assert page.job("train")["started"] > 0
    for pod in ("train-0", "train-1"):
        stage.server.ok(
            "PATCH", PODS.path("default", pod, "status"), {"status": {"phase": "Succeeded"}}, media=MERGE_PATCH
        )
    looking.settle()
    job = page.job("train")
    assert (job["state"], job["gpus"]) == ("done", 8.0)
    assert job["ended"] >= job["started"]
    assert page.node("n1")["held"] == []
    for pod in ("train-0", "train-1"):
        stage.server.ok("DELETE", PODS.path("default", pod))
    stage.server.ok("DELETE", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/train")
    looking.settle()
    assert page.rows["jobs"] == {}
    assert [row[1] for row in page.gone] == ["train"]
    kinds = [row[1] for row in page.rows["journal"].values()]
    assert "refuse" in kinds
    assert "bind" in kinds


def test_nothing_is_said_twice_when_nothing_changes() -> None:
    looking = Looking()
    looking.stage.node("n1")
    for n in range(5):
        looking.stage.pod(f"p{n}")
    looking.settle()
    looking.settle()
    assert looking.settle(0.0) == 0


def test_a_page_that_opens_late_knows_the_same_as_one_that_followed() -> None:
    looking = Looking()
    stage = looking.stage
    for n in range(3):
        stage.node(f"n{n}", cpu="4", **{GPU: "4"})
    looking.settle()
    for n in range(30):
        with_gpus(stage, f"p{n}", 1)
        if n % 7 == 0:
            looking.settle(1.0)
    looking.settle()
    late = Page()
    late.take(looking.view.snapshot(stage.server.now))
    assert late.rows == looking.page.rows
    for job in late.rows["jobs"].values():
        assert late.why(job[1]) == looking.page.why(job[1])


def test_a_burst_of_decisions_is_said_in_portions_and_in_order() -> None:
    looking = Looking()
    looking.stage.node("n1", cpu="2000", memory="2Ti", pods="2000")
    looking.settle()
    count = 2 * PORTION + 50
    for n in range(count):
        looking.stage.pod(f"p{n}")
    looking.stage.settle()
    steps = list(looking.view.refresh(looking.stage.server.now, watched=True))
    assert looking.page.take(steps) >= count
    said = [row[0] for step in steps for each in step if each["is"] == "journal" for row in each["rows"]]
    assert len(said) >= count
    assert said == sorted(said)


def test_those_who_wait_for_the_same_share_one_refusal() -> None:
    looking = Looking()
    stage, page = looking.stage, looking.page
    stage.node("n1", **{GPU: "2"})
    for n in range(40):
        with_gpus(stage, f"p{n}", 2)
    looking.settle()
    waiting = [row for row in page.rows["jobs"].values() if row[6] == "waiting"]
    assert len(waiting) == 39
    assert all(page.why(row[1]) for row in waiting)


def test_a_pod_that_can_never_run_says_so_itself() -> None:
    looking = Looking()
    looking.stage.node("n1")
    looking.stage.pod("bad", "no-such-group")
    looking.settle()
    job = looking.page.job("no-such-group")
    assert (job["state"], job["kind"], job["members"]) == ("waiting", "group missing", 1)
    assert "default/no-such-group" in looking.page.why("no-such-group")
    looking.stage.group("no-such-group", 1)
    looking.settle()
    assert looking.page.job("no-such-group")["state"] == "starting"
    assert looking.page.job("no-such-group")["kind"] == "PodGroup"


def test_nodes_come_go_and_are_closed() -> None:
    looking = Looking()
    stage, page = looking.stage, looking.page
    stage.node("n1")
    stage.node("n2")
    looking.settle()
    assert page.node("n1")["state"] == "ready"
    stage.cordon("n1", True)
    stage.server.ok("DELETE", "/api/v1/nodes/n2")
    looking.settle()
    assert page.node("n1")["state"] == "cordoned"
    assert len(page.rows["nodes"]) == 1


def test_queues_have_shares_and_borrow() -> None:
    looking = Looking()
    stage, page = looking.stage, looking.page
    stage.node("n1", **{GPU: "8"})
    for name, weight in (("a", 1), ("b", 3)):
        queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
        stage.apply(queue | {"spec": {"weight": weight, "capability": {"cpu": "8", GPU: "8"}}})
    for n in range(3):
        stage.group(f"g{n}", 1, queue="a" if n else "b")
        with_gpus(stage, f"g{n}-0", 2, f"g{n}")
    looking.settle()
    looking.settle()
    a, b = page.queue("a"), page.queue("b")
    assert (a["gpu"][0], b["gpu"][0]) == (4.0, 2.0)
    assert (a["weight"], b["weight"]) == (1, 3)
    assert a["jobs"].get("starting", 0) == 2
    assert a["gpu"][1] is not None
    assert page.queue("root")["gpu"][0] == 6.0  # what is below counts above


def test_the_share_of_a_queue_that_owns_nodes_is_what_they_have() -> None:
    looking = Looking()
    stage, page = looking.stage, looking.page
    for name in ("n1", "n2"):
        stage.node(name, **{GPU: "8"})
    stage.server.ok("PATCH", NODES.path("", "n1"), {"metadata": {"labels": {"team": "mine"}}}, media=MERGE_PATCH)
    pool = {"apiVersion": "resource.aibee.cn/v1alpha1", "kind": "Pool", "metadata": {"name": "mine"}}
    stage.apply(pool | {"spec": {"nodeSelector": {"matchLabels": {"team": "mine"}}}})
    looking.settle()
    mine = page.queue("mine")
    assert (mine["nodes"], mine["gpu"][1]) == (1, 8.0)


def test_the_model_is_followed_though_nobody_looks() -> None:
    looking = Looking()
    looking.stage.node("n1")
    looking.stage.pod("p")
    looking.stage.settle()
    quiet = list(looking.view.refresh(looking.stage.server.now, watched=False))
    assert not any(document["is"] in ("nodes", "journal") for documents in quiet for document in documents)
    assert [row[1] for row in looking.view.jobs.values()] == ["p"]
    assert looking.view.nodes == {}


def test_the_details_of_a_job_and_of_a_node() -> None:
    looking = Looking()
    stage = looking.stage
    stage.node("n1", **{GPU: "2"})
    stage.group("big", 3)
    for n in range(3):
        with_gpus(stage, f"big-{n}", 1, "big")
    with_gpus(stage, "small", 1)
    looking.settle()
    big = details.job(looking.view, looking.page.job("big")["id"])
    assert big is not None
    assert big["why"]["code"]
    assert big["why"]["hint"]
    assert [member[1] for member in big["members"]] == ["big-0", "big-1", "big-2"]
    assert big["asks"][0][0] == 3
    assert any(entry[1] == "refuse" for entry in big["entries"])
    node = details.node(looking.view, looking.page.node("n1")["id"])
    assert node is not None
    assert [member[1] for member in node["members"]] == ["small"]
    assert [GPU, 1, 2] in node["amounts"]
    assert details.job(looking.view, 999) is None
    assert details.node(looking.view, 999) is None


def test_sentences_of_the_journal() -> None:
    looking = Looking()
    looking.stage.node("n1", cpu="2")
    looking.stage.pod("p1")
    looking.stage.pod("p2", cpu="64")
    looking.settle()
    texts = {row[10]: row[11] for row in looking.page.rows["journal"].values()}
    assert texts["p1"] == "bound 1 pod to n1"
    assert "64" in texts["p2"]
    assert len(journal.FIELDS) == len(next(iter(looking.page.rows["journal"].values())))


def test_rings_are_means_of_their_stretches_and_bounded() -> None:
    ring = Ring(10.0, points=3)
    added = [ring.add([float(at), 10.0 * (at // 10), None, 1.0, float(at % 10), 0.0]) for at in range(61)]
    assert [each for each in added if each is not None] == [
        [10.0 * n, 10.0 * n, None, 1.0, 4.5, 0.0] for n in range(6)
    ]
    assert [sample[0] for sample in ring.samples] == [30.0, 40.0, 50.0]
    assert len(history.FIELDS) == 6


def test_a_scheduler_that_measures_serves_the_view() -> None:
    """What `podium up` runs."""
    stage = Stage()
    watch = Stopwatch()
    scheduler = MeasuredScheduler(stage.world, stage.scheduler.profiles, watch)
    view = View(scheduler, watch.plugins_of_last_turns, History())
    page = Page()
    page.take(view.refresh(1.0, watched=True))
    page.take(view.snapshot(1.0))
    assert page.rows["jobs"] == {}
