"""Reading traces: what is right is read, and what is wrong is one sentence with file, line and column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from podium.core.model.constraints import DeviceRequest
from podium.errors import UsageError
from podium.sim.traces import muri, openb, table
from podium.sim.traces.stream import Stream

NODES = "sn,cpu_milli,memory_mib,gpu,model\nb,8000,1024,2,T4\na,4000,512,0,\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
JOBS = "job_id,num_gpu,submit_time,duration\n"
TABLE = "job,submit_time,duration,pods,gpus\n"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "trace.csv"
        path.write_text(text)
        return path

    return write


def test_the_stream_is_that_of_the_published_runs() -> None:
    stream = Stream(42)
    assert [stream.word() for _ in range(3)] == [
        12663951391086054483,
        9832119173398632219,
        5571782338101878760,
    ]


def test_draws_stay_in_their_bounds() -> None:
    stream = Stream(7)
    assert {stream.below(8) for _ in range(200)} == set(range(8))
    assert {stream.below(5) for _ in range(200)} == set(range(5))
    assert sorted(stream.permutation(100)) == list(range(100))
    items = list(range(100))
    stream.shuffle(items)
    assert items != sorted(items)
    assert sorted(items) == list(range(100))


def test_nodes_and_pods_of_openb(file: Callable[[str], Path]) -> None:
    nodes = openb.read_nodes(file(NODES))
    assert [(node.name, node.cpu, node.memory, node.devices, node.model) for node in nodes] == [
        ("a", 4000, 512 << 20, 0, ""),
        ("b", 8000, 1024 << 20, 2, "T4"),
    ]
    pods = openb.read_pods(file(PODS + "c,100,1,0,0,\nb,100,1,2,1000,\na,100,1,1,250,T4|T4\n"), {"T4"})
    assert [(pod.name, pod.devices) for pod in pods] == [
        ("a", DeviceRequest(1, 250, ("T4", "T4"))),
        ("b", DeviceRequest(2)),
        ("c", None),
    ]


def test_arrivals_are_all_pods_then_copies_up_to_the_load(file: Callable[[str], Path]) -> None:
    nodes = openb.read_nodes(file(NODES))
    pods = openb.read_pods(file(PODS + "".join(f"p{n},100,1,1,100,\n" for n in range(10))), {"T4"})
    found = openb.arrivals(pods, nodes, 1.3, 42)
    assert sorted(pod.name for pod in found.pods[:10]) == [f"p{n}" for n in range(10)]
    assert sum(pod.shape.size for pod in found.pods) == 2600
    assert sorted(node.name[6:] for node in found.nodes) == ["a", "b"]
    assert found == openb.arrivals(pods, nodes, 1.3, 42)
    assert found != openb.arrivals(pods, nodes, 1.3, 43)
    fewer = openb.arrivals(pods, nodes, 0.25, 42)
    assert sum(pod.shape.size for pod in fewer.pods) == 500


def test_jobs_of_muri_are_gangs_of_whole_nodes(file: Callable[[str], Path]) -> None:
    jobs = muri.read_jobs(file(JOBS + "1,16,2000,60500\n0,4,1000,1000\n"), 8)
    assert [(job.name, job.arrival, job.duration, job.pods, job.gpus) for job in jobs] == [
        ("job-000000", 1.0, 1.0, 1, 4),
        ("job-000001", 2.0, 60.5, 2, 8),
    ]


def test_jobs_of_a_generic_table(file: Callable[[str], Path]) -> None:
    jobs = table.read_jobs(
        file("duration,job,submit_time,cpu_milli,memory_mib,queue\n5,b,2.5,100,1,red\n7,a,0,1,,\n")
    )
    assert [(job.name, job.arrival, job.duration, job.cpu, job.memory, job.queue) for job in jobs] == [
        ("a", 0.0, 7.0, 1, 0, "default"),
        ("b", 2.5, 5.0, 100, 1 << 20, "red"),
    ]


def read_openb(path: Path) -> object:
    return openb.read_pods(path, {"T4"})


def read_muri(path: Path) -> object:
    return muri.read_jobs(path, 8)


@pytest.mark.parametrize(
    ("read", "text", "complaint"),
    [
        (
            read_openb,
            "",
            "line 1, column name: there is no header; want name, cpu_milli, memory_mib, num_gpu, gpu_milli",
        ),
        (read_openb, "name,cpu_milli\n", "line 1, column memory_mib: it is missing"),
        (read_openb, PODS, "line 2, column name: there is nothing below the header"),
        (read_openb, PODS + "a,100,1,1,250,\nb,100\n", "line 3, column memory_mib: the line ends before it"),
        (
            read_openb,
            PODS + "a,100,1,1,250,,7\n",
            "line 2, column 7: the header has 6 columns and the line 7 values",
        ),
        (
            read_openb,
            PODS + "a,-1,1,0,0,\n",
            "line 2, column cpu_milli: want a number that is not negative, got -1",
        ),
        (read_openb, PODS + "a,x,1,0,0,\n", "line 2, column cpu_milli: want a number, got 'x'"),
        (read_openb, PODS + "a,1,1,1.5,0,\n", "line 2, column num_gpu: want a whole number, got 1.5"),
        (read_openb, PODS + "a,1,1,1,1001,\n", "line 2, column gpu_milli: want 1 to 1000, got 1001"),
        (
            read_openb,
            PODS + "a,1,1,2,500,\n",
            "line 2, column gpu_milli: a share is of one GPU, and this pod wants 2",
        ),
        (read_openb, PODS + "a,1,1,1,500,T4|H9\n", "line 2, column gpu_spec: no node has the GPU model 'H9'"),
        (read_openb, PODS + ",1,1,1,500,\n", "line 2, column name: it is empty"),
        (read_openb, PODS + "a,1,1,0,0,\na,1,1,0,0,\n", "line 3, column name: there are two pods of the name a"),
        (
            read_openb,
            PODS.replace("gpu_spec", "creation_time") + "a,1,1,0,0,-5\n",
            "line 2, column creation_time: want a number that is not negative, got -5",
        ),
        (openb.read_nodes, NODES + "c,1,1,1,\n", "line 4, column model: it is empty"),
        (openb.read_nodes, NODES + "b,1,1,0,\n", "line 4, column sn: there are two nodes of the name b"),
        (
            read_muri,
            JOBS + "0,1,-5,10\n",
            "line 2, column submit_time: want a number that is not negative, got -5",
        ),
        (read_muri, JOBS + "0,0,5,10\n", "line 2, column num_gpu: want at least one GPU, got 0"),
        (read_muri, JOBS + "0,9,5,10\n", "line 2, column num_gpu: 9 GPUs cannot be split evenly over nodes of 8"),
        (table.read_jobs, TABLE + "A b,0,1,1,1\n", "line 2, column job: want a name of small letters"),
        (table.read_jobs, TABLE + "a,0,1,0,1\n", "line 2, column pods: want at least one pod, got 0"),
        (table.read_jobs, TABLE + "a,0,nan,1,1\n", "line 2, column duration: want a number, got 'nan'"),
        (table.read_jobs, TABLE + "a,0,1,1,0\n", "line 2, column gpus: the job asks for nothing"),
        (table.read_jobs, TABLE + '"a,0,1,1,0\n', "line 2, column 1: it is no CSV: unexpected end of data"),
    ],
)
def test_a_bad_trace_is_one_sentence(
    file: Callable[[str], Path], read: Callable[[Path], object], text: str, complaint: str
) -> None:
    path = file(text)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, {complaint}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        read_muri(tmp_path / "none.csv")
    path = tmp_path / "picture.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="line 1, column 1: it is no text"):
        read_muri(path)
