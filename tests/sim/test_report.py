"""The page of a run and of a comparison: its figures are those of the JSON document, and it opens in a browser."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from podium.cli.main import run as podium
from tests.browser import Browser, browser, ensure_chromium

JOBS = "job_id,num_gpu,submit_time,duration\n" + "".join(
    f"{n},{(1, 4, 8, 16)[n % 4]},{n * 9000},{60000 + 7000 * (n % 7)}\n" for n in range(60)
)
TRACES = os.environ.get("PODIUM_TRACES", "")
SMALL = 2 << 20


class Page(HTMLParser):
    """What a page holds: its data elements, its embedded document, and whatever it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.values: list[tuple[str, float]] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self._script = False
        self.document = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        if tag == "data" and "data-key" in found:
            self.values.append((str(found["data-key"]), float(str(found["value"]))))
        self.loads += [str(found[name]) for name in ("src", "href") if found.get(name)]
        self._script = tag == "script" and found.get("type") == "application/json"

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.document += data


def at(runs: list[Any], key: str) -> float:
    found: Any = runs
    for part in key.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return float(found)


def check(page: Path, document: Path) -> Page:
    """A page against the JSON of the same runs."""
    text = page.read_text()
    assert len(text) < SMALL
    reported = json.loads(document.read_text())
    runs = (
        reported["runs"]
        if "runs" in reported
        else [{name: value for name, value in reported.items() if name != "details"}]
    )
    found = Page(text)
    assert found.loads == ["data:,"]
    assert found.tags.count("script") == 1
    inside = json.loads(found.document)["runs"]
    assert [{name: value for name, value in run.items() if name != "run"} for run in inside] == [
        {name: value for name, value in run.items() if name != "run"} for run in runs
    ]
    assert len(found.values) > 10 * len(runs)
    for key, value in found.values:
        assert value == at(runs, key), key
    return found


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of two weights of two queues, in every form."""
    directory = tmp_path_factory.mktemp("report")
    (directory / "jobs.csv").write_text(JOBS)
    arguments = ["sim", "compare", "--trace", "muri", "--pods", str(directory / "jobs.csv"), "--nodes", "2"]
    arguments += ["--queue", "red=1,blue=1", "--queue", "red=1,blue=5", "--plots", str(directory / "plots")]
    for form in ("html", "json", "csv", "table"):
        arguments += ["-o", f"{form}={directory / f'report.{form}'}"]
    assert podium(arguments) == 0
    return directory


def test_a_page_of_a_comparison(compared: Path) -> None:
    page = check(compared / "report.html", compared / "report.json")
    runs = json.loads((compared / "report.json").read_text())["runs"]
    assert [run["run"] for run in runs] == ["red=1 blue=1", "red=1 blue=5"]
    assert runs[0]["wait_seconds"] != runs[1]["wait_seconds"]
    blue = [next(queue for queue in run["queues"] if queue["name"] == "blue") for run in runs]
    assert [queue["weight"] for queue in blue] == [1, 5]
    assert blue[1]["wait_seconds"]["mean"] < blue[0]["wait_seconds"]["mean"]
    assert page.tags.count("svg") == page.tags.count("figure") == 9
    assert page.tags.count("figcaption") == 9
    table = (compared / "report.table").read_text()
    for words in (
        *("GPU utilisation", "GPU allocation ratio", "wait, p50", "wait, p95", "wait, p99", "completion, p50"),
        *("completion, p95", "completion, p99", "makespan", "fairness", "evictions", "fragmentation"),
        "queue blue: wait, mean",
    ):
        assert words in table
    assert (compared / "report.csv").read_text().count("\n") == 3


def test_plots_are_files_of_their_own(compared: Path) -> None:
    names = {file.name for file in (compared / "plots").iterdir()}
    stems = {
        "utilisation-gpu",
        "waiting",
        "waits",
        "fragmentation",
        "queues",
        "gantt-1",
        "gantt-2",
        "nodes-1",
        "nodes-2",
    }
    assert names == {f"{stem}.{form}" for stem in stems for form in ("svg", "png")}


def test_without_pillow_plots_are_written_as_svg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "podium.sim.drawing.png", None)
    (tmp_path / "jobs.csv").write_text(JOBS)
    arguments = ["sim", "run", "--trace", "muri", "--pods", str(tmp_path / "jobs.csv"), "--nodes", "2"]
    assert podium([*arguments, "--plots", str(tmp_path / "plots")]) == 0
    assert {file.suffix for file in (tmp_path / "plots").iterdir()} == {".svg"}
    assert "for PNG as well, install Pillow" in capsys.readouterr().err


def test_a_page_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jobs.csv").write_text(JOBS)
    page, document = tmp_path / "a.html", tmp_path / "a.json"
    arguments = ["sim", "run", "--trace", "muri", "--pods", str(tmp_path / "jobs.csv"), "--nodes", "2"]
    assert podium([*arguments, "-o", f"html={page}", "-o", f"json={document}"]) == 0
    assert "GPU utilisation" in capsys.readouterr().out  # where nothing else goes to stdout, a table does
    check(page, document)
    assert podium([*arguments, "-o", "html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_thousands_of_jobs_make_a_small_page() -> None:
    from podium.sim.report.page import page

    job = {
        "name": "job",
        "queue": "q",
        "pods": 1,
        "gpus": 1,
        "arrival": 0,
        "started": 1,
        "ended": 2,
        "evictions": 0,
    }
    spread = dict.fromkeys(("mean", "p50", "p95", "p99", "max"), 1.0)
    queue = {"weight": 1, "jobs": 1, "gpu_hours": 1, "wait_seconds": spread, "slowdown": 1.0}
    percent = [n * 31 % 97 + 0.01 for n in range(240)]
    series: dict[str, Any] = {f"{name}_percent": percent for name in ("gpu", "cpu", "memory", "fragmentation")}
    series |= {"seconds": [float(n) for n in range(240)], "jobs_waiting": [n * 37 % 991 for n in range(240)]}
    rows = [{"nodes": f"n{n}", "percent": [(n + c) * 13 % 100 for c in range(96)]} for n in range(48)]
    run = {
        "nodes": 5000,
        "gpus": 40000,
        "jobs": 100_000,
        "makespan_seconds": 1e6,
        "wait_seconds": spread,
        "queues": [{"name": f"q{n}", **queue} for n in range(10)],
        "waits": {"up_to_seconds": [1.0, None], "jobs": [5, 6]},
        "series": series,
        "map": {"seconds": [], "nodes_a_row": 105, "rows": rows},
        "gantt": {"of": 100_000, "jobs": [job] * 40},
    }
    assert len(page([{**run, "run": f"run {n}"} for n in range(8)])) < SMALL


# --- in a browser ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = ensure_chromium(request.config)
    with browser(program, tmp_path_factory.mktemp("browser")) as running:
        yield running


def look(chromium: Browser, page: Path) -> None:
    """A page on a screen and on a phone, in light and dark: no complaint, no request, nothing beside the edge."""
    for width in (1280, 390):
        for dark in (False, True):
            chromium.open(page, width=width, dark=dark)
            assert chromium.complaints() == []
            assert chromium.requests() == []
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width
            paper = chromium.evaluate("getComputedStyle(document.querySelector('figure')).backgroundColor")
            assert paper == ("rgb(18, 22, 29)" if dark else "rgb(255, 255, 255)")
            # Text in pictures is not smaller than what can be read.
            smallest = chromium.evaluate(
                "Math.min(...Array.from(document.querySelectorAll('svg text'),"
                " text => text.getBoundingClientRect().height))"
            )
            assert smallest >= 9
            # No picture is cut: everything drawn lies inside it.
            outside = chromium.evaluate(
                "[...document.querySelectorAll('svg')].filter(s => [...s.querySelectorAll('text')].some(t => {"
                "const a = t.getBoundingClientRect(), b = s.getBoundingClientRect();"
                "return a.left < b.left - 2 || a.right > b.right + 2 || a.bottom > b.bottom + 2})).length"
            )
            assert outside == 0
            shot = page.with_name(f"{page.stem}-{width}-{'dark' if dark else 'light'}.png")
            chromium.screenshot(shot)
            assert shot.stat().st_size > 20_000
    paper_file = page.with_suffix(".pdf")
    chromium.print(paper_file)
    assert paper_file.read_bytes().startswith(b"%PDF")


@pytest.mark.timeout(180)
def test_a_comparison_in_a_browser(chromium: Browser, compared: Path) -> None:
    page = compared / "report.html"
    look(chromium, page)
    # What a reader sees is what the document says.
    chromium.open(page)
    shown = chromium.evaluate(
        "JSON.stringify(Array.from(document.querySelectorAll('data[data-key]'),"
        " each => [each.dataset.key, Number(each.value)]))"
    )
    runs = json.loads((compared / "report.json").read_text())["runs"]
    pairs = json.loads(shown)
    assert len(pairs) > 50
    assert all(value == at(runs, key) for key, value in pairs)


@pytest.mark.timeout(180)
def test_the_muri_trace_in_a_browser(chromium: Browser, tmp_path: Path) -> None:
    if not TRACES:
        reported = "PODIUM_TRACES does not say where the Muri traces are: their comparison is not looked at"
        warnings.warn(reported, stacklevel=2)
        pytest.skip(reported)
    page, document = tmp_path / "muri.html", tmp_path / "muri.json"
    arguments = [
        "sim",
        "compare",
        "--trace",
        "muri",
        "--pods",
        str(Path(TRACES) / "muri_trace1.csv"),
        "--nodes",
        "12",
    ]
    arguments += ["--profile", "binpack", "--profile", "spread"]
    assert podium([*arguments, "-o", f"html={page}", "-o", f"json={document}"]) == 0
    check(page, document)
    look(chromium, page)
    binpack, spread = json.loads(document.read_text())["runs"]
    assert binpack["wait_seconds"] != spread["wait_seconds"]
    assert binpack["fragmentation_percent"] < spread["fragmentation_percent"]


def test_names_from_outside_are_no_markup() -> None:
    from podium.sim.drawing.charts import Curve, curves
    from podium.sim.drawing.svg import inline
    from podium.sim.report.page import page

    drawn = inline(curves("a", "<b>", "</desc><script>", [Curve("<i>", [0, 1], [1, 1]), Curve("&", [0], [1])]))
    assert re.findall(r"<(?:b|i|script)>", drawn) == []
    run = {"run": "</script><script>alert(1)</script>", "trace": "<x>", "nodes": 1, "gpus": 1, "curve": []}
    assert page([run]).count("<script") == 1
