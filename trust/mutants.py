"""Small faults put into a module, one at a time, by changing its syntax tree."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product, takewhile

__all__ = ["Mutant", "around", "mutants"]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
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
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "argmax": "argmin",
    "maximum": "minimum",
    "zeros": "ones",
}


@dataclass(frozen=True)
class Mutant:
    """A module with one fault: where it is, what stood there, and what stands there now.

    `lines` are those of the statement, or of its head if there are statements in it. `function` tells whether the fault
    is in the body of a function; otherwise it is in a constant of the module. The `key` stays the same as long as the
    function does, or the constant.
    """

    key: str
    line: int
    before: str
    after: str
    lines: range
    function: bool
    build: Callable[[], ast.Module] = field(repr=False, compare=False)

    @property
    def tree(self) -> ast.Module:
        """The whole module with the fault, built when it is asked for."""
        return self.build()


def mutants(source: str) -> Iterator[Mutant]:
    """Return all mutants of a module's functions and constants, in the order of its statements."""
    tree = ast.parse(source)
    skipped, seen, unparse = without_effect(tree), Counter[str](), cache(ast.unparse)
    for index, top in enumerate(tree.body):
        nodes = list(ast.walk(top))
        places = {node: place for place, node in enumerate(nodes)}
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        for original, negate in product(nodes, (False, True)):
            if id(original) in skipped or not mutate(copy.copy(original), negate):
                continue
            statement, function = place_of(original, parents)
            if function is None and not (statement is top and isinstance(top, ast.Assign | ast.AnnAssign)):
                continue
            whole, unchanged = ast.unparse(statement), dict(vars(original))
            mutate(original, negate)
            before, after = first_difference(whole, ast.unparse(statement))
            vars(original).update(unchanged)
            if before == after:  # as 1e38 + 1
                continue
            text = f"{unparse(function) if function else whole}\n{before}\n{after}"
            seen[text] += 1
            key = hashlib.sha256(f"{text}\n{seen[text]}".encode()).hexdigest()[:16]
            line, lines = getattr(original, "lineno", 0), lines_of(statement)
            build = partial(with_fault, tree, index, places[original], negate)
            yield Mutant(key, line, before, after, lines, function is not None, build)


def with_fault(tree: ast.Module, index: int, place: int, negate: bool) -> ast.Module:
    """Return a module with a fault in one node of one of its statements; the rest is shared."""
    changed = copy.deepcopy(tree.body[index])
    mutate(list(ast.walk(changed))[place], negate)
    ast.fix_missing_locations(changed)
    return ast.Module([*tree.body[:index], changed, *tree.body[index + 1 :]], [])


def without_effect(tree: ast.Module) -> set[int]:
    """Find what changes no result: annotations, docstrings, ``__all__``, messages, and `strict` of `zip`, a check."""
    found: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.arg(annotation=part) | ast.AnnAssign(annotation=part) | ast.FunctionDef(returns=part):
                skipped: ast.AST | None = part
            case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]) | ast.JoinedStr():
                skipped = node
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                skipped = node
            case ast.keyword(arg="strict"):
                skipped = node
            case _:
                continue
        found |= {id(part) for part in ast.walk(skipped)} if skipped else set()
    return found


def place_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> tuple[ast.stmt, ast.FunctionDef | None]:
    """Return the statement that a node is in, and the function whose body that is in, if there is one."""
    while not isinstance(node, ast.stmt):
        node = parents[node]
    statement: ast.stmt = node
    while (above := parents.get(node)) and not isinstance(above, ast.FunctionDef):
        node = above
    return statement, above if isinstance(above, ast.FunctionDef) and node in above.body else None


def lines_of(statement: ast.stmt) -> range:
    """Return the lines of a statement without those of the statements in it."""
    below: list[ast.stmt] = getattr(statement, "body", [])
    end = below[0].lineno - 1 if below else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(end, statement.lineno) + 1)


def first_difference(before: str, after: str) -> tuple[str, str]:
    """Return the first lines that differ."""
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    return next(((old.strip(), new.strip()) for old, new in lines if old != new), (before, before))


def mutate(node: ast.AST, negate: bool) -> bool:
    """Put a fault into a node, if it can have one: negate its condition, or exchange the node; tell whether it did."""
    if not negate:
        return exchange_node(node)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return True
    return False


def exchange_node(node: ast.AST) -> bool:
    """Exchange an operator, a constant or a function for another, or leave a result out."""
    match node:
        case ast.Compare():
            node.ops = [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in OPERATORS:
            node.op = OPERATORS[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            node.operand = ast.UnaryOp(type(node.op)(), node.operand)  # twice is not at all
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int() | float() as number):
            node.value = number + 1
        case ast.Name(id=name) if name in NAMES:
            node.id = NAMES[name]
        case ast.Attribute(attr=name) if name in NAMES:
            node.attr = NAMES[name]
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            node.value = ast.Constant(None)
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.Constant(False)
        case _:
            return False
    return True


def around(before: str, after: str, context: int = 30) -> tuple[str, str]:
    """Shorten two lines to where they differ, and a little before and after that."""
    start = same_length(before, after)
    same = same_length(before[start:][::-1], after[start:][::-1])
    first = start - context if start > context + 10 else 0

    def part(line: str) -> str:
        last = len(line) - same + context if same > context + 10 else len(line)
        return "…" * (first > 0) + line[first:last] + "…" * (last < len(line))

    return part(before), part(after)


def same_length(one: str, other: str) -> int:
    """Return the length of the part that is the same at the start."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
