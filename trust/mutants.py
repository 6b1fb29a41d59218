"""Small faults put into a module, one at a time, by changing its syntax tree."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants"]

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
    """A module with one fault: the line, what stood there and what stands there now, and the whole tree.

    `lines` are those of the statement, or of its head, if there are statements in it. `inside` says that the fault is
    in the body of a function, and not in what is run once, when the module is imported. The `key` stays the same as
    long as the function does, or the statement, if it is in none.
    """

    key: str
    line: int
    before: str
    after: str
    tree: ast.Module
    lines: range
    inside: bool


def mutants(source: str) -> Iterator[Mutant]:
    """Give all mutants of a module, in the order of its lines."""
    tree = ast.parse(source)
    skipped, seen = not_run(tree), Counter[str]()
    for place, original in enumerate(ast.walk(tree)):
        for choice in range(2):
            if id(original) in skipped or not mutate(copy.copy(original), choice):
                continue
            changed = copy.deepcopy(tree)
            nodes = list(ast.walk(changed))
            parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
            statement, function = place_of(nodes[place], parents)
            whole, before, lines = ast.unparse(function or statement), ast.unparse(statement), lines_of(statement)
            mutate(nodes[place], choice)
            ast.fix_missing_locations(changed)
            before, after = first_difference(before, ast.unparse(statement))
            text = f"{whole}\n{before}\n{after}"
            seen[text] += 1
            key = hashlib.sha256(f"{text}\n{seen[text]}".encode()).hexdigest()[:16]
            yield Mutant(key, getattr(original, "lineno", 0), before, after, changed, lines, function is not None)


def not_run(tree: ast.Module) -> set[int]:
    """Find what says nothing at run time: annotations, docstrings, ``__all__`` and messages of errors."""
    found: set[int] = set()
    for node in ast.walk(tree):
        dull: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            dull.append(node.annotation)
        if isinstance(node, ast.FunctionDef):
            dull.append(node.returns)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            dull.append(node)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            dull.append(node)
        if isinstance(node, ast.JoinedStr):
            dull.append(node)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            dull.append(node)
        found |= {id(part) for each in dull if each is not None for part in ast.walk(each)}
    return found


def place_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> tuple[ast.stmt, ast.FunctionDef | None]:
    """Find the statement that a node is in, and the function in whose body that is, if there is one."""
    while not isinstance(node, ast.stmt):
        node = parents[node]
    statement: ast.stmt = node
    while (above := parents.get(node)) and not isinstance(above, ast.FunctionDef):
        node = above
    return statement, above if isinstance(above, ast.FunctionDef) and node in above.body else None


def lines_of(statement: ast.stmt) -> range:
    """Give the lines of a statement without those of the statements in it."""
    below: list[ast.stmt] = getattr(statement, "body", [])
    end = below[0].lineno - 1 if below else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(end, statement.lineno) + 1)


def first_difference(before: str, after: str) -> tuple[str, str]:
    """Give the first line that is not the same."""
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((old.strip(), new.strip()) for old, new in lines if old != new)


def mutate(node: ast.AST, choice: int) -> bool:
    """Put the fault of that number into a node; say whether it has one."""
    if choice == 0:
        return mutate_expression(node)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return True
    return False


def mutate_expression(node: ast.AST) -> bool:
    """Exchange an operator, a constant or a function for another, or leave a statement out."""
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
