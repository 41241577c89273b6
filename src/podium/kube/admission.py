"""What an API family has to say about writes to its own kinds, beyond what a schema can.

The functions are pure: the document, the one it replaces, and a look at what else is stored go in; complaints come
out.  Who calls them is somebody else's matter: the embedded server as a part of each write, or a webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from podium.kube.fields import FieldError
from podium.kube.resources import Resource

Document = dict[str, Any]


Facet = Callable[[Document], Iterable[str]]  # what is said of a document, by which it can be asked for


class Surroundings(Protocol):
    """What else is stored, as whole documents.  They are the caller's own: nobody may change them.

    A write must not cost more because there is much else: those who want a few of many ask for them by `having`.
    """

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None: ...

    def all(self, resource: Resource) -> Iterable[Document]: ...

    def having(self, resource: Resource, facet: Facet, value: str) -> Iterable[Document]:
        """Those of which a function says this value, by name.  It is known by its identity: not a lambda."""
        ...


def having(documents: Iterable[Document], facet: Facet, value: str) -> list[Document]:
    """The same for whoever has a list only."""
    found = [each for each in documents if value in facet(each)]
    return sorted(found, key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))


class Hook(msgspec.Struct, frozen=True):
    """What is done with writes to one kind: fill in (in place), complain, and say why an object must not go.

    The first two get the new document and the old one (None at creation).  `looks_at` are the resources that they
    ask their surroundings about.  `new_only` says that they have nothing to say about changes, and `condition`
    (CEL) which objects they are about at all, for servers that can find out before they ask.
    """

    resource: Resource
    mutate: Callable[[Document, Document | None, Surroundings], None] | None = None
    validate: Callable[[Document, Document | None, Surroundings], list[FieldError]] | None = None
    keep: Callable[[Document, Surroundings], str | None] | None = None
    looks_at: tuple[Resource, ...] = ()
    new_only: bool = False
    condition: str = ""
