"""Whatever is wrong with what a user gives: one sentence with file, line and column, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.cli.main import run as podium

JOBS = "job_id,num_gpu,submit_time,duration\n"
TABLE = "job,submit_time,duration,pods,gpus\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn,8000,1024,2,T4\n"
APPLY = "events:\n- at: 0\n  apply:\n  - "
POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: m, image: i}]}}"


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that was given something wrong."""
    assert podium(["sim", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert "Traceback" not in output.err
    return output.err.removeprefix("podium: ").strip()


TRACES = [
    # what is wrong, the kind of trace, its content, and what is said behind the file's name
    ("empty", "muri", "",
     "line 1, column job_id: there is no header; want job_id, num_gpu, submit_time, duration"),
    ("blank lines", "muri", "\n\n", "line 1, column job_id: there is no header"),
    ("header alone", "muri", JOBS, "line 2, column job_id: there is nothing below the header"),
    ("missing column", "muri", "job_id,num_gpu\n1,2\n", "line 1, column submit_time: it is missing"),
    ("negative time", "muri", JOBS + "1,1,-5,10\n",
     "line 2, column submit_time: want a number that is not negative"),
    ("half a line", "muri", JOBS + "1,1,0,10\n2,1\n", "line 3, column submit_time: the line ends before it"),
    ("too long a line", "muri", JOBS + "1,1,0,10,9\n", "line 2, column 5: the header has 4 columns"),
    ("half a number", "muri", JOBS + "1,1,0,1e\n", "line 2, column duration: want a number, got '1e'"),
    ("infinite", "muri", JOBS + "1,1,0,1e400\n",
     "line 2, column duration: want at most 1,000,000,000,000, got 1e400"),
    ("not a number", "muri", JOBS + "1,1,nan,10\n", "line 2, column submit_time: want a number, got 'nan'"),
    ("infinity", "muri", JOBS + "1,1,inf,10\n", "line 2, column submit_time: want a number, got 'inf'"),
    ("no plain digits", "muri", JOBS + "1,1,1_0,10\n", "line 2, column submit_time: want a number, got '1_0'"),
    ("absurd size", "muri", JOBS + "1,1e15,0,10\n", "line 2, column num_gpu: want at most 100,000, got 1e15"),
    ("absurd id", "muri", JOBS + "1e300,1,0,10\n", "line 2, column job_id: want at most"),
    ("broken size", "muri", JOBS + "1,1.5,0,10\n", "line 2, column num_gpu: want a whole number, got 1.5"),
    ("twice", "muri", JOBS + "1,1,0,10\n1,1,0,10\n", "line 3, column job_id: there are two jobs of the number 1"),
    ("open quote", "muri", JOBS + '1,1,"0,10\n', "line 2, column 1: it is no CSV: unexpected end of data"),
    ("zero bytes", "muri", JOBS + "\0\0\0,1\n", "line 2, column"),
    ("two columns", "muri", "num_gpu," + JOBS, "line 1, column num_gpu: there are two columns of this name"),
    ("semicolons", "muri", JOBS.replace(",", ";"), "line 1, column job_id: it is missing"),
    ("thousands", "muri", JOBS + '1,"1,000",0,10\n', "line 2, column num_gpu: want a number, got '1,000'"),
    ("digits of another script", "muri", JOBS + "1,\u0661,0,10\n", "line 2, column num_gpu: want a number"),
    ("no GPUs", "muri", JOBS + "1,0,0,10\n", "line 2, column num_gpu: want at least one GPU, got 0"),
    ("a line of spaces", "muri", JOBS + "1,1,0,10\n   \n", "line 3, column num_gpu: the line ends before it"),
    ("too long a field", "muri", JOBS + f"1,1,0,{'9' * 200_000}\n", "line 2, column 1: it is no CSV"),
    ("csv: other name", "csv", "job,submit_time,duration,gpus,memory_gb\na,0,1,1,5\n",
     "line 1, column memory_gb: it is not known, but memory_mib is: name it so"),
    ("csv: other case", "csv", "job,submit_time,duration,GPU\na,0,1,1\n", "line 1, column GPU: it is not known"),
    ("csv: negative", "csv", "job,submit_time,duration,gpus,priority\na,0,1,1,-5\n", "line 2, column priority:"),
    ("csv: half a GPU", "csv", TABLE + "a,0,1,1,0.5\n", "line 2, column gpus: want a whole number, got 0.5"),
    ("openb: twice", "openb", PODS + "a,1,1,1,500,\na,1,1,1,500,\n", "line 3, column name: there are two pods"),
    ("openb: shares", "openb", PODS + "a,1,1,2,500,\n", "line 2, column gpu_milli: a share is of one GPU"),
    ("another file", "muri", "%PDF-1.7\n", "line 1, column job_id: it is missing"),
    ("csv: twice", "csv", TABLE + "a,0,1,1,1\na,0,1,1,1\n",
     "line 3, column job: there are two jobs of the name a"),
    ("csv: bad name", "csv", TABLE + "A b,0,1,1,1\n", "line 2, column job: want a name of small letters"),
    ("csv: many pods", "csv", TABLE + "a,0,1,1e9,1\n", "line 2, column pods: want at most 100,000, got 1e9"),
    ("csv: endless", "csv", TABLE + "a,0,1e10,1,1\n", "line 2, column duration: want at most 1,000,000,000"),
    ("csv: unknown queue", "csv", "job,submit_time,duration,gpus,queue\na,0,1,1,red\n",
     "line 2, column queue: job a names the queue 'red', which is not there: --queue red=1 makes it"),
    ("unknown model", "openb", PODS + "a,1,1,1,500,H9\n",
     "line 2, column gpu_spec: no node has the GPU model 'H9'"),
    ("openb: half", "openb", PODS + "a,1,1\n", "line 2, column num_gpu: the line ends before it"),
    ("openb: GPUs", "openb", PODS + "a,1,1,1e5,1000,\n", "line 2, column num_gpu: want at most 256, got 1e5"),
    ("openb: memory", "openb", PODS + "a,1,1e300,1,1000,\n", "line 2, column memory_mib: want at most"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "complaint"), [case[1:] for case in TRACES], ids=[c[0] for c in TRACES])
def test_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, text: str, complaint: str) -> None:
    file, nodes = tmp_path / "trace.csv", tmp_path / "nodes.csv"
    file.write_bytes(text.encode())
    nodes.write_text(NODES)
    said = reported(
        capsys, "run", "--trace", kind, "--pods", str(file), "--nodes", str(nodes) if kind == "openb" else "2"
    )
    assert complaint in said
    assert said.startswith(str(file))


@pytest.mark.parametrize("kind", ["muri", "csv", "openb", "scenario"])
def test_what_is_no_text_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    file, nodes = tmp_path / "picture.png", tmp_path / "nodes.csv"
    file.write_bytes(b"ab\nc\x89PNG\r\n\x1a\n\0\0")
    nodes.write_text(NODES)
    more = ("--nodes", str(nodes)) if kind == "openb" else ("--nodes", "2") if kind != "scenario" else ()
    said = reported(capsys, "run", "--trace", kind, "--pods", str(file), *more)
    assert said == f"{file}, line 2, column 2: it is no text: a byte 0x89"
    assert reported(capsys, "run", "--trace", kind, "--pods", str(tmp_path), *more) == (
        f"{tmp_path} cannot be read: is a directory"
    )
    none = tmp_path / "none"
    assert reported(capsys, "run", "--trace", kind, "--pods", str(none), *more).startswith(
        f"{none} cannot be read: no such"
    )


SCENARIOS = [
    ("empty", "", "line 1, column 1: a scenario is one YAML document with nodes and events, got 0"),
    ("two documents", "nodes: []\n---\nnodes: []\n", "line 3, column 1: a scenario is one YAML document"),
    ("half a list", "nodes: [\n", "line 2, column 1: it is not YAML:"),
    ("tabs", "nodes:\n\t- {}\n", "line 2, column 1: it is not YAML: found character that"),
    ("control character", "nodes: \x07\n", "line 1, column 8: it is not YAML:"),
    ("a list", "- 1\n", "line 1, column 1: Expected `object`, got `array`"),
    ("unknown field", "nodes: []\nevent: []\n", "line 1, column 1: Object contains unknown"),
    ("unknown action", "events:\n- {at: 1, explode: true}\n", "column 3: events[0]: Object contains unknown"),
    ("no time", "events:\n- {apply: []}\n", "line 2, column 3: events[0]: Object missing required field `at`"),
    ("negative time", "events:\n- at: -1\n  restart: true\n", "column 7: events[0].at: want seconds from 0"),
    ("no number", "events:\n- at: soon\n", "line 2, column 7: events[0].at: Expected `float`, got `str`"),
    ("infinite time", "events:\n- at: .inf\n", "column 7: events[0].at: want seconds from 0 to 1,000,000,000"),
    ("not a number", "events:\n- at: .nan\n", "line 2, column 7: events[0].at: want seconds from 0"),
    ("endless", "until: 1.0e+300\n", "line 1, column 8: until: want seconds from 0"),
    ("many nodes", "nodes:\n- {count: 1000000}\n", "1000000 nodes are more than the 32768 that can be simulated"),
    ("negative nodes", "nodes:\n- {count: -1}\n", "line 2, column 11: nodes[0].count: -1 is less than 0"),
    ("bad quantity", "nodes:\n- name: a\n  cpu: much\n", "line 3, column 8: nodes[0].cpu:"),
    ("equal groups", "nodes:\n- name: a\n- name: a\n", "line 3, column 9: nodes[1].name: 'a' is used by two"),
    ("unknown kind", APPLY + "{apiVersion: v9, kind: Nothing, metadata: {name: a}}\n",
     "line 4, column 5: events[0].apply[0]: there is no kind 'Nothing' of 'v9'"),
    ("no kind", APPLY + "{apiVersion: v1}\n",
     "line 4, column 5: events[0].apply[0]: kind: want a text, got None"),
    ("no name", APPLY + "{apiVersion: v1, kind: Pod}\n", "metadata.name: want a text"),
    ("metadata is a number", APPLY + "{apiVersion: v1, kind: Pod, metadata: 5}\n",
     "line 4, column 5: events[0].apply[0]: metadata.name: want a text"),
    ("no object", "events:\n- at: 0\n  apply: [5]\n", "line 3, column 11: events[0].apply[0]: Expected `object`"),
    ("empty spec", APPLY + "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}\n",
     "spec.containers"),
    ("equal names", f"{APPLY}{POD}\n  - {POD}\n", "line 5, column 5: events[0].apply[1]:"),
    ("binds beyond all", "events:\n- {at: 0, binds: {fail: 2}}\n",
     "line 2, column 25: events[0].binds.fail: want a part from 0 to 1, got 2"),
    ("early binds", "events:\n- {at: 0, binds: {seconds: -1}}\n", "binds.seconds: want none or more"),
    ("no file", "events:\n- at: 0\n  file: none.yaml\n", "line 3, column 9: events[0].file:"),
    ("list in a file", "events:\n- at: 0\n  file: list.yaml\n", "list.yaml, line 1, column 1: want an object"),
    ("unknown node", "events:\n- {at: 0, fail: nowhere}\n", "line 2, column 17: events[0].fail:"),
    ("key twice", "until: 5\nuntil: 6\n", "line 2, column 1: it is not YAML: the key 'until' stands there twice"),
    ("apply twice", f"events:\n- at: 0\n  apply: [{POD}]\n  apply: []\n", "line 4, column 3: it is not YAML:"),
    ("anchor in itself", f"{APPLY}&a {{apiVersion: v1, kind: Pod, metadata: *a}}\n",
     "line 4, column 5: it is not YAML: this holds itself"),
    ("no anchor", "events: *none\n", "line 1, column 9: it is not YAML: found undefined alias"),
    ("a tag", "nodes: !!python/object/apply:os.system [ls]\n", "line 1, column 8: it is not YAML: could not"),
    ("nothing happens", "events:\n- {at: 5}\n", "line 2, column 3: events[0]: nothing happens there: want one of"),
    ("slow binds", "events:\n- {at: 0, binds: {seconds: .inf}}\n", "binds.seconds: want none or more, up to"),
    ("empty file", "events:\n- at: 0\n  file: empty.yaml\n", "line 3, column 9: events[0].file:"),
    ("runs for soon", APPLY + POD.replace("name: a", "name: a, annotations: {podium.dev/run-seconds: soon}"),
     "line 4, column 5: events[0].apply[0]: metadata.annotations[podium.dev/run-seconds]: 'soon' is not a number"),
    ("kind in a list", APPLY + f"{{apiVersion: v1, kind: List, items: [{POD.replace('Pod', 'Podd')}]}}\n",
     "line 4, column 42: events[0].apply[0].items[0]: there is no kind 'Podd' of 'v1'"),
    ("number in a list", APPLY + "{apiVersion: v1, kind: List, items: [5]}\n", "items[0]: want an object"),
    ("huge nodes", "nodes:\n- {gpus: 99999999999999999999}\n", "line 2, column 10: nodes[0].gpus: 99999"),
    ("huge cores", "nodes:\n- {cpu: 1e30}\n", "line 2, column 9: nodes[0].cpu: 1e30 is more than any node has"),
    ("unknown namespace", APPLY + POD.replace("name: a", "name: a, namespace: none") + "\n", "namespaces"),
    ("unknown target", "events:\n- at: 0\n  delete: {apiVersion: v9, kind: X, name: a}\n",
     "line 3, column 11: events[0].delete: there is no kind 'X'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "complaint"), [case[1:] for case in SCENARIOS], ids=[c[0] for c in SCENARIOS])
def test_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(text)
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    said = reported(capsys, "run", "--trace", "scenario", "--pods", str(file))
    assert complaint in said
    assert said.startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--nodes", "1e400"), "1e400 cannot be read: no such file"),
        (("--nodes", "99999999999"), "--nodes: 99999999999 nodes are more than the 32768"),
        (("--nodes", "2", "--load", "nan"), "--load"),
        (("--nodes", "2", "--load", "1e400"), "--load"),
        (("--nodes", "2", "--load", "-1"), "--load"),
        (("--nodes", "2", "--seed", "-1"), "--seed"),
        (("--nodes", "2", "--queue", "a=0"), "want NAME=WEIGHT with a weight of at least 1"),
        (("--nodes", "2", "--queue", "a=1e9"), "want NAME=WEIGHT"),
        (("--nodes", "2", "--queue", "A=1"), "the queue 'A' cannot be made"),
        (("--nodes", "0"), "a trace of jobs needs nodes"),
        (("--nodes", "\u00b2"), "cannot be read: no such file"),
        (("--nodes", "2", "--queue", "a=\u00b2"), "want NAME=WEIGHT"),
        (("--nodes", "2", "--gpus-per-node", "9" * 20), f"--nodes: gpus: {'9' * 20} is more than 1,000,000"),
        (("--nodes", "twice.yaml"), "twice.yaml, line 1, column 12: it is not YAML: the key 'gpus' stands"),
        (("--nodes", "bad.yaml"), "bad.yaml, line 1, column 10: [0].count: Expected `int`, got `str`"),
        (("--nodes", "2", "--config", "broken.yaml"), "broken.yaml, line 2, column 1: it is not YAML"),
    ],
)
def test_options(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(JOBS + "1,1,0,1000\n")
    Path("bad.yaml").write_text("[{count: many}]\n")
    Path("broken.yaml").write_text("tiers: [\n")
    Path("twice.yaml").write_text("[{gpus: 1, gpus: 2}]\n")
    assert complaint in reported(capsys, "run", "--trace", "muri", "--pods", "jobs.csv", *more)


@pytest.mark.parametrize("kind", ["muri", "csv", "openb", "scenario"])
def test_what_spreadsheets_and_other_systems_write(tmp_path: Path, kind: str) -> None:
    """A mark at the beginning and the line ends of another system are no mistakes."""
    text = {
        "muri": JOBS + "1,1,0,10\n",
        "csv": "gpus,duration,user,submit_time,job,queue_time\n1,1,me,0,a,7\n",
        "openb": PODS + "a,1,1,1,500,T4\n",
        "scenario": "nodes: [{gpus: 8}]\nuntil: 1\n",
    }[kind]
    file, nodes = tmp_path / "trace", tmp_path / "nodes.csv"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    nodes.write_text(NODES)
    more = {"openb": ("--nodes", str(nodes)), "scenario": ()}.get(kind, ("--nodes", "2"))
    assert podium(["sim", "run", "--trace", kind, "--pods", str(file), *more]) == 0


@pytest.mark.parametrize(
    ("kind", "more", "complaint"),
    [
        ("openb", ("--queue", "a=3"), "--queue says nothing to --trace openb"),
        ("openb", ("--split", "size"), "--split says nothing to --trace openb"),
        ("openb", ("--gpus-per-node", "4"), "--gpus-per-node says nothing to --trace openb"),
        ("openb", ("--nodes", "4"), "--nodes: a trace of openb has a list of nodes: want its file, got 4"),
        ("openb", ("--nodes", "nodes.csv", "--load", "0.001"), "give more nodes, or a larger --load"),
        ("scenario", ("--load", "2"), "--load says nothing to --trace scenario"),
        ("scenario", ("--split", "turn"), "--split says nothing to --trace scenario"),
        ("scenario", ("--gpus-per-node", "4"), "--gpus-per-node says nothing to --trace scenario"),
        ("scenario", ("--nodes", "4"), "the scenario's largest group, and it has none"),
        ("scenario", ("--queue", "A=1"), "the queue 'A' cannot be made"),
    ],
)
def test_options_that_say_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    more: tuple[str, ...],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nodes.csv").write_text(NODES)
    Path("trace").write_text("until: 5\n" if kind == "scenario" else PODS + "a,1,1,1,500,T4\n")
    assert complaint in reported(capsys, "run", "--trace", kind, "--pods", "trace", *more)
