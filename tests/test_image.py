"""The image: the steps of the Dockerfile, carried out here, where there may be nothing that builds images.

Each stage is a directory, and the absolute paths of the steps are below it.  What comes out is started as the
image would be, and its size and start time are printed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCKERFILE = ROOT / "Dockerfile"
# Where the steps put things; everything else that they name is the base image's.
PLACES = ("/src", "/opt/podium")
MOST_MEGABYTES = 200
MOST_SECONDS = 5.0


def steps() -> list[tuple[str, str]]:
    """The instructions, each with its words."""
    text = re.sub(r"\\\n", " ", DOCKERFILE.read_text())
    lines = (line.strip() for line in text.splitlines())
    return [
        (word, rest)
        for line in lines
        if line and not line.startswith("#")
        for word, _, rest in [line.partition(" ")]
    ]


def test_nothing_is_fetched_that_is_not_pinned() -> None:
    installs = [rest for word, rest in steps() if word == "RUN" and " install " in rest]
    assert len(installs) == 2
    assert all("--require-hashes" in each or "--no-deps --no-build-isolation" in each for each in installs)


def test_it_runs_as_nobody() -> None:
    assert ("USER", "65532:65532") in steps()
    assert steps()[-1] == ("ENTRYPOINT", '["podium"]')


def test_no_registry_is_named() -> None:
    """Base and repository are variables."""
    sources = [rest for word, rest in steps() if word == "FROM"]
    assert {each.split()[0] for each in sources} == {"${BASE}"}
    base = next(rest for word, rest in steps() if word == "ARG")
    assert "." not in base.partition("=")[2].split("/")[0].split(":")[0]


def test_only_what_is_copied_is_sent() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name
        for word, rest in steps()
        if word == "COPY" and not rest.startswith("--from")
        for name in rest.split()[:-1]
    }
    assert allowed == copied


@pytest.mark.timeout(300)
def test_the_steps_give_a_podium_that_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    root = tmp_path / "image"
    here = root / "src"

    def moved(text: str) -> str:
        for place in PLACES:
            text = re.sub(rf"(?<![\w/]){place}\b", f"{root}{place}", text)
        return text

    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {key: os.environ[key] for key in os.environ if key.startswith(("PIP_", "SSL_", "http"))}
    for word, rest in steps():
        if word == "WORKDIR" and rest in PLACES:
            here = Path(moved(rest))
            here.mkdir(parents=True, exist_ok=True)
        elif word == "RUN":
            command = moved(rest).replace("python3 ", f"{shlex.quote(sys.executable)} ", 1)
            done = subprocess.run(command, shell=True, cwd=here, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{rest}:\n{done.stdout}{done.stderr}"
        elif word == "COPY" and not rest.startswith("--from"):
            *names, to = rest.split()
            for name in names:
                source, target = ROOT / name, here / to / ("" if to != "./" else name)
                if source.is_dir():
                    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(source, target)
    built = time.monotonic() - began
    shutil.rmtree(root / "src")  # the second stage has what --from=build names, and nothing else
    podium = root / "opt" / "podium"
    megabytes = sum(file.stat().st_size for file in podium.rglob("*") if file.is_file()) / 1e6
    clean = {"PATH": f"{podium}/bin:/usr/bin:/bin", "HOME": "/nonexistent"}
    seconds = []
    for _ in range(3):
        began = time.monotonic()
        done = subprocess.run(["podium", "version"], env=clean, cwd=tmp_path, capture_output=True, text=True)
        seconds.append(time.monotonic() - began)
        assert done.returncode == 0, done.stderr
    helped = subprocess.run(["podium", "crds"], env=clean, cwd=tmp_path, capture_output=True, text=True)
    assert "CustomResourceDefinition" in helped.stdout, helped.stderr
    assert not list(podium.glob("lib/*/site-packages/hatchling"))
    with capsys.disabled():
        print(
            f"\nimage: {megabytes:.0f} MB on its base, built in {built:.0f} s, "
            f"`podium version` starts and ends in {min(seconds) * 1000:.0f} ms",
            end="",
        )
    assert megabytes < MOST_MEGABYTES
    assert min(seconds) < MOST_SECONDS
