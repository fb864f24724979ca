"""Variables and constants say what they hold: none is a pronoun, an adverb, a preposition or a participle."""

import ast
from collections.abc import Iterator

import pytest

from tests.contract.test_names import PACKAGES, is_bare, is_flag, read_modules

QUESTIONS = ("is_", "has_", "can_", "does_", "was_", "are_", "owns_")
# The text of these files is part of the keys of what was built: another name there would build everything again.
KEYED_PACKAGE = "lab/gpustack_lab/bundle"
# Members of `ExitStatus` are the words of docs/exit-codes.md.
OTHER_NAMES = {"_", "__all__", "INTERRUPTED", "FAILED", "LOCKED"}
TRUTHS = {"any", "all", "bool", "isinstance", "startswith", "endswith", "exists", "is_dir", "is_file"}


def is_truth(value: ast.expr | None) -> bool:
    """Tell whether a value is certainly true or false, so that an adjective may name it: `refused = any(…)`."""
    match value:
        case ast.Compare() | ast.Constant(value=bool()) | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(map(is_truth, values))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in TRUTHS or name.startswith(QUESTIONS)
    return False


def list_stored_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """List the line and the name of each variable and constant that may hold something other than a truth."""
    truths: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value) if is_truth(value):
                truths.update(map(id, targets))
            case ast.NamedExpr(target=target, value=value) if is_truth(value):
                truths.add(id(target))
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                if is_flag(annotation) or is_truth(value):
                    truths.add(id(target))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in truths:
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != KEYED_PACKAGE])
def test_no_value_has_a_bare_name(package: str) -> None:
    names = [
        f"{path}:{line} {name}"
        for path, module in read_modules(package)
        for line, name in list_stored_names(module)
        if name not in OTHER_NAMES and is_bare(name)
    ]
    assert names == []


def test_a_bare_name_is_seen_and_a_truth_is_not() -> None:
    code = "for why in x: pass\nlost = any(x)\nfound: bool = f()\nkept, ended = f()\nmatch x:\n  case [*others]: pass"
    assert [name for _, name in list_stored_names(ast.parse(code)) if is_bare(name)] == [
        "why",
        "kept",
        "ended",
        "others",
    ]
