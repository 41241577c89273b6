"""The pages in a browser, on a cluster that `podium up` runs: they open, follow, and complain of nothing."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import PODS, Resource
from tests.browser import Browser, browser, ensure_chromium
from tests.processes import end

QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
JOBS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")
PAGES = ("map", "queues", "jobs", "timeline", "journal")


@pytest.fixture(scope="module")
def chromium(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = ensure_chromium(request.config)
    with browser(program, tmp_path_factory.mktemp("browser")) as running:
        yield running


class Cluster:
    """`podium up`, and the address that it printed."""

    def __init__(self, url: str, kubeconfig: Path) -> None:
        self.url = url
        self.kubeconfig = kubeconfig

    async def create(self, resource: Resource, *documents: dict[str, Any]) -> None:
        transport = HttpTransport(resolve(self.kubeconfig, None))
        try:
            for document in documents:
                await Client(transport).create(resource, "default" if resource.namespaced else "", document)
        finally:
            await transport.close()


@pytest.fixture(scope="module")
def cluster(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    data = tmp_path_factory.mktemp("cluster")
    command = [sys.executable, "-m", "podium.cli.main", "up", "--port", "0", "--dashboard-port", "0"]
    command += ["--nodes", "6", "--gpus-per-node", "8", "--data-dir", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = re.match(r"dashboard: (\S+)", line)
            if found:
                yield Cluster(found[1], data / "kubeconfig")
                break
        else:
            pytest.fail("podium up printed no address of a dashboard")
    finally:
        end(process, 30)


def job(name: str, pods: int, gpus: int, queue: str = "default") -> dict[str, Any]:
    container = {"name": "m", "image": "x:1", "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": str(gpus)}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    tasks = [{"name": "worker", "replicas": pods, "template": template}]
    spec = {"minAvailable": pods, "queue": queue, "schedulerName": "volcano", "tasks": tasks}
    return {"apiVersion": JOBS.api_version, "kind": "Job", "metadata": {"name": name}, "spec": spec}


def logged_in(chromium: Browser, cluster: Cluster, page: str = "map", **window: Any) -> None:
    chromium.visit(cluster.url, **window)
    chromium.evaluate(f"location.hash = '#/{page}'")
    chromium.until("window.podium && window.podium.store.ready")


async def test_the_pages(chromium: Browser, cluster: Cluster) -> None:
    """On a screen and a phone, in light and dark: no complaint, nothing from elsewhere, nothing off the edge."""
    queue = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "research"}}
    await cluster.create(QUEUES, {**queue, "spec": {"weight": 2}})
    await cluster.create(JOBS, job("small", 2, 4), job("large", 4, 8, "research"), job("too-large", 2, 8))
    logged_in(chromium, cluster)
    chromium.until("podium.store.states.running >= 2 && podium.store.states.waiting >= 1")
    for page in PAGES:
        for width in (1400, 390):
            for dark in (False, True):
                logged_in(chromium, cluster, page, width=width, dark=dark)
                chromium.until(
                    "document.querySelector('#page h1') && document.querySelector('.tile strong').textContent"
                )
                await asyncio.sleep(0.4)
                assert chromium.complaints() == []
                assert chromium.evaluate("document.documentElement.scrollWidth") <= width
                origin = cluster.url.partition("/login")[0]
                assert all(url.startswith(origin) for url in chromium.requests())
                assert chromium.evaluate("document.title").endswith("podium")


def test_why_a_job_waits_is_on_the_page(chromium: Browser, cluster: Cluster) -> None:
    logged_in(chromium, cluster, "jobs?state=waiting")
    chromium.until(
        "document.querySelector('td.why') && document.querySelector('td.why').textContent.includes('nvidia')"
    )
    assert chromium.evaluate("document.querySelectorAll('tbody tr').length") == 1
    chromium.evaluate("document.querySelector('tbody a').click()")
    chromium.until("document.querySelector('#panel .sentence')")
    assert "nvidia.com/gpu" in chromium.evaluate("document.querySelector('#panel .sentence').textContent")
    assert chromium.evaluate("document.activeElement.id") == "panel"
    chromium.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    chromium.until("document.querySelector('#panel').hidden")


def test_the_journal_is_searched_by_job(chromium: Browser, cluster: Cluster) -> None:
    logged_in(chromium, cluster, "journal")
    chromium.until("document.querySelectorAll('tbody tr').length > 3")
    chromium.evaluate(
        "(() => { const field = document.querySelector('input[type=search]'); field.value = 'too-large'; "
        "field.dispatchEvent(new Event('input')); })()"
    )
    chromium.until(
        "[...document.querySelectorAll('tbody tr')].every((row) => row.textContent.includes('too-large'))"
    )
    assert "refused" in chromium.evaluate("document.querySelector('tbody').textContent")


def test_the_map_is_used_with_the_keyboard(chromium: Browser, cluster: Cluster) -> None:
    logged_in(chromium, cluster, "map")
    chromium.until("document.querySelector('canvas') && podium.store.nodes.size > 1")
    press(chromium, "ArrowRight", "ArrowRight")
    chromium.until("document.querySelector('[aria-live]').textContent.startsWith('node-001')")
    assert "GPUs" in chromium.evaluate("document.querySelector('canvas').getAttribute('aria-label')")
    press(chromium, "Enter")
    chromium.until("document.querySelector('#panel-title')?.textContent === 'node-001'")


def test_a_key_that_is_pressed_before_the_map_is_drawn_counts(chromium: Browser, cluster: Cluster) -> None:
    """A busy browser draws late: rows are there for a while before the map is."""
    late = "const real = requestAnimationFrame; requestAnimationFrame = (f) => window.drawLater = () => real(f)"
    script = chromium.call("Page.addScriptToEvaluateOnNewDocument", source=late)["identifier"]
    try:
        logged_in(chromium, cluster, "map")
        press(chromium, "ArrowRight", "ArrowRight")
        assert chromium.evaluate("document.querySelector('[aria-live]').textContent") == ""
        chromium.until("window.drawLater")
        chromium.evaluate("window.drawLater(); 1")
        chromium.until("document.querySelector('[aria-live]').textContent.startsWith('node-001')")
        assert chromium.complaints() == []
    finally:
        chromium.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_the_keyboard_stays_at_its_node(chromium: Browser, cluster: Cluster) -> None:
    """The panel takes the focus and gives it back, nodes come, and everything is listed anew: the cursor stays."""
    logged_in(chromium, cluster, "map")
    press(chromium, "ArrowRight", "ArrowRight", "Enter")
    chromium.until("document.querySelector('#panel-title')?.textContent === 'node-001'")
    chromium.until("document.activeElement.id === 'panel'")
    press(chromium, "Escape", at="panel")
    chromium.until("document.activeElement.tagName === 'CANVAS'")
    press(chromium, "ArrowRight")
    chromium.until("document.querySelector('[aria-live]').textContent.startsWith('node-002')")
    before = "const { store } = podium, row = [...store.nodes.get([...store.nodes.keys()][0])]"
    chromium.evaluate(f"{{ {before}; row[0] = 999; row[1] = 'a-first'; store.apply('nodes', {{ rows: [row] }}) }}")
    chromium.evaluate(
        "window.drawn = 0; podium.drawn.push(() => window.drawn = 1); window.dispatchEvent(new Event('resize'))"
    )
    chromium.until("window.drawn")
    press(chromium, "ArrowRight")
    chromium.until("document.querySelector('[aria-live]').textContent.startsWith('node-003')")
    assert chromium.complaints() == []


def press(chromium: Browser, *keys: str, at: str = "CANVAS") -> None:
    """Keys, once the map or something else has the focus."""
    chromium.call("Emulation.setFocusEmulationEnabled", enabled=True)
    if at == "CANVAS":
        chromium.until(
            "document.activeElement.tagName === 'CANVAS' || void document.querySelector('canvas').focus()"
        )
    for key in keys:
        chromium.call("Input.dispatchKeyEvent", type="keyDown", key=key)


async def test_a_change_shows_within_a_second(chromium: Browser, cluster: Cluster) -> None:
    logged_in(chromium, cluster, "jobs?state=all")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "newcomer"}}
    container = {"name": "m", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}
    await cluster.create(PODS, {**pod, "spec": {"schedulerName": "volcano", "containers": [container]}})
    chromium.until("[...podium.store.jobs.values()].some((row) => row[1].includes('newcomer'))", seconds=2.0)


def test_large_jobs_have_colours_of_their_own(chromium: Browser, cluster: Cluster) -> None:
    """The ink that covers least is the next one: many small jobs may share one, two large ones do not."""
    logged_in(chromium, cluster)
    chromium.evaluate("""(() => {
        const { store } = podium, row = (gpus) => { const made = []; made[store.J.gpus] = gpus; return made; };
        store.inkUse.fill(0);
        window.inks = [96, 1, 1, 1, 1, 1, 1, 1, 64].map((gpus, at) => {
            store.jobs.set(-at - 1, row(gpus));
            return store.ink(-at - 1);
        });
    })()""")
    inks = chromium.evaluate("window.inks")
    assert inks[0] not in inks[1:]
    assert len(set(inks)) == len(inks) - 1


async def test_on_a_phone_nothing_is_cut(chromium: Browser, cluster: Cluster) -> None:
    """Long numbers in the boxes at the top, and long names of jobs beside and in their bars."""
    await cluster.create(JOBS, job("finetune-" + "m" * 44, 1, 1))
    written = """
        window.written = [];
        const real = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            const align = { left: 0, start: 0, center: 0.5, right: 1, end: 1 }[this.textAlign];
            const left = x - align * this.measureText(text).width;
            const right = left + this.measureText(text).width - this.canvas.clientWidth;
            if (text.startsWith("finetune")) window.written.push([text, left, right]);
            return real.call(this, text, x, y);
        };
    """
    script = chromium.call("Page.addScriptToEvaluateOnNewDocument", source=written)["identifier"]
    try:
        logged_in(chromium, cluster, "timeline", width=390)
        chromium.until("written.length")
        for text, left, right in chromium.evaluate("written"):
            assert left >= 0, text
            assert right <= 0, text
        chromium.evaluate("document.querySelector('.tile > .muted').textContent = '7,405 of 8,000'")
        tile = "document.querySelector('.tile > .muted')"
        assert chromium.evaluate(f"{tile}.scrollWidth <= {tile}.clientWidth")
    finally:
        chromium.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_every_control_has_a_name(chromium: Browser, cluster: Cluster) -> None:
    nameless = """[...document.querySelectorAll('button, a, select, input, canvas, table')].filter((each) => {
      const label = each.getAttribute('aria-label') || each.textContent.trim() || each.labels?.[0]?.textContent;
      return each.offsetParent !== null && !label;
    }).map((each) => each.outerHTML)"""
    for page in PAGES:
        logged_in(chromium, cluster, page)
        time.sleep(0.4)
        assert chromium.evaluate(nameless) == []


def test_without_login_there_is_no_page(chromium: Browser, cluster: Cluster) -> None:
    chromium.call("Network.clearBrowserCookies")
    origin = cluster.url.partition("/login")[0]
    chromium.visit(origin)
    assert chromium.evaluate("location.pathname") == "/login"
    chromium.evaluate("document.querySelector('#token').value = 'wrong'; document.querySelector('form').submit()")
    chromium.until("location.search === '?wrong=1' && document.querySelector('#wrong')?.hidden === false")
    token = cluster.url.partition("token=")[2]
    chromium.evaluate(
        f"document.querySelector('#token').value = '{token}'; document.querySelector('form').submit()"
    )
    chromium.until("location.pathname === '/' && window.podium && podium.store.ready")
