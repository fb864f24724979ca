"""Names say what a thing is or does, in the words that CONTRIBUTING.md lists: one search finds a thing."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from typer.main import get_command

from gpustack.cli.app import app
from gpustack.doctor.catalogue import load_layers
from gpustack.doctor.checks import CHECKS
from gpustack.steps import STEPS
from tests.contract.sources import PRODUCT, ROOT, list_packages, list_sources

PACKAGES = [*(str(path.relative_to(ROOT)) for path in list_packages()), "scripts"]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
LAST_WORD = re.compile(r"[a-z]+$")
# Not participles, although they end as some do.
NOUNS = {"need", "speed", "seed", "feed", "token", "screen", "hundred", "children", "expected"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def read_words(title: str) -> frozenset[str]:
    """Read the words of a list in CONTRIBUTING.md."""
    block = re.search(rf"^\*\*{title}\*\*.*?:\n\n```text\n(.*?)```", GUIDE, re.MULTILINE | re.DOTALL)
    assert block, title
    return frozenset(block.group(1).split())


def is_participle(word: str) -> bool:
    regular = len(word) > 3 and word.endswith(("ed", "en")) and word not in NOUNS | read_words("Verbs")
    return regular or word in read_words("Irregular participles")


def is_bare(name: str) -> bool:
    """Tell whether a name is a pronoun, an adverb, a preposition or a participle without the noun that it is about."""
    word = name.strip("_").lower()
    if name in read_words("Names that others give"):
        return False
    return word in read_words("No names") or ("_" not in word and is_participle(word))


def has_verb_first(name: str) -> bool:
    word = name.lstrip("_").partition("_")[0]
    return word in read_words("Verbs") | read_words("Questions") or name in read_words("Names that others give")


def read_modules(package: str) -> Iterator[tuple[str, ast.Module]]:
    place = ROOT / package
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def list_parameters(function: Definition) -> Iterator[ast.arg]:
    arguments = function.args
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument)


def is_flag(annotation: ast.expr | None) -> bool:
    """Tell whether a name is of a truth, which may be an adjective: `quiet`, `enabled`."""
    return annotation is not None and "bool" in ast.unparse(annotation)


@cache
def list_commands() -> frozenset[str]:
    """List the functions that are commands: their names are what users type."""

    def list_callbacks(command: Any) -> Iterator[str]:
        if command.callback:
            yield command.callback.__name__
        for subcommand in getattr(command, "commands", {}).values():
            yield from list_callbacks(subcommand)

    return frozenset(list_callbacks(get_command(app)))


def list_decorators(function: Definition) -> set[str]:
    calls = (node.func if isinstance(node, ast.Call) else node for node in function.decorator_list)
    return {match.group() for call in calls if (match := LAST_WORD.search(ast.unparse(call)))}


def is_named_elsewhere(function: Definition) -> bool:
    """Tell whether a function has the name of a command, or of a check by its id, or one that Python calls."""
    result = ast.unparse(function.returns) if function.returns else ""
    own_decorators = {"check", "callback", "property", "cached_property", "setter"} & list_decorators(function)
    claims = result in {"Result", "Result | None"}
    return bool(own_decorators) or claims or function.name.startswith("__") or function.name in list_commands()


def find_bare_names(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if is_bare(node.name) and not is_flag(node.returns) and node.name not in list_commands():
                    yield node.name
                names = [parameter for parameter in list_parameters(node) if not is_flag(parameter.annotation)]
                yield from (f"{node.name}({name.arg})" for name in names if is_bare(name.arg) and name.arg != "_")
            case ast.ClassDef(name=name):
                if is_bare(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)):
                    yield name
                for field in node.body:
                    match field:
                        case ast.AnnAssign(target=ast.Name(id=name)) if is_bare(name) and not is_flag(field.annotation):
                            yield f"{node.name}.{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_is_a_pronoun_an_adverb_or_a_participle(package: str) -> None:
    assert {path: names for path, module in read_modules(package) if (names := sorted(find_bare_names(module)))} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_begin_with_a_verb(package: str) -> None:
    functions = {
        path: [
            node.name
            for node in ast.walk(module)
            if isinstance(node, Definition) and not has_verb_first(node.name) and not is_named_elsewhere(node)
        ]
        for path, module in read_modules(package)
    }
    assert {path: names for path, names in functions.items() if names} == {}


def test_every_verb_of_the_list_is_in_use() -> None:
    names = {
        node.name.lstrip("_").partition("_")[0]
        for package in PACKAGES
        for _, module in read_modules(package)
        for node in ast.walk(module)
        if isinstance(node, Definition)
    }
    assert read_words("Verbs") - names == set()


def test_the_commonest_names_are_no_placeholders() -> None:
    names = Counter(
        node.id
        for package in PACKAGES
        for _, module in read_modules(package)
        for node in ast.walk(module)
        if isinstance(node, ast.Name)
    )
    common = {name for name, _ in names.most_common(30)}
    assert common & {*read_words("No names"), "item", "data", "info", "obj", "thing", "tmp"} == set()


def test_labels_are_standard_words() -> None:
    references = re.findall(r'Error\(\s*"([a-z0-9-]+)"', "".join(p.read_text() for p in list_sources().values()))
    options = re.findall(r'"(--[a-z-]+)"', "".join(p.read_text() for n, p in list_sources().items() if "cli/" in n))
    keys = re.findall(
        r"(?m)^ *(?:- )?([a-z_]+):", "".join(p.read_text() for p in PRODUCT.glob("doctor/catalogue/*.yaml"))
    )
    probes = [path.name for path in (ROOT / "tests" / "cases").iterdir()]
    ids = [*(check.id for check in CHECKS), *(step.id for step in STEPS)]
    ids += [fault.id for layer in load_layers() for fault in layer.faults]
    ids += [state.id for layer in load_layers() for state in layer.states]
    kinds = (references, options, keys, probes, ids)
    assert all(kinds)
    refused_words = read_words("Words of an earlier dialect")
    assert [label for kind in kinds for label in kind if refused_words & set(re.split(r"[^a-z]+", label))] == []
