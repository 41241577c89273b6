"""`podium vc` without a cluster: what is made from flags, and what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.cli.main import run
from podium.cli.vc.details import job_details
from podium.cli.vc.making import Wish, amounts, job_document, job_in, namespace_in, order_document
from podium.cli.vc.tables import QUEUE_COLUMNS_IN_SHORT, PodRow, job_table, pod_table, queue_table
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import QUEUES
from podium.errors import UsageError

Document = dict[str, Any]


def job(name: str, namespace: str = "default", **status: Any) -> Document:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": "u-1",
        "creationTimestamp": "2027-01-15T08:00:00Z",
        "labels": {},
    }
    tasks = [{"name": "ps", "replicas": 1}, {"name": "worker", "replicas": 2}]
    return {
        "apiVersion": JOBS.api_version,
        "kind": "Job",
        "metadata": metadata,
        "spec": {"minAvailable": 3, "queue": "default", "schedulerName": "volcano", "tasks": tasks},
        "status": {"state": {"phase": "Running"}, "minAvailable": 3, **status},
    }


class TestTables:
    def test_jobs_stand_in_vcctls_columns(self) -> None:
        labelled = job("tensorflow-benchmark", running=3, retryCount=1)
        labelled["metadata"]["labels"] = {"volcano.sh/job-type": "Tensorflow"}
        heading, first, second = job_table([labelled, job("b", succeeded=2)], with_namespace=False).splitlines()
        assert heading == (
            "Name                   Creation       Phase       JobType     Replicas    Min   Pending   Running   "
            "Succeeded   Failed    Unknown     RetryCount"
        )
        assert first == (
            "tensorflow-benchmark   2027-01-15     Running     Tensorflow  3           3     0         3         "
            "0           0         0           1         "
        )
        assert second.split() == ["b", "2027-01-15", "Running", "Batch", "3", "3", "0", "0", "2", "0", "0", "0"]

    def test_of_all_namespaces_with_the_namespace_first(self) -> None:
        heading, row = job_table([job("a", "team-of-people")], with_namespace=True).splitlines()
        assert heading.startswith("Namespace        Name   Creation")
        assert row.startswith("team-of-people   a      2027-01-15")

    def test_queues_count_their_groups(self) -> None:
        queues: list[Document] = [
            {
                "metadata": {"name": "default"},
                "spec": {"weight": 1, "parent": "root"},
                "status": {"state": "Open"},
            },
            {"metadata": {"name": "root"}, "spec": {"weight": 1}},
        ]
        phases = ("Running", "Running", "Inqueue", "Completed", "")
        groups = [{"spec": {"queue": "default"}, "status": {"phase": phase}} for phase in phases]
        heading, first, second = queue_table(queues, groups).splitlines()
        assert heading == (
            "Name                     Weight  State   Parent  Inqueue Pending Running Unknown Completed"
        )
        assert first == "default                  1       Open    root    1       1       2       0       1       "
        assert second.split() == ["root", "1", "0", "0", "0", "0", "0"]
        short = queue_table(queues, groups, QUEUE_COLUMNS_IN_SHORT).splitlines()[0]
        assert short.split() == ["Name", "Weight", "State", "Inqueue", "Pending", "Running", "Unknown"]

    def test_a_long_text_does_not_run_into_the_next_column(self) -> None:
        queue = {"metadata": {"name": "a" * 30}, "spec": {"weight": 1, "parent": "research-and-more"}}
        row = queue_table([queue], []).splitlines()[1]
        assert row.split()[:3] == ["a" * 30, "1", "research-and-more"]

    def test_pods(self) -> None:
        rows = [PodRow("default", "a-ps-0", ("1/1", "Running", "0", "5s"))]
        heading, row = pod_table(rows, with_namespace=False).splitlines()
        assert heading.split() == ["Name", "Ready", "Status", "Restart", "Age"]
        assert row == "a-ps-0        1/1        Running        0        5s        "
        assert pod_table(rows, with_namespace=True).splitlines()[0].split()[0] == "Namespace"

    def test_nothing(self) -> None:
        assert job_table([], True) == queue_table([], []) == pod_table([], False) == "No resources found"


class TestDetails:
    def test_a_job_in_full(self) -> None:
        one = job("train", running=3, version=1, controlledResources={"plugin-svc": "svc"})
        one["spec"]["plugins"] = {"svc": ["--disable-network-policy"], "env": []}
        container = {"name": "c", "image": "img", "command": ["sh", "-c", "a\nb"]}
        container["resources"] = {"requests": {"cpu": "1", "nvidia.com/gpu": 1}}  # type: ignore[assignment]
        one["spec"]["tasks"][0]["template"] = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        event = {
            "type": "Normal",
            "reason": "ExecuteAction",
            "message": "start ",
            "count": 2,
            "firstTimestamp": "2027-01-15T08:00:00Z",
            "lastTimestamp": "2027-01-15T08:01:00Z",
            "source": {"component": "vc-controller-manager"},
        }
        text = job_details(one, [event], 1_800_000_000.0 + 90)
        for line in (
            "Name:       \ttrain",
            "Labels:     \t<none>",
            "    Svc:\t[--disable-network-policy]",
            "    Name:\tps",
            "            b",
            "  Running:      \t3",
            "    Phase:\tRunning",
            "    plugin-svc: \tsvc",
        ):
            assert line in text.splitlines(), line
        last = text.splitlines()[-1].split("\t")
        assert [cell.strip() for cell in last] == [
            "Normal",
            "ExecuteAction",
            "30s (x2 over 90s)",
            "vc-controller-manager",
            "start",
        ]

    def test_an_empty_job(self) -> None:
        text = job_details({"metadata": {"name": "x"}}, [], 0.0)
        assert text.endswith("Events: \t<none>")


class TestMaking:
    WISH = Wish(
        name="a", image="busybox", minimum=2, replicas=3, requests="cpu=500m", limits="", scheduler="volcano"
    )

    def test_a_job_from_flags(self) -> None:
        made = job_document(self.WISH)
        assert made["spec"]["minAvailable"] == 2
        (task,) = made["spec"]["tasks"]
        assert task["replicas"] == 3
        (container,) = task["template"]["spec"]["containers"]
        assert container["resources"] == {"requests": {"cpu": "500m"}, "limits": {}}
        assert "command" not in container

    @pytest.mark.parametrize(
        ("text", "reported"),
        [
            ("cpu", "'cpu' is not of the form resource=amount"),
            ("cpu=", "'cpu=' is not of the form resource=amount"),
            ("cpu=lots", "lots"),
        ],
    )
    def test_amounts_that_are_none(self, text: str, reported: str) -> None:
        with pytest.raises(UsageError, match=reported):
            amounts(text, "--requests")

    @pytest.mark.parametrize(
        ("text", "reported"),
        [
            ("a: [", "is not YAML"),
            ("", "must hold one object"),
            ("kind: Job\napiVersion: batch/v1\n", "must hold a Job of batch.volcano.sh/v1alpha1"),
            ("- 1\n", "must hold one object"),
        ],
    )
    def test_files_that_hold_no_job(self, text: str, reported: str, tmp_path: Path) -> None:
        file = tmp_path / "job.yaml"
        file.write_text(text)
        with pytest.raises(UsageError, match=reported):
            job_in(file)
        with pytest.raises(UsageError, match="cannot be read"):
            job_in(tmp_path / "other.yaml")

    def test_an_order_belongs_to_its_target(self) -> None:
        made = order_document(QUEUES, {"metadata": {"name": "q", "uid": "u"}}, "CloseQueue")
        assert made["metadata"]["generateName"] == "q-closequeue-"
        assert made["metadata"]["ownerReferences"] == [made["target"]]
        assert made["target"] == {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "name": "q",
            "uid": "u",
            "controller": True,
            "blockOwnerDeletion": True,
        }


def test_a_file_says_its_namespace() -> None:
    assert namespace_in({"metadata": {"namespace": "team"}}) == "team"
    assert namespace_in({"metadata": {"name": "a"}}) == namespace_in({"metadata": None}) == "default"


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("job view", "which job? give its name by --name"),
        ("job run", "which job? give its name by --name"),
        ("vcancel", "which job? give its name by --name"),
        ("queue operate --name q", "what shall be done with queue q? give --action open, close or update"),
        ("queue operate --name q --action update", "which weight shall queue q get? give one above 0 by --weight"),
        (
            "queue operate --name root --action close",
            "the root of all queues cannot be closed; close the queues below it",
        ),
        ("job list --master here", "--master here is no URL: it begins with https:// or http://"),
    ],
)
def test_wrong_usage_is_told_in_one_sentence(
    line: str,
    reported: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],"
        " clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert run(["vc", *line.split()]) == 2
    assert capsys.readouterr().err == f"podium: {reported}\n"
