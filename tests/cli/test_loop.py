"""What a process that runs for long asks of the interpreter."""

from __future__ import annotations

import gc

from podium.cli.loop import collect_rarely

MOST = 40_000  # objects that one look may be at: it stops everybody, and should be shorter than a portion of work


def test_no_look_of_the_collector_is_at_many_objects() -> None:
    before, sizes, kept = gc.get_threshold(), list[int](), []

    def looked(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            sizes.append(sum(len(gc.get_objects(generation)) for generation in range(info["generation"] + 1)))

    collect_rarely()
    gc.callbacks.append(looked)
    try:
        for number in range(150_000):
            kept.append([number])  # what stays is looked at again in an older generation
    finally:
        gc.callbacks.remove(looked)
        gc.set_threshold(*before)
        gc.unfreeze()
    assert len(sizes) > 20
    assert max(sizes) < MOST
