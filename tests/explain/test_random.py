"""Two hundred clusters in which something is stuck: what is proposed unblocks it, and nothing smaller does."""

from __future__ import annotations

import pytest

from podium.explain.goal import try_out
from podium.explain.search import Search
from tests.explain.random_clusters import draw, goal_of, helps, smaller

SEEDS = 200
PORTIONS = 10


def stuck(portion: int, of: int) -> list[int]:
    """The seeds of a portion that are stuck: a cluster may happen to have room all the same."""
    found: list[int] = []
    seed = portion
    while len(found) < SEEDS // of:
        objects, _ = draw(seed)
        model = objects.model()
        if not try_out(model, goal_of(model)).reached:
            found.append(seed)
        seed += of
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("portion", range(PORTIONS))
def test_what_is_proposed_unblocks_it_and_nothing_smaller_does(portion: int) -> None:
    for seed in stuck(portion, PORTIONS):
        objects, causes = draw(seed)
        model = objects.model()
        goal = goal_of(model)
        outcome = try_out(model, goal)
        remedies = Search(model, goal).remedies(outcome)
        model.cluster.validate()
        assert remedies, f"seed {seed} ({', '.join(causes)}): nothing is proposed against {outcome.refusals}"
        assert try_out(model, goal) == outcome, f"seed {seed}: the model is not as it was"
        for remedy in remedies:
            whole = [change for step in remedy.steps for change in step.changes]
            assert helps(objects, goal, whole), f"seed {seed} ({', '.join(causes)}): {remedy.sentence}"
            for less in smaller(objects, remedy):
                assert not helps(objects, goal, less), (
                    f"seed {seed} ({', '.join(causes)}): {remedy.sentence}; {less} would do"
                )
