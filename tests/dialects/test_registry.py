"""A dialect is one record and one line: everything that podium does for it is found from there."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

import podium.dialects
from podium.cli.dialects import chosen_dialects, objects
from podium.cli.progress import describe
from podium.core.framework.arguments import Argument, Arguments
from podium.dialects import authoring, built_in_profiles, speaking, unnamed_profile
from podium.dialects.dialect import BuiltInProfile, Dialect, Document, Progress, Setting, State
from podium.dialects.kubernetes.membership import Marks, Membership
from podium.dialects.volcano.podgroup_controller import PodGroupController
from podium.dialects.workloads import Rng, Workload, pod
from podium.errors import UsageError
from podium.kube.cache import Cache
from podium.kube.resources import NAMESPACES, PODS, Resource
from podium.kube.wire import Metadata, Object, OwnerReference, Pod, PodSpec
from podium.runtime.configuration import default_profiles, read_profiles
from podium.schema.crd import Definition
from podium.sim.histories import population
from podium.sim.rng import Rng as Dice
from podium.sim.snapshot import scheduler_names

THINGS = Resource("example.com", "v1", "things", "Thing")
GROUP = "example.com/group"


class Thing(Object):
    """A kind of the toy dialect."""


def _memberships(pod: Pod) -> tuple[Membership, ...]:
    name = pod.annotations.get(GROUP)
    return (Membership(f"toy/{name}", f"{pod.namespace}/{name}", f"Thing {name}"),) if name else ()


def _configure(document: Document, options: Arguments) -> Document:
    if options.text("mode") not in ("some", "all"):
        raise UsageError(f"mode: want some or all, got {options.text('mode')!r}")
    return document | {"quotaGate": options.text("mode") == "all"}


def _progress(document: Document, phases: Mapping[str, int]) -> Progress:
    return Progress(State.FAILED, f"{phases['Running']} run")


def _some(rng: Rng, name: str) -> list[Document]:
    ask = rng.ask()
    return [pod(name, ask, **ask.naming)]


def toy(setting: Setting) -> Dialect:
    return Dialect(
        name="toy",
        marks=Marks(_memberships),
        definitions=(Definition(THINGS, Thing),),
        objects=({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": setting.default_queue}},),
        profiles={
            "toy-scheduler": BuiltInProfile(
                'actions: "allocate"\ntiers: [{plugins: [{name: predicates}]}]',
                (Argument("mode", "some", "which ones"),),
                _configure,
            )
        },
        workloads={"thing": Workload(_some, gang=True)},
        surroundings=({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "round"}},),
        progress={THINGS: _progress},
    )


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line."""
    monkeypatch.setattr(podium.dialects, "REGISTERED", (*podium.dialects.REGISTERED, toy))


def test_commands_and_servers_know_it() -> None:
    assert [each.name for each in chosen_dialects("toy")] == ["toy"]
    kinds = {document["kind"] for document in objects()}
    assert "Thing" in kinds
    assert any(document["metadata"]["name"] == "things.example.com" for document in objects())
    found = describe(THINGS, "thing/a", {}, Counter(Running=3))
    assert (found.state, found.message) == (State.FAILED, "3 run")


def test_where_it_is_spoken_is_told_to_it() -> None:
    (mine,) = (each for each in speaking("other", ("beside",)) if each.name == "toy")
    assert mine.objects[0]["metadata"]["name"] == "other"


def test_its_profile_is_there_and_jobs_wait_for_its_scheduler() -> None:
    assert {"toy-scheduler", "podium", "volcano"} < built_in_profiles().keys()
    profile = default_profiles()["toy-scheduler"]
    assert ([each.name for each in profile.actions], profile.quota_gate) == (["allocate"], False)
    assert "toy-scheduler" in scheduler_names()
    assert unnamed_profile() == "volcano"


def test_options_stand_beside_actions_and_what_is_left_out_stays() -> None:
    profile = read_profiles("profiles: {toy-scheduler: {mode: all}}", "the file")["toy-scheduler"]
    assert ([each.name for each in profile.actions], profile.quota_gate) == (["allocate"], True)
    assert len(profile.tiers) == 1
    text = "profiles: {toy-scheduler: {actions: 'allocate, backfill'}, podium: {tiers: []}}"
    profiles = read_profiles(text, "the file")
    assert [each.name for each in profiles["toy-scheduler"].actions] == ["allocate", "backfill"]
    assert len(profiles["toy-scheduler"].tiers) == 1
    assert (len(profiles["podium"].actions), profiles["podium"].tiers) == (5, ())


def test_an_option_that_makes_no_sense_is_told_with_its_place() -> None:
    with pytest.raises(UsageError) as caught:
        read_profiles("profiles: {toy-scheduler: {mode: none}}", "the file")
    assert str(caught.value) == "the file: profiles.toy-scheduler.mode: want some or all, got 'none'"


def test_its_workloads_live_in_histories() -> None:
    registered = [name for each in speaking() for name in each.workloads]
    assert list(population.workloads()) == ["pod", *registered, "job"]
    assert registered[-1] == "thing"
    assert population.surroundings()[-1]["metadata"]["name"] == "round"
    made = population.some_workloads(Dice(3), 40)
    mine = [documents[0] for documents in made if documents[0]["metadata"]["name"].startswith("thing-")]
    assert mine
    queues = {each["metadata"]["annotations"][next(iter(authoring().naming("")))] for each in mine}
    assert queues <= {"default", "research", "limited"}
    gangs = population.some_workloads(Dice(3), 40, gangs=True)
    assert {documents[0]["metadata"]["name"].partition("-")[0] for documents in gangs} <= set(registered)


@pytest.mark.parametrize("marked", [False, True])
def test_whom_it_groups_nobody_else_does(marked: bool) -> None:
    """A controller that groups pods leaves those alone which name a group, in whatever dialect."""
    (found,) = (make() for each in speaking() for make in each.controllers if _groups(make))
    assert isinstance(found, PodGroupController)
    cache = Cache()
    for resource in (*found.watches, NAMESPACES):
        cache.set_synced(resource)
    owner = OwnerReference("Thing", "web", "uid-web", "example.com/v1", controller=True)
    marks = {GROUP: "g"} if marked else {}
    metadata = Metadata("web-1", "default", "uid-1", "1", owner_references=[owner], annotations=marks)
    cache.apply(PODS, Pod(metadata, spec=PodSpec(scheduler_name="volcano")))
    changes = found.reconcile(("default", "owner/uid-web"), cache, 0.0).changes
    assert bool(changes) is not marked


def _groups(make: object) -> bool:
    return getattr(make, "func", None) is PodGroupController


def test_examples_of_the_tour_are_there() -> None:
    examples = Path(__file__).parents[2] / "examples"
    for each in speaking():
        if each.tour:
            assert list((examples / each.name).glob(each.tour))
