"""I20 of the histories: a write that nobody declared is found."""

from __future__ import annotations

import pytest

from podium.dialects import speaking
from podium.kube.changes import Create, Delete
from podium.kube.controller import Ticket
from podium.kube.resources import NODES, PODS
from podium.runtime.configuration import default_profiles
from podium.sim.histories.rights import Rights
from podium.sim.histories.stage import CONTROLLERS, SCHEDULER, Stage, Violation
from podium.sim.histories.wire import Call


@pytest.fixture
def rights() -> Rights:
    return Rights(Stage(1, default_profiles(), speaking()))


def test_what_is_declared_is_allowed(rights: Rights) -> None:
    bind = Create(PODS, "ns", {}, name="p", subresource="binding")
    rights.sent(Call(SCHEDULER, 1, Ticket("bind", ("ns", "p"), bind), 0.0))


def test_what_nobody_declares_breaks_the_rule(rights: Rights) -> None:
    gone = Ticket("bind", ("", "n"), Delete(NODES, "", "n"))
    with pytest.raises(Violation, match=r"I20.*scheduler \(bind\) wants to delete nodes of core"):
        rights.sent(Call(SCHEDULER, 1, gone, 0.0))


def test_the_clusters_own_controllers_have_rights_of_their_own(rights: Rights) -> None:
    gone = Ticket("node lifecycle", ("", "n"), Delete(NODES, "", "n"))
    rights.sent(Call(CONTROLLERS, 1, gone, 0.0))
