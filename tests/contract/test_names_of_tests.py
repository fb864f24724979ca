"""Names in tests keep to the rules of the product, and a test's name states the expected behaviour."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.contract.sources import ROOT
from tests.contract.test_names import (
    Definition,
    find_bare_names,
    has_verb_first,
    is_bare,
    is_flag,
    is_named_elsewhere,
    is_participle,
    list_decorators,
    read_modules,
    read_words,
)

FOLDERS = [
    f"tests/{name}"
    for name in (
        "conftest.py",
        "documents.py",
        "helm.py",
        "schemas.py",
        "contract",
        "lab",
        "replay",
        "snapshots",
        "worlds",
    )
] + sorted(f"tests/unit/{path.name}" for path in (ROOT / "tests" / "unit").iterdir() if any(path.glob("**/*.py")))
AUXILIARIES = {
    "is", "are", "am", "was", "were", "has", "have", "had", "does", "do", "did", "can", "cannot", "could", "may",
    "might", "must", "need", "will", "would", "shall", "should",
}  # fmt: skip
PASSIVE = {"is", "are", "was", "were"}
# They may stand between an auxiliary and its participle.
ADVERBS = {"not", "never", "only", "also", "still", "again", "now", "once"}
# A clause that begins with one of these has a verb of its own, which says nothing about what is expected.
PRONOUNS = {
    "that", "what", "who", "whom", "whose", "which", "where", "when", "while", "how", "why", "whatever", "whoever",
    "whichever", "whether",
}  # fmt: skip
# The first word of functions that end a test where something is not as it should be.
CHECKS = {"assert", "check", "expect", "fail", "raises", "require", "verify", "wait"}
PAST_FORMS = {"began", "broke", "came", "did", "fell", "got", "lay", "ran", "took", "went", "wrote"}


def build_third_person(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"


@cache
def read_verbs() -> frozenset[str]:
    lists = ("Verbs", "Verbs that only tests use", "Verbs of behaviour")
    return frozenset().union(*map(read_words, lists))


@cache
def list_forms() -> frozenset[str]:
    return frozenset(form for verb in read_verbs() for form in (verb, build_third_person(verb))) | PAST_FORMS


def count_verbs(words: list[str]) -> int:
    """Count the verbs of a name; an auxiliary with its participle or its verb counts once."""
    count, auxiliary = 0, ""
    for word in words:
        if word in AUXILIARIES:
            count += not auxiliary or word in PASSIVE
            auxiliary = word
        elif word not in ADVERBS:
            participle = is_participle(word) or word.endswith("ed")
            if not (auxiliary and (participle or word in read_verbs())):
                count += word in list_forms() or participle
            auxiliary = ""
    return count


def count_clauses(words: list[str]) -> int:
    """Count the clauses that depend on another one: `that` before a noun and a pronoun at the end begin none."""
    nouns = {"of", "alone", "one", "itself", "user", "document", "way"}
    pairs = zip(words, words[1:], ["", *words], strict=False)
    begins = [(word, after) for word, after, before in pairs if word in PRONOUNS and before != "a"]
    return sum(word != "that" or (after not in nouns and after != words[-1]) for word, after in begins)


def has_statement(name: str) -> bool:
    words = name.removeprefix("test_").split("_")
    return count_verbs(words) > count_clauses(words)


def is_bare_variable(name: str) -> bool:
    return is_bare(name) and name != "_" and not name.startswith("__")


def find_bare_variables(module: ast.Module) -> Iterator[str]:
    """Find names of variables, also of loops and lambdas, and of attributes; a truth may be an adjective."""
    nodes = list(ast.walk(module))
    flags = [node.target for node in nodes if isinstance(node, ast.AnnAssign) and is_flag(node.annotation)]
    for node in nodes:
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self"))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ) if is_bare_variable(name) and node not in flags:
                yield name
            case ast.Lambda(args=arguments):
                names = [parameter.arg for parameter in ast.walk(arguments) if isinstance(parameter, ast.arg)]
                yield from filter(is_bare_variable, names)


def list_functions(module: ast.Module) -> Iterator[Definition]:
    yield from (node for node in ast.walk(module) if isinstance(node, Definition))


def is_for_pytest(function: Definition) -> bool:
    """Tell whether pytest or http.server calls a function by its name, or its value has the name, as of a fixture."""
    return function.name.startswith(("test_", "pytest_", "do_")) or bool(
        {"fixture", "command", "composite"} & list_decorators(function)
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_name_is_a_pronoun_an_adverb_or_a_participle(folder: str) -> None:
    assert {path: names for path, module in read_modules(folder) if (names := sorted(find_bare_names(module)))} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_variable_is_a_pronoun_an_adverb_or_a_participle(folder: str) -> None:
    variables = {path: sorted(set(find_bare_variables(module))) for path, module in read_modules(folder)}
    assert {path: names for path, names in variables.items() if names} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_begin_with_a_verb(folder: str) -> None:
    functions = {
        path: [
            function.name
            for function in list_functions(module)
            if not has_verb_first(function.name)
            and function.name.partition("_")[0] not in read_words("Verbs that only tests use")
            and not is_named_elsewhere(function)
            and not is_for_pytest(function)
        ]
        for path, module in read_modules(folder)
    }
    assert {path: names for path, names in functions.items() if names} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_test_states_the_expected_behaviour(folder: str) -> None:
    names = [
        f"{path}: {function.name}"
        for path, module in read_modules(folder)
        for function in list_functions(module)
        if function.name.startswith("test_") and not has_statement(function.name)
    ]
    assert names == []


def has_assertion(function: Definition) -> bool:
    """Tell whether a function asserts, or calls a function whose name says that it checks."""
    nodes = list(ast.walk(function))
    names = [ast.unparse(node.func).rpartition(".")[2] for node in nodes if isinstance(node, ast.Call)]
    return any(isinstance(node, ast.Assert) for node in nodes) or any(name.split("_")[0] in CHECKS for name in names)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_test_asserts_something(folder: str) -> None:
    names = [
        f"{path}: {function.name}"
        for path, module in read_modules(folder)
        for function in list_functions(module)
        if function.name.startswith("test_") and not has_assertion(function)
    ]
    assert names == []


def test_a_test_without_an_assertion_is_found() -> None:
    silent, asserting, checking = list_functions(
        ast.parse("def test_a(): read()\ndef test_b(): assert read()\ndef test_c(): check_words()")
    )
    assert [has_assertion(function) for function in (silent, asserting, checking)] == [False, True, True]


def test_every_verb_of_tests_is_in_use() -> None:
    modules = [module for folder in FOLDERS for _, module in read_modules(folder)]
    words = {word for module in modules for function in list_functions(module) for word in function.name.split("_")}
    verbs = read_words("Verbs that only tests use") | read_words("Verbs of behaviour")
    assert {verb for verb in verbs if not {verb, build_third_person(verb)} & words} == set()
    assert verbs & read_words("Verbs") == set()


@pytest.mark.parametrize(
    "name",
    ["test_gpus", "test_an_alert_that_is_lost", "test_what_is_refused", "test_no_driver"],
)
def test_a_name_without_a_statement_is_found(name: str) -> None:
    assert not has_statement(name)


@pytest.mark.parametrize(
    "name",
    [
        "test_a_gpu_that_is_lost_fails", "test_hosts_take_turns", "test_a_closed_node_says_why",
        "test_what_no_gpu_has_is_named",
    ],
)  # fmt: skip
def test_a_statement_is_let_through(name: str) -> None:
    assert has_statement(name)


@pytest.mark.parametrize(
    "source",
    [
        "def asked(): pass", "def read(found: str): pass", "def read(*more: str): pass", "class Judged: pass",
        "class Api:\n    now: float", "class Api:\n    def until(self): pass",
    ],
)  # fmt: skip
def test_a_bare_name_is_found(source: str) -> None:
    assert len(list(find_bare_names(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "found = 1", "found: int = 1", "*kept, last = a", "for one in a: pass", "(one for one in a)",
        "if (at := a): pass", "with a as held: pass", "try: pass\nexcept E as caught: pass", "lambda most=1: most",
        "lambda *more: more", "match a:\n    case [*others]: pass", "class A:\n    def b(self): self.asked = 1",
        "ONE, TWO = a",
    ],
)  # fmt: skip
def test_a_bare_variable_is_found(source: str) -> None:
    assert len(list(find_bare_variables(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source", ["_ = a", "__all__ = a", "closed: bool = a", "expected_hosts = a", "world.asked = a"]
)
def test_a_variable_that_says_what_it_is_is_let_through(source: str) -> None:
    assert list(find_bare_variables(ast.parse(source))) == []
