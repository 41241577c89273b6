"""podium from Python, on a cluster of `podium up`: both clients, and the commands that they carry."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.cli.main import run
from podium.client import AsyncClient, Client
from podium.client.references import known_kinds, split
from podium.dialects.dialect import State
from podium.errors import UsageError
from tests.up import podium_up

Document = dict[str, Any]


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    data = tmp_path_factory.mktemp("client")
    with podium_up(data, "--nodes", "2", "--gpus-per-node", "4"):
        yield data / "kubeconfig"


def pod(name: str, gpus: int = 0, annotations: Document | None = None) -> Document:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {"name": "main", "image": "app:1", "resources": {"limits": limits}}
    metadata = {"name": name, "annotations": annotations or {}}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def command(kubeconfig: Path, *words: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run([*words, "--kubeconfig", str(kubeconfig)])
    return code, out.getvalue()


def test_submit_wait_and_logs(kubeconfig: Path) -> None:
    with Client(kubeconfig) as podium:
        (made,) = podium.submit(pod("short", annotations={"podium.dev/run-seconds": "0.2"}))
        assert str(made) == "pod/short"
        assert podium.wait(made, timeout=60).state is State.DONE
        assert any("started on node" in line for line in podium.logs(made))
        podium.cancel("pod/short")
        with pytest.raises(UsageError, match="there is no pod named short"):
            podium.why("pod/short")


def test_what_comes_by_the_pipe_is_submitted(kubeconfig: Path) -> None:
    words = [sys.executable, "-m", "podium.cli.main", "submit", "-", "--kubeconfig", str(kubeconfig)]
    document = json.dumps(pod("piped", annotations={"podium.dev/run-seconds": "0.2"}))
    done = subprocess.run(words, input=document, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "pod/piped\n"), done.stderr


def test_why_is_a_struct(kubeconfig: Path) -> None:
    with Client(kubeconfig) as podium:
        podium.submit(pod("large", 8))
        answer = podium.why("po/large")
        assert answer.state == "waiting"
        assert "needs 8 nvidia.com/gpu" in answer.sentence
        assert [row.name for row in podium.queue().workloads if row.state == "PD"] == ["large"]
        assert [row.gpus for row in podium.nodes()] == [4, 4]
        podium.cancel("pod/large")


def test_the_same_as_coroutines(kubeconfig: Path) -> None:
    async def work() -> list[str]:
        async with AsyncClient(kubeconfig) as podium:
            (made,) = await podium.submit(pod("lines", annotations={"podium.dev/run-seconds": "0.2"}))
            with pytest.raises(TimeoutError):
                await podium.wait(made, timeout=0)
            await podium.wait(made, timeout=60)
            return [line async for _, line in podium.logs(made, follow=True)]

    assert len(asyncio.run(work())) >= 1


def test_a_job_that_fails_is_a_failed_command(kubeconfig: Path, tmp_path: Path) -> None:
    template = pod("x", annotations={"podium.dev/run-seconds": "0.1", "podium.dev/exit-code": "1"})
    body = {"metadata": {"annotations": template["metadata"]["annotations"]}, "spec": template["spec"]}
    spec = {"backoffLimit": 0, "template": body}
    file = tmp_path / "job.yaml"
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "fails"}, "spec": spec}
    file.write_text(json.dumps(job))
    code, text = command(kubeconfig, "submit", str(file), "--wait", "--timeout", "60")
    assert (code, text.splitlines()[0]) == (1, "job.batch/fails")


def test_nothing_is_created_if_one_object_is_malformed(kubeconfig: Path, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    good = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}}'
    file.write_text(f'{good}\n---\n{{"kind": "Pod", "metadata": {{}}}}\n')
    code, text = command(kubeconfig, "submit", str(file))
    assert (code, text) == (2, "podium: an object needs apiVersion and kind\n")
    assert command(kubeconfig, "why", "pod/one")[0] == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("why", "pod"), "names nothing: write KIND/NAME"),
        (("why", "nothing/x"), '"nothing" is no kind that this cluster has'),
        (("why", "pod/absent"), "there is no pod named absent in namespace default"),
        (("hold", "queue/default"), "cannot be held"),
        (("logs", "deployment/absent"), "there is no deployment named absent"),
        (("submit", "/nowhere.yaml"), "cannot be read"),
    ],
)
def test_what_was_typed_wrong_is_one_sentence(kubeconfig: Path, words: tuple[str, ...], says: str) -> None:
    code, text = command(kubeconfig, *words)
    assert code == 2
    assert says in text
    assert len(text.splitlines()) == 1


def test_kinds_are_known_by_all_of_their_names() -> None:
    assert [each.kind for each in known_kinds("po")] == ["Pod"]
    assert {each.group for each in known_kinds("job")} == {"batch", "batch.volcano.sh"}
    assert [each.group for each in known_kinds("jobs.batch")] == ["batch"]
    assert [each.group for each in known_kinds("vcjob")] == ["batch.volcano.sh"]
    assert known_kinds("nothing") == []
    assert split("pod/x") == ("pod", "x")


def test_what_has_no_pods_says_so_in_its_own_words(kubeconfig: Path) -> None:
    """A job that was held, one that was given up, and kinds that never wait."""
    template = {"spec": pod("held", 8)["spec"]}
    tasks = [{"name": "worker", "replicas": 2, "template": template}]
    spec = {"minAvailable": 2, "schedulerName": "volcano", "tasks": tasks}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "held"}, "spec": spec}
    with Client(kubeconfig) as podium:
        (made,) = podium.submit(job)
        podium.hold(made)
        with contextlib.suppress(TimeoutError):
            podium.wait(made, timeout=60)
        assert podium.why(made).sentence.startswith("it has no pods: Aborted")
        podium.cancel(made)
        assert "a node waits for nothing" in podium.why("node/node-000").sentence
        assert "queue Default owns 2 nodes" in podium.why("pool/Default").sentence, "though it has no object"
        template = {"spec": {**template["spec"], "nodeSelector": {"gen": "h200"}}}
        leader = {"name": "learner", "template": template}
        actors = [{"name": "actor", "counts": 1, "template": template}]
        spec = {"minWorkersNum": 1, "leader": leader, "workerSets": actors}
        never = {"apiVersion": "arranger.taiyi.io/v1alpha1", "kind": "TYJob", "metadata": {"name": "never"}}
        (made,) = podium.submit({**never, "spec": spec})
        podium.wait(made, timeout=60)
        assert "Failed, 0 of 1 workers ready: it is given up: " in podium.why(made).sentence
        assert "0 of 2 members could be placed; no node matches" in podium.why(made).sentence
    assert "a node waits for nothing" in command(kubeconfig, "why", "node/node-000")[1]
    assert command(kubeconfig, "why", "ns/default")[1] == "namespace/default: a namespace waits for nothing\n"
