"""The machinery that puts mistakes into the code: what it changes, whom it asks, and that it touches no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants import __main__ as command
from tests.mutants import covering, trying
from tests.mutants.changes import compiled, count, mutant, statements
from tests.mutants.covering import Cover, Covered, in_turn
from tests.mutants.trying import Try, try_all

SOURCE = '''
LIMIT = 3

class Box:
    def add(self, amount: int, more: int = 1) -> bool:
        """Adds something."""
        assert amount >= 0, "want a number"
        if amount > LIMIT and not self.full:
            return False
        self.held += amount - 1
        for each in [x for x in range(amount) if x]:
            self.note(each)
        return self.held == more or None

    def __repr__(self) -> str:
        return "Box" + str(1)
'''


def changes(source: str) -> set[str]:
    found = [mutant("box.py", source, number) for number in range(count(source))]
    return {f"{each.line}: {each.after}" for each in found}


def test_what_is_changed() -> None:
    assert changes(SOURCE) == {
        "7: assert amount > 0, 'want a number'",
        "7: assert amount >= 1, 'want a number'",
        "8: if not (amount > LIMIT and (not self.full)):",
        "8: if amount > LIMIT or not self.full:",
        "8: if amount >= LIMIT and (not self.full):",
        "8: if amount > LIMIT and (not not self.full):",
        "9: return True",
        "10: pass",
        "10: self.held -= amount - 1",
        "10: self.held += amount + 1",
        "10: self.held += amount - 2",
        "10: self.held += amount - 0",
        "11: for each in [x for x in range(amount) if not x]:",
        "12: pass",
        "13: return None",
        "13: return self.held == more and None",
        "13: return self.held != more or None",
    }


def test_each_change_is_the_only_one_and_can_be_run() -> None:
    source = "def f(a, b):\n    return a + b\n"
    results = set()
    for number in range(count(source)):
        names: dict[str, object] = {}
        exec(compiled(source, number, "f.py"), names)
        results.add(names["f"](5, 3))  # type: ignore[operator]
    assert results == {2, None}
    assert mutant("f.py", source, 0).function == 1


def test_a_decorated_function_begins_where_the_interpreter_says() -> None:
    source = "@property\ndef f(a):\n    return a > 1\n"
    assert mutant("f.py", source, 0).function == 1
    assert mutant("f.py", source, 0).line == 3


def test_every_module_of_every_room_can_be_changed() -> None:
    for room in command.ROOMS.values():
        assert room.test_files()
        for each in command.drawn(room, 8, seed=5):
            source = (covering.ROOT / each.path).read_text()
            compiled(source, each.number, each.path)
            assert each.before != each.after


def test_a_seed_draws_the_same_ones() -> None:
    room = command.ROOMS["kube"]
    assert command.drawn(room, 5, 1) == command.drawn(room, 5, 1) != command.drawn(room, 5, 2)


def test_what_is_said_to_be_equivalent_is_still_there() -> None:
    """What somebody has looked at once is looked at again when the line changes."""
    by_path: dict[str, set[tuple[str, str]]] = {}
    for path, before, after in command.equivalent():
        by_path.setdefault(path, set()).add((before, after))
    for path, known in by_path.items():
        source = (covering.ROOT / path).read_text()
        lines = {before for before, _ in known}
        found = (number for number, line in enumerate(statements(source)) if line in lines)
        every = (mutant(path, source, number) for number in found)
        assert known <= {(each.before, each.after) for each in every}, path


# --- who is asked ------------------------------------------------------------------------------------------------


def test_the_quick_ones_first_and_one_of_each_function() -> None:
    tests = [
        Covered("a::slow", 5.0, ["f:1"]),
        Covered("a::t[2]", 0.2, ["f:1"]),
        Covered("a::t[1]", 0.1, ["f:1"]),
        Covered("b::u", 0.3, ["f:1"]),
        Covered("b::other", 0.1, []),
    ]
    cover = Cover(in_turn(tests), {"tables:1"})
    assert cover.of("f:1", 100.0) == ["a::t[1]", "b::u", "a::t[2]", "a::slow"]
    assert cover.of("f:1", 1.0) == ["a::t[1]", "b::u", "a::t[2]"]
    assert cover.of("unknown:1", 1.0) == []
    assert len(cover.of("tables:1", 100.0)) == 5


def test_a_mistake_is_noticed_by_a_test_that_looks_and_by_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In processes of their own, with files that stay as they are."""
    module = tmp_path / "subject_of_mutation.py"
    module.write_text("def larger(a, b):\n    return a > b\n")
    (tmp_path / "test_it.py").write_text(
        "import subject_of_mutation as s\n"
        "def test_far(): assert s.larger(2, 1) and not s.larger(1, 2)\n"
        "def test_near(): assert not s.larger(1, 1)\n"
        "def test_nothing(): pass\n"
    )
    for place in (covering, trying):
        monkeypatch.setattr(place, "ROOT", tmp_path)
    monkeypatch.setattr(covering, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(trying, "OPTIONS", [*covering.OPTIONS, f"--rootdir={tmp_path}"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    near = next(
        each
        for number in range(count(module.read_text()))
        if ">=" in (each := mutant(module.name, module.read_text(), number)).after
    )
    tries = [
        Try(near, ["test_it.py::test_nothing"], 60.0),
        Try(near, ["test_it.py::test_far"], 60.0),
        Try(near, ["test_it.py::test_far", "test_it.py::test_near"], 60.0),
        Try(near, [], 60.0),
    ]
    list(try_all(tries, 2))
    assert [each.survived for each in tries] == [True, True, False, True]
    assert module.read_text() == "def larger(a, b):\n    return a > b\n"


def test_a_room_without_its_modules_is_an_error() -> None:
    """A module that was renamed would drop out of the draw without a word."""
    with pytest.raises(SystemExit, match=r"no module is called core/gone\.py"):
        command.Room(1, "core", "core/model/*.py", "core/gone.py").sources()
    for room in command.ROOMS.values():
        assert room.sources()
