"""definitions.sh: CRDs are everybody's: created, upgraded, and never put back to an older version."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from tests.worlds.programs.api_objects import APPLIED_ENTRY, OTHER_ENTRY, build_object, install, put, read_calls, run

FILES = locate_playbooks() / "files"
SCRIPT = (
    "set -eu\n"
    + "".join((FILES / name).read_text() for name in ("limits.sh", "definitions.sh"))
    + "\nbring_definitions"
)
OPERATOR, CHART = "operator.prometheus.io/version", "app.kubernetes.io/version"
NEWER = ("0.94.0", "0.99.0", "0.93.10", "1.0.0", "0.100.0")
OLDER = ("0.92.9", "0.9.0", "0.93.0")
NAMES = ("a.monitoring.coreos.com", "b.monitoring.coreos.com")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    install(tmp_path)
    return tmp_path


def build_definition(name: str, version: str, manager: str = OPERATOR, **fields: Any) -> dict[str, Any]:
    place = "annotations" if manager == OPERATOR else "labels"
    versions = {place: {manager: version}} if version else {}
    return build_object(
        "CustomResourceDefinition", name, "", spec={"versions": [f"of {version}"]}, **versions, **fields
    )


def render_definitions(*definitions: dict[str, Any]) -> str:
    """Write as Helm prints the CRDs of a chart, with a comment in front and an empty document."""
    return "---\n# Source: chart\n" + "---\n".join(yaml.safe_dump(item) for item in definitions) + "---\n"


def read_versions(world: Path) -> dict[str, Any]:
    definitions = [json.loads(path.read_text()) for path in sorted((world / "objects").iterdir())]
    return {item["metadata"]["name"]: item["spec"]["versions"] for item in definitions}


def test_missing_definitions_are_created_without_force(world: Path) -> None:
    process = run(world, SCRIPT, render_definitions(*(build_definition(name, "0.93.1") for name in NAMES)))
    assert (process.returncode, len(process.stdout.splitlines())) == (0, 2)
    assert read_versions(world) == {name: ["of 0.93.1"] for name in NAMES}
    assert [line for line in read_calls(world, "apply") if "--force-conflicts" in line] == []
    assert read_calls(world, "wait", "--for=condition=Established")


@pytest.mark.parametrize("manager", [OPERATOR, CHART])
@pytest.mark.parametrize(
    "managers", [[OTHER_ENTRY], [APPLIED_ENTRY], [APPLIED_ENTRY, OTHER_ENTRY]], ids=["theirs", "ours", "both"]
)
def test_a_newer_definition_is_never_downgraded(world: Path, manager: str, managers: list[dict[str, Any]]) -> None:
    versions = {f"v{number}.example.com": version for number, version in enumerate(NEWER)}
    paths = [
        put(world, build_definition(name, version, manager, managers=managers)) for name, version in versions.items()
    ]
    before = [path.read_bytes() for path in paths]
    chart = render_definitions(*(build_definition(name, "0.93.1", manager) for name in (*versions, NAMES[1])))
    process = run(world, SCRIPT, chart)
    assert process.returncode == 0
    assert [path.read_bytes() for path in paths] == before
    for name, version in versions.items():
        assert (
            f"definition {name} has version {version}, newer than 0.93.1 of this chart: it is left as it is\n"
            in process.stdout
        )
    assert read_versions(world)[NAMES[1]] == ["of 0.93.1"]


@pytest.mark.parametrize("managers", [[OTHER_ENTRY], [APPLIED_ENTRY], []], ids=["theirs", "ours", "unknown"])
def test_an_older_definition_is_upgraded(world: Path, managers: list[dict[str, Any]]) -> None:
    versions = {f"v{number}.example.com": version for number, version in enumerate(OLDER)}
    for name, version in versions.items():
        put(world, build_definition(name, version, managers=managers))
    process = run(world, SCRIPT, render_definitions(*(build_definition(name, "0.93.1") for name in versions)))
    assert (process.returncode, read_versions(world)) == (0, {name: ["of 0.93.1"] for name in versions})


@pytest.mark.parametrize(
    ("actual", "managers", "written"),
    [
        ("", [OTHER_ENTRY], False),
        ("", [APPLIED_ENTRY, OTHER_ENTRY], False),
        ("", [], False),
        ("main", [OTHER_ENTRY], False),
        ("", [APPLIED_ENTRY], True),
    ],
)
def test_a_definition_without_a_version_is_changed_only_where_it_is_ours(
    world: Path, actual: str, managers: list[dict[str, Any]], written: bool
) -> None:
    path = put(world, build_definition("nodefeatures.nfd.k8s-sigs.io", actual, managers=managers))
    before = path.read_bytes()
    process = run(
        world,
        SCRIPT,
        render_definitions({**build_definition("nodefeatures.nfd.k8s-sigs.io", ""), "spec": {"versions": ["new"]}}),
    )
    assert process.returncode == 0
    assert (read_versions(world)["nodefeatures.nfd.k8s-sigs.io"] == ["new"]) == written
    assert (path.read_bytes() == before) != written
    assert (
        "its version is unknown: it is left as it is (gpustack explain foreign-object)" in process.stdout
    ) != written


@pytest.mark.parametrize(
    "managers", [[OTHER_ENTRY], [APPLIED_ENTRY, OTHER_ENTRY], []], ids=["theirs", "both", "unknown"]
)
def test_a_definition_of_others_with_the_same_version_keeps_their_changes(
    world: Path, managers: list[dict[str, Any]]
) -> None:
    """Such as a conversion webhook, or a version that they serve for their own objects."""
    foreign_definition = {
        **build_definition(NAMES[0], "0.93.1", managers=managers),
        "spec": {"versions": ["of 0.93.1, and theirs"]},
    }
    path = put(world, foreign_definition)
    before = path.read_bytes()
    process = run(world, SCRIPT, render_definitions(*(build_definition(name, "0.93.1") for name in NAMES)))
    assert (process.returncode, path.read_bytes()) == (0, before)
    assert f"definition {NAMES[0]} is not from gpustack, and has version 0.93.1 already" in process.stdout
    assert read_versions(world)[NAMES[1]] == ["of 0.93.1"]


def test_a_definition_of_ours_with_the_same_version_is_repaired(world: Path) -> None:
    own_definition = {
        **build_definition(NAMES[0], "0.93.1", managers=[APPLIED_ENTRY]),
        "spec": {"versions": ["damaged"]},
    }
    put(world, own_definition)
    run(world, SCRIPT, render_definitions(build_definition(NAMES[0], "0.93.1")))
    assert read_versions(world) == {NAMES[0]: ["of 0.93.1"]}


def test_a_definition_that_a_person_gives_to_gpustack_is_upgraded(world: Path) -> None:
    mark = {"labels": {"app.kubernetes.io/managed-by": "gpustack"}, "managers": [OTHER_ENTRY]}
    put(world, build_definition(NAMES[0], "", CHART, **mark))
    run(world, SCRIPT, render_definitions(build_definition(NAMES[0], "0.93.1")))
    assert read_versions(world) == {NAMES[0]: ["of 0.93.1"]}


def test_a_newer_definition_that_others_bring_meanwhile_survives(world: Path) -> None:
    definition = build_definition(NAMES[0], "0.99.0", managers=[OTHER_ENTRY])
    (world / "arrives.json").write_text(json.dumps(definition))
    process = run(world, SCRIPT, render_definitions(*(build_definition(name, "0.93.1") for name in NAMES)))
    assert process.returncode == 0
    assert read_versions(world) == {NAMES[0]: ["of 0.99.0"], NAMES[1]: ["of 0.93.1"]}


def test_one_call_is_enough_where_nothing_differs(world: Path) -> None:
    put(world, build_definition(NAMES[0], "0.93.1", managers=[APPLIED_ENTRY]))
    assert run(world, SCRIPT, render_definitions(build_definition(NAMES[0], "0.93.1"))).stdout == ""
    assert len(read_calls(world)) == 1


def test_a_chart_without_definitions_asks_nothing(world: Path) -> None:
    process = run(world, SCRIPT, "# nothing\n")
    assert (process.returncode, process.stdout, read_calls(world)) == (0, "", [])
