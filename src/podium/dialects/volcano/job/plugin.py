"""Job plugins: what a Job's `spec.plugins` can ask for, such as host files, keys or variables.

A plugin is made anew for each look at a Job, with the Job as it is then (all defaults filled in) and its arguments
as the Job gives them.  It says two things, without IO, clock or dice:

    objects   which objects the Job needs beside its pods
    on_pod    what a new pod gets

The controller does the rest: it adds namespace and owner to the objects, makes them before the first pod, keeps
Services, ConfigMaps and NetworkPolicies as the plugin says (so a plugin's answer may change with the Job's scale),
deletes those when the Job is over, and records `plugin-<name>` in the Job's status.  An object of any other kind
is made once and stays until the Job is deleted.  Key pairs are made by whoever carries the change out: see
`WithKeys`.

A user's plugin is a class derived from `JobPlugin`, named by an entry point:

    [project.entry-points."podium.jobplugins"]
    licence = "my_package.licence:Licence"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from podium.dialects.volcano.job.types import Job, TaskSpec

Document = dict[str, Any]


_KINDS: dict[type, str] = {str: "text", int: "whole number", bool: "true or false"}


class Flag(msgspec.Struct, frozen=True):
    """An argument of a plugin.  The default gives its type; texts that are no such value count as not given."""

    name: str
    default: str | int | bool
    about: str


class Flags:
    """Arguments as Volcano's plugins take them: `--name=value`, `-name=value`, `--name value`, `--switch`."""

    def __init__(self, arguments: Sequence[str], declared: Sequence[Flag]) -> None:
        self._values: dict[str, str | int | bool] = {flag.name: flag.default for flag in declared}
        self.complaints: list[str] = []  # arguments without effect, each with why
        left = iter(arguments)
        for argument in left:
            self._take(argument, left)

    def _take(self, argument: str, left: Iterator[str]) -> None:
        name, has_value, text = argument.lstrip("-").partition("=")
        default = self._values.get(name)
        if not argument.startswith("-") or default is None:
            self.complaints.append(f"{argument}: no such argument; known are {', '.join(sorted(self._values))}")
            return
        if not has_value:
            text = "true" if isinstance(default, bool) else next(left, "")
        value = _read(text, default)
        if value is None:
            self.complaints.append(f"{argument}: {text!r} is no {_KINDS[type(default)]}")
        else:
            self._values[name] = value

    def text(self, name: str) -> str:
        return str(self._values[name])

    def integer(self, name: str) -> int:
        return int(self._values[name])

    def switch(self, name: str) -> bool:
        return bool(self._values[name])


def _read(text: str, default: str | int | bool) -> str | int | bool | None:
    """A text as a value of the default's type; None when it is none."""
    if isinstance(default, bool):
        return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(text.lower())
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            return None
    return text


class WithKeys(msgspec.Struct, frozen=True):
    """A Secret to be made with a fresh RSA key pair in it.

    `private` and each of `public` are keys of the Secret's data; what the document has under `data` or
    `stringData` stays beside them.
    """

    document: Document
    private: str = "id_rsa"
    public: tuple[str, ...] = ("id_rsa.pub", "authorized_keys")


Wanted = Document | WithKeys


class JobPlugin:
    """The base of all job plugins: does nothing.  Derived classes give a name and override what they need."""

    name: ClassVar[str] = ""
    FLAGS: ClassVar[tuple[Flag, ...]] = ()

    def __init__(self, arguments: Sequence[str], job: Job) -> None:
        self.job = job
        self.flags = Flags(arguments, self.FLAGS)

    def problems(self) -> list[str]:
        """Why the Job cannot have this plugin as it is, each as a sentence: it is then refused."""
        return []

    def objects(self) -> list[Wanted]:
        """What the Job needs beside its pods: whole documents with apiVersion, kind and metadata.name."""
        return []

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        """Changes a pod that is about to be made, in place.  All that Volcano writes is there already."""


def containers(pod: Document, *, init: bool = True) -> Iterator[Document]:
    """The containers of a pod, those that run first included."""
    spec = pod["spec"]
    yield from spec.get("containers") or ()
    if init:
        yield from spec.get("initContainers") or ()


def add_variable(container: Document, variable: Document) -> None:
    """Adds an environment variable, unless the container has set it itself."""
    known = container.setdefault("env", [])
    if all(each.get("name") != variable["name"] for each in known):
        known.append(variable)
