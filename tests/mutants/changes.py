"""Small changes of behaviour in a module, by its syntax tree.

Each is what somebody might have written by mistake: a comparison that is off at its boundary, a sum that should be
a difference, one more or one less, a condition the other way round, a line that is missing, an answer that is
lost.  Only what stands in functions is changed.  Assertions keep their place: what they say may be wrong, but one
that narrows a type is missed by nobody.  Nor is `strict` of a `zip`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What only people read.
_UNCHANGED = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Mutant:
    """One change.  It is found again by its number among the changes of its module."""

    path: str  # from the root of the repository
    number: int
    line: int
    function: int  # the line on which the function's code begins, as the interpreter counts
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


@dataclass
class _Change:
    statement: ast.stmt
    line: int
    function: int
    put: Callable[[], ast.stmt]  # makes it, and gives back the statement as it is then


def count(source: str) -> int:
    """How many changes a module can have."""
    return sum(1 for _ in _changes(ast.parse(source)))


def statements(source: str) -> list[str]:
    """By the number of a change the first line of what it changes."""
    return [_heading(change.statement) for change in _changes(ast.parse(source))]


def mutant(path: str, source: str, number: int) -> Mutant:
    """One of them."""
    change = _nth(ast.parse(source), number)
    before = _heading(change.statement)
    return Mutant(path, number, change.line, change.function, before, _heading(change.put()))


def compiled(source: str, number: int, filename: str) -> CodeType:
    """A module with one of its changes."""
    tree = ast.parse(source)
    _nth(tree, number).put()
    return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)


def _nth(tree: ast.Module, number: int) -> _Change:
    return list(_changes(tree))[number]


def _heading(statement: ast.stmt) -> str:
    return ast.unparse(statement).splitlines()[0]


def _changes(tree: ast.Module) -> Iterator[_Change]:
    for body in _blocks(tree):
        yield from _in_block(body, 0)


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """The top of the module, and of its classes: functions are looked for in them."""
    yield tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.body


def _in_block(block: list[ast.stmt], function: int) -> Iterator[_Change]:
    for index, statement in enumerate(block):
        if isinstance(statement, _FUNCTIONS):
            if statement.name not in _UNCHANGED and not _is_overload(statement):
                first = min([statement.lineno, *(each.lineno for each in statement.decorator_list)])
                yield from _in_block(statement.body, first)
        elif function and not isinstance(statement, ast.ClassDef):
            yield from _in_statement(block, index, function)


def _in_statement(block: list[ast.stmt], index: int, function: int) -> Iterator[_Change]:
    statement = block[index]

    def change(put: Callable[[], None], line: int = statement.lineno) -> _Change:
        def done() -> ast.stmt:
            put()
            return block[index]

        return _Change(statement, line, function, done)

    if _can_go(statement):
        yield change(lambda: block.__setitem__(index, ast.copy_location(ast.Pass(), statement)))
    if isinstance(statement, ast.Return) and statement.value is not None:
        for value in _other_answers(statement.value):
            yield change(lambda value=value: setattr(statement, "value", value))  # type: ignore[misc]
    if isinstance(statement, ast.AugAssign) and type(statement.op) in _SWAPPED:
        other = _SWAPPED[type(statement.op)]()
        yield change(lambda: setattr(statement, "op", other))
    if isinstance(statement, ast.If | ast.While):
        negated = ast.UnaryOp(ast.Not(), statement.test)
        yield change(lambda: setattr(statement, "test", negated))
    for field, value in ast.iter_fields(statement):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield from _in_block(value, function)
        elif isinstance(value, list) and value and isinstance(value[0], ast.ExceptHandler | ast.match_case):
            for part in value:
                yield from _in_block(part.body, function)
        elif field in ("annotation", "msg", "exc", "cause"):
            continue
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    for put, line in _in_expression(each):
                        yield change(put, line)


def _in_expression(root: ast.AST) -> Iterator[tuple[Callable[[], None], int]]:
    """How an expression may be changed, each with its line."""
    for node in _walk(root):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Compare):
            for index, op in enumerate(node.ops):
                other = _COMPARED[type(op)]()
                yield (lambda ops=node.ops, index=index, other=other: ops.__setitem__(index, other)), line  # type: ignore[misc]
        elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
            yield _setting(node, "op", _SWAPPED[type(node.op)]()), line
        elif isinstance(node, ast.BoolOp):
            yield _setting(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()), line
        elif isinstance(node, ast.IfExp):
            yield _setting(node, "test", ast.UnaryOp(ast.Not(), node.test)), line
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield _setting(node, "operand", ast.UnaryOp(ast.Not(), node.operand)), line
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield _setting(node, "value", not node.value), line
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield _setting(node, "value", node.value + 1), line
            if node.value:
                yield _setting(node, "value", node.value - 1), line
        elif isinstance(node, ast.comprehension):
            for index, test in enumerate(node.ifs):
                negated = ast.UnaryOp(ast.Not(), test)
                put = lambda ifs=node.ifs, index=index, negated=negated: ifs.__setitem__(index, negated)  # noqa: E731
                yield put, test.lineno


def _walk(root: ast.AST) -> Iterator[ast.AST]:
    """All of an expression but what only asserts: that two sequences are of one length."""
    if not (isinstance(root, ast.keyword) and root.arg == "strict"):
        yield root
        for child in ast.iter_child_nodes(root):
            yield from _walk(child)


def _setting(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def _can_go(statement: ast.stmt) -> bool:
    """Whether a statement can be left out: what it does is its effect, and not a name that later lines need."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant | ast.Yield | ast.YieldFrom)
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in statement.targets)
    if isinstance(statement, ast.Return):
        return statement.value is None
    return isinstance(statement, ast.AugAssign | ast.Delete | ast.Continue | ast.Break | ast.Raise)


def _other_answers(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Constant) and isinstance(value.value, bool | None):
        return []  # a constant is changed as one, and None has no other
    return [ast.copy_location(ast.Constant(None), value)]


def _is_overload(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in function.decorator_list)
