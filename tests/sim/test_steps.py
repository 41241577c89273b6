"""A scenario ends the same in the simulator and on an embedded cluster: pod by pod, node by node, step by step."""

from __future__ import annotations

import asyncio

import pytest

from tests.sim.steps import Picture, Scenario, check, play_embedded, play_virtually, scenarios

ALL = {each.name: each for each in scenarios()}
_AT_ONCE = 18


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Picture] | BaseException]:
    """All scenarios on embedded clusters, some at a time: most of their time they wait."""
    directory = tmp_path_factory.mktemp("configurations")

    async def play_all() -> dict[str, list[Picture] | BaseException]:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(scenario: Scenario) -> list[Picture]:
            async with gate:
                return await play_embedded(scenario, directory)

        played = await asyncio.gather(*map(one, ALL.values()), return_exceptions=True)
        return dict(zip(ALL, played, strict=True))

    return asyncio.run(play_all())


def test_there_are_scenarios_of_every_kind() -> None:
    assert len(ALL) >= 30
    known = [each for each in ALL.values() if any(s.expect or s.placed or s.gone or s.bound for s in each.steps)]
    assert len(known) >= len(ALL) / 3


@pytest.mark.parametrize("name", ALL)
def test_both_end_the_same(name: str, embedded: dict[str, list[Picture] | BaseException]) -> None:
    scenario = ALL[name]
    virtual = play_virtually(scenario)
    for step, picture in zip(scenario.steps, virtual, strict=True):
        check(step, picture)
    found = embedded[name]
    if isinstance(found, BaseException):
        raise found
    assert found == virtual


@pytest.mark.parametrize("name", list(ALL)[::6])
def test_the_same_again_gives_the_same(name: str) -> None:
    assert play_virtually(ALL[name]) == play_virtually(ALL[name])
