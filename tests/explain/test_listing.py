"""Who runs and who waits, and what nodes have."""

from __future__ import annotations

from podium.cli.printing import age, columns, node_list
from podium.cli.tables import node_groups, nodes_answer, queue_answer
from podium.explain.answers import QueueList
from podium.explain.listing import list_nodes, list_workloads
from podium.explain.queues import explain_queue
from podium.kube.resources import PODS
from tests.explain.objects import GPU, NOW, QUEUES, Objects


def cluster() -> Objects:
    objects = Objects()
    objects.node("node-1")
    objects.node("node-2")
    objects.node("node-3", unschedulable=True)
    objects.queue("research", capability={GPU: "8"})
    for number in range(2):
        objects.pod(f"runs-{number}", 4, node="node-1", group="runs")
    objects.group("runs", 2, queue="research", phase="Running")
    objects.gang("waits", 2, queue="research", gpus=2)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "train", "controller": True}
    for number in range(3):
        objects.pod(f"train-{number}", 8, scheduler="podium", metadata={"ownerReferences": [owner]})
    return objects


def test_a_job_is_one_row_whatever_its_gangs() -> None:
    rows = {row.name: row for row in list_workloads(cluster().model()).workloads}
    assert set(rows) == {"runs", "waits", "train"}
    assert (rows["runs"].state, rows["runs"].nodes, rows["runs"].gpus) == ("R", ("node-1",), 8)
    assert (rows["train"].kind, rows["train"].pods, rows["train"].placed) == ("Job", 3, 0)
    assert (rows["waits"].state, rows["waits"].position) == ("PD", 1)
    assert rows["waits"].why.endswith(
        "queue research holds 8 of its capability of 8 nvidia.com/gpu, and 2 more would be too much"
    )


def test_the_table_has_a_row_for_each_and_the_queues_below() -> None:
    text = queue_answer(list_workloads(cluster().model()), None, NOW, 0)
    lines = text.splitlines()
    assert lines[0].split() == ["NAME", "KIND", "QUEUE", "ST", "GPUS", "PODS", "SINCE", "POS", "WHERE/WHY"]
    assert lines[1].split()[:6] == ["runs", "podgroup", "research", "R", "8", "2/2"]
    research = next(line for line in lines if line.startswith("research"))
    assert research.split()[:6] == ["research", "open", "8", "8", "0", "8"]
    only = queue_answer(list_workloads(cluster().model()), "name", NOW, 0, state="PD")
    assert only.splitlines() == ["job/train", "podgroup/waits"] or set(only.splitlines()) == {
        "job/train",
        "podgroup/waits",
    }


def test_what_is_not_there_is_said_of_what_was_asked_for() -> None:
    nothing = QueueList((), ())
    assert queue_answer(nothing, None, NOW, 0) == "nothing runs and nothing waits in this namespace: see -A"
    assert queue_answer(nothing, None, NOW, 0, with_namespace=True) == "nothing runs and nothing waits"
    waiting = queue_answer(nothing, None, NOW, 0, queue="research", state="PD", with_namespace=True)
    assert waiting == "nothing waits in queue research"


def test_a_group_that_was_not_let_in_waits_for_what_it_needs_at_least() -> None:
    objects = cluster()
    objects.group("outside", 3, queue="research", phase="Pending", minResources={GPU: "24"})
    text = queue_answer(list_workloads(objects.model()), None, NOW, 0)
    research = next(line for line in text.splitlines() if line.startswith("research"))
    assert research.split()[6] == str(2 * 2 + 24), "pods that wait, and those that are not made yet"


def test_nodes_are_grouped_by_state_and_gpus() -> None:
    rows = list_nodes(cluster().model())
    assert {row.name: row.state for row in rows} == {"node-1": "alloc", "node-2": "idle", "node-3": "drain"}
    assert [(group.state, group.nodes, group.gpus_free) for group in node_groups(rows)] == [
        ("idle", 1, 8),
        ("alloc", 1, 0),
        ("drain", 1, 0),
    ]
    assert "node-1" in nodes_answer(rows, "wide", 0)
    assert nodes_answer([], None, 0) == "there are no nodes"


def test_a_queue_says_what_it_holds_and_why_its_first_waits() -> None:
    model = cluster().model()
    document = model.document(QUEUES, "", "research")
    assert document is not None
    answer = explain_queue(model, QUEUES, document)
    assert answer.sentence.startswith(
        "queue research holds 8 of 8 nvidia.com/gpu that it deserves, at most 8; 1 run and 1 wait"
    )
    assert "default/waits" in answer.sentence


def test_names_of_nodes_are_written_in_few_words() -> None:
    assert node_list(["node-003", "node-001", "node-002", "node-007"]) == "node-[001-003,007]"
    assert node_list(["a", "b7"]) == "a,b7"
    assert node_list(["node-9", "node-10", "node-11"]) == "node-[9,10-11]"
    assert node_list([]) == ""


def test_columns_are_cut_where_the_terminal_ends() -> None:
    assert columns(("A", "B"), [("1", "x" * 10)], 6) == "A  B\n1  xx…"


def test_ages_are_those_of_kubectl() -> None:
    assert [age(each) for each in (5, 119, 120, 7199, 7200, 172800)] == ["5s", "119s", "2m", "119m", "2h", "2d"]


def test_a_pod_at_fault_says_so_itself() -> None:
    objects = Objects()
    objects.node("a")
    objects.pod("lost-0", group="nobody")
    rows = list_workloads(objects.model()).workloads
    assert rows == ()  # it is in no gang: podium why says that its group is missing
    assert (PODS, "default", "lost-0") in objects.documents
