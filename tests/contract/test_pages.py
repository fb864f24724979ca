"""`gpustack explain` has a page for all that is named to people: errors, refusals, hints, steps, checks, alerts."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from gpustack.cli.app import app
from gpustack.cli.error_handler import HINTS
from gpustack.config.sections.gpu import AUTO_DRIVER
from gpustack.config.spec import Spec
from gpustack.errors import UsageError
from gpustack.report.explain import pages
from gpustack.report.explain.alerts import PREFIX, read_alerts
from gpustack.report.explain.contents import explain_topic, render_contents
from gpustack.report.explain.documents import list_documents
from gpustack.report.explain.faults import list_faults
from gpustack.report.explain.gpu import METRIC, XID
from gpustack.report.explain.pages import PAGES, find_page, list_checks, read_error_pages
from gpustack.report.explain.width import LONGEST
from gpustack.steps import STEPS
from gpustack.steps.alerts import build_groups
from gpustack.steps.step import format_check_name
from tests.contract.sources import list_sources

PACKAGE = PAGES.parent
ROLES = [path for kind in ("*.yml", "*.sh", "*.py") for path in sorted((PACKAGE.parent / "playbooks").rglob(kind))]
TEXTS = [*sorted(PAGES.glob("*.yaml")), *ROLES]
ADVICE = re.compile(r"gpustack explain ([a-z][a-z0-9/-]*(?:\.md)?)")
ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# Of containerd, Alertmanager and KempnerPulse.
FOREIGN = {
    f"docs/{name}.md" for name in ("hosts", "image-verification", "content-flow", "configuration", "classification")
}
# Where the reference stands among the arguments.
PLACES = {"Complaint": 4, "Reach": 1, "Refusal": 1, "refuse_missing": 0}


@cache
def parse_sources() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text()) for name, path in list_sources().items()}


def list_error_names() -> set[str]:
    """List the names of our own error classes and of the values that carry a reference."""
    import gpustack.errors

    return {name for name in vars(gpustack.errors) if name.endswith("Error")} | set(PLACES)


def list_references() -> Iterator[tuple[str, str]]:
    """List (file, reference): written into a call, assigned to a `reference`, or the default of such a field."""
    carriers = list_error_names()
    for path, tree in parse_sources().items():
        for node in ast.walk(tree):
            values: list[ast.expr | None] = []
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                values = [word.value for word in node.keywords if word.arg == "reference"]
                position = PLACES.get(name, 0)
                values += node.args[position : position + 1] if name in carriers else []
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                values = [node.value] if getattr(target, "id", "") == "reference" else []
            yield from ((path, text) for value in values if value for text in list_constants(value))


def list_constants(value: ast.expr) -> Iterator[str]:
    """List the texts that an expression may come to: both arms of a condition."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from (*list_constants(value.body), *list_constants(value.orelse))


def test_every_reference_has_a_page() -> None:
    references = list(list_references())
    assert len({reference for _, reference in references}) > 50
    assert sorted({(path, reference) for path, reference in references if reference not in read_error_pages()}) == []


def test_every_page_is_of_a_reference_in_use() -> None:
    names = {text for _, text in list_references()}
    texts = {
        node.value for tree in parse_sources().values() for node in ast.walk(tree) if isinstance(node, ast.Constant)
    }
    advised_pages = {name for path in ROLES for name in ADVICE.findall(path.read_text())}
    assert sorted(reference for reference in read_error_pages() if reference not in names | texts | advised_pages) == []


def test_pages_that_are_advised_exist() -> None:
    # The name of an alert is joined to the prefix when the rules are made; see the test of annotations below.
    steps = [step.id for step in STEPS]
    known_references = {*read_error_pages(), *list_checks(), *steps, *list_faults(), PREFIX, METRIC, XID}
    known_references |= {*list_documents()} | get_command(app).commands.keys()  # type: ignore[attr-defined]
    files = {name: path.read_text() for name, path in [*list_sources().items(), *((str(text), text) for text in TEXTS)]}
    advised_pages = {(path, name) for path, text in files.items() for name in ADVICE.findall(text)}
    commanded_pages = set(find_commanded_pages())
    assert min(len(advised_pages), len(commanded_pages)) > 5
    advised_pages |= commanded_pages
    assert sorted((path, name) for path, name in advised_pages if name not in known_references) == []


def find_commanded_pages() -> Iterator[tuple[str, str]]:
    """Find (file, page) of each Command of the words gpustack, explain and a page."""
    for path, tree in parse_sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Command":
                words = [word.value if isinstance(word, ast.Constant) else None for word in node.args]
                if words[:2] == ["gpustack", "explain"] and words[2:] and words[2] is not None:
                    yield path, str(words[2])


