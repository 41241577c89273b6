"""`podium sim`: what it prints, and what it says to wrong usage."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from podium.cli.main import run as podium

NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{n},32000,65536,4,T4\n" for n in range(4))
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
    f"p{n},1000,1024,1,{(250, 500, 1000)[n % 3]}\n" for n in range(20)
)
JOBS = "job_id,num_gpu,submit_time,duration\n" + "".join(
    f"{n},{(1, 4, 8)[n % 3]},{n * 1000},60000\n" for n in range(12)
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("nodes.csv", NODES), ("pods.csv", PODS), ("jobs.csv", JOBS)):
        (tmp_path / name).write_text(text)
    (tmp_path / "binpack.yaml").write_text(
        "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: binpack}]}]\n"
    )
    return tmp_path


def openb(files: Path, command: str = "run", *more: str) -> list[str]:
    pods, nodes = str(files / "pods.csv"), str(files / "nodes.csv")
    return ["sim", command, "--trace", "openb", "--pods", pods, "--nodes", nodes, *more]


def muri(files: Path, command: str = "run", *more: str) -> list[str]:
    return ["sim", command, "--trace", "muri", "--pods", str(files / "jobs.csv"), *more]


def test_an_inflation_as_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert podium(openb(files, "run", "--profile", "fgd", "--seed", "43", "-o", "json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["trace"], found["profile"], found["seed"], found["load"]) == ("openb", "fgd", 43, 1.3)
    assert (found["nodes"], found["gpus"]) == (4, 16)
    assert found["gpu_allocation_percent"] > 90
    assert found["wall_seconds"] > 0
    assert found["details"] == found["curve"]
    assert len(found["trace_hash"]) == 64


def test_an_inflation_as_csv_and_as_a_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert podium(openb(files, "run", "--profile", "bestfit", "-o", "csv")) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {"arrived_percent", "gpu_allocation_percent", "fragmented_percent"} < lines[-1].keys()
    assert podium(openb(files, "run", "--profile", "bestfit")) == 0
    assert "GPUs given out" in capsys.readouterr().out


def test_a_replay_and_a_comparison(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert podium(muri(files, "run", "--nodes", "1", "--profile", "volcano", "-o", "json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["jobs"], found["finished"], found["gpus"]) == (12, 12, 8)
    assert found["wait_seconds"]["p50"] > 0
    assert len(found["details"]) == 12
    config = str(files / "binpack.yaml")
    several = ("--nodes", "1", "--nodes", "2", "--profile", "volcano", "--config", config)
    assert podium(muri(files, "compare", *several, "-o", "json")) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["nodes"] for run in runs] == [1, 1, 2, 2]
    assert runs[0]["trace_hash"] == found["trace_hash"]
    assert runs[2]["wait_seconds"]["mean"] < runs[0]["wait_seconds"]["mean"]
    assert podium(muri(files, "compare", *several)) == 0
    assert "volcano, 2 nodes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--nodes", "2", "--profile", "none"), "there is no profile 'none'"),
        ((), "a trace of jobs needs nodes"),
        (("--nodes", "2", "--gpus-per-node", "0"), "no node has any"),
        (("--nodes", "2", "--queue", "a=1", "--queue", "a=3"), "several are for `podium sim compare`"),
        (("--nodes", "2", "--queue", "a=1,a=2"), "names a queue twice"),
        (("--nodes", "2", "--queue", "a=1,b=2", "--queue", "a=2,c=1"), "name the same queues each time"),
        (("--nodes", "2", "--split", "size"), "--split needs queues"),
        (("--nodes", "2", "--from-cluster"), "--trace says nothing to a copy of a cluster"),
        (("--nodes", "2", "--assume-seconds", "5"), "--assume-seconds is for --from-cluster"),
        (("--nodes", "2", "-o", "xml"), "want one of table, json, csv, html"),
        (("--nodes", "2", "-o", "json="), "names no file"),
        (("--nodes", "2", "-o", "json", "-o", "csv"), "cannot both go to stdout"),
        (("--nodes", "2", "-o", "html=/none/such/report.html"), "there is no directory /none/such"),
        (("--nodes", "2", "-o", "html=/"), "is a directory"),
        (("--nodes", "2", "--plots", "/dev/null"), "--plots"),
        (("--nodes", "2", "--nodes", "3"), "several are for `podium sim compare`"),
        (("--nodes", "2", "--queue", "red"), "want NAME=WEIGHT"),
        (("--nodes", "2", "--load", "0"), "--load"),
    ],
)
def test_wrong_usage(
    files: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], complaint: str
) -> None:
    assert podium(muri(files, "run", *more)) == 2
    reported = capsys.readouterr()
    assert complaint in reported.err
    assert reported.err.count("\n") == 1