def test_rooms_do_not_explain_the_same_thing() -> None:
    references = [name for path in PAGES.glob("*.yaml") for name in yaml.safe_load(path.read_text())]
    assert sorted({name for name in references if references.count(name) > 1}) == []
    assert not set(references) & {step.id for step in STEPS}


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.yaml")), ids=lambda path: path.stem)
def test_pages_have_their_form(path: Path) -> None:
    entries: dict[str, Any] = yaml.safe_load(path.read_text())
    for reference, page in entries.items():
        assert ID.fullmatch(reference)
        assert {"title", "text"} <= set(page) <= {"title", "text", "do"}, reference
        assert all(isinstance(value, str) and value.strip() for value in page.values()), reference
        assert not page["title"].rstrip().endswith("."), reference
        assert len(page["title"]) <= 80, reference


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.yaml")), ids=lambda path: path.stem)
def test_nothing_behind_a_number_sign_is_lost(path: Path) -> None:
    """A plain YAML text ends at ` #`, so commands with one stand in a block."""
    assert re.findall(r"^ +\w+: [^|>\"'\n].* #.*$", path.read_text(), re.MULTILINE) == []


def test_every_step_and_check_has_its_page() -> None:
    for step in STEPS:
        text = explain_topic(step.id)
        assert pages.read_docstring(step).split()[0] in text
        assert all(f"{step.id}/{format_check_name(check)}" in text for check in step.checks)
    for name, (_, check) in list_checks().items():
        assert check.__doc__, f"{name} has no docstring, which is its page"
        assert name in explain_topic(name)


def test_a_check_is_found_by_its_own_name_where_only_one_has_it() -> None:
    names = [name.partition("/")[2] for name in list_checks()]
    alone = next(name for name in names if names.count(name) == 1 and name not in read_error_pages())
    assert f"/{alone}: a check of" in explain_topic(alone)


def list_alerts() -> list[dict[str, Any]]:
    """List the alerts as they are put into the cluster."""
    spec = Spec.model_validate({"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": 1}], "budgets": {"a": 1}}})
    groups = build_groups(spec).values()
    return [rule for groups in groups for group in groups for rule in group["rules"] if "alert" in rule]


def test_every_alert_names_its_own_page() -> None:
    named_pages = {(rule["alert"], rule["annotations"]["runbook"]) for rule in list_alerts()}
    assert named_pages == {(alert.name, f"gpustack explain {name}") for name, alert in read_alerts().items()}


@pytest.mark.parametrize("name", read_alerts())
def test_the_page_of_an_alert_is_its_section(name: str) -> None:
    text, alert = explain_topic(name), read_alerts()[name]
    assert explain_topic(alert.name) == text
    assert max(len(line) for line in text.splitlines()) <= LONGEST
    words = re.findall(r"\w+", alert.text)
    assert all(word in text for word in words)
    assert "|" not in text


def test_documents_that_pages_and_help_name_are_pages() -> None:
    texts = [(str(path), path.read_text()) for path in [*list_sources().values(), *PAGES.glob("*.yaml")]]
    names = {(file, name) for file, text in texts for name in re.findall(r"(?<![/\w.-])docs/[a-z-]+\.md", text)}
    assert len({name for _, name in names}) > 10
    assert sorted((file, name) for file, name in names if name not in FOREIGN and not find_page(name)) == []


def test_the_example_of_prices_is_a_whole_spec() -> None:
    """People copy it into group_vars/all/gpustack.yml as it stands."""
    (spec,) = yaml.safe_load(read_error_pages()["cost-no-prices"].do).values()
    assert Spec(**spec).cost.prices[0].per_gpu_hour > 0
    assert "such as prices: [{per_gpu_hour: " in HINTS["cost-no-prices"]


def test_one_page_has_the_commands_of_an_upgrade() -> None:
    """Two lists of the same commands come to differ."""
    upgrade = explain_topic("docs/upgrade.md")
    assert "apt-get install --allow-change-held-packages kubeadm" in upgrade
    assert "gpustack explain docs/upgrade.md" in explain_topic("upgrade-needed")
    assert "apt-get" not in explain_topic("upgrade-needed")


def test_the_mode_of_a_driver_is_told_in_the_same_words() -> None:
    texts = [explain_topic("gpu-driver"), explain_topic("docs/gpu.md"), explain_topic("docs/settings.md")]
    assert all(AUTO_DRIVER in " ".join(text.replace("`", "").split()) for text in texts)


def test_unknown_names_get_the_nearest_spelling() -> None:
    with pytest.raises(UsageError) as excinfo:
        explain_topic("contanerd")
    assert (excinfo.value.code, excinfo.value.hint) == (2, "gpustack explain containerd")


def test_the_list_has_everything() -> None:
    text = render_contents()
    assert all(
        f"  {name}" in text
        for name in (*(step.id for step in STEPS), *list_checks(), *read_error_pages(), *read_alerts())
    )
    pages = [line for line in text.splitlines() if line.startswith("  ")]
    assert all(re.fullmatch(r"  \S+ {2,}\S.*", line) for line in pages)
