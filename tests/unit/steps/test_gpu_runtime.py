import tomllib
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.steps.gpu.runtime import OPERATOR_DROP_IN, PACKAGES, PROGRAM, STEP, build_drop_in
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.host_stack import add_toolkit
from tests.worlds.snapshots.hosts import judge
from tests.worlds.snapshots.judge import list_failures

ROLE = locate_playbooks() / "roles" / "gpu_runtime"
HOST = {"gpu": {"stack": "host"}}


def change_answer(probe: str, *edits: tuple[str, str]) -> dict[tuple[str, str], Any]:
    return {**add_toolkit(), (probe, "h1"): read_case(probe, "prepared-debian-12", *edits)}


def test_a_prepared_host_passes() -> None:
    assert list_failures(judge(STEP, add_toolkit(), HOST)) == {}


def test_a_fresh_host_is_for_install() -> None:
    assert list_failures(judge(STEP, {}, HOST, state="fresh")) == {
        "repository": ("nothing", "install"),
        "packages-installed": ("missing: nvidia-container-toolkit, nvidia-container-toolkit-base", "install"),
        "configuration": ("nothing", "install"),
        "running": ("nothing", "install"),
        "devices": ("0", "install"),
    }


@pytest.mark.parametrize("state", ["fresh", "prepared"])
def test_a_host_without_gpus_has_nothing_to_do(state: str) -> None:
    answers = place_answers("h1", make_answer("gpu.devices", ""))
    assert list_failures(judge(STEP, answers, HOST, state=state)) == {}
    read = {
        evidence.answer.probe
        for judgement in judge(STEP, answers, HOST, state=state).values()
        for evidence in judgement.evidence
    }
    assert read == {"gpu.devices"}


def test_what_the_operator_s_toolkit_left_is_for_a_person() -> None:
    answers = {**add_toolkit(), ("gpu.runtime-files", "h1"): read_case("gpu.runtime-files", "of-the-operator")}
    result = judge(STEP, answers, HOST)["other-runtimes"].result
    assert result
    assert (result.actual, result.cure) == (OPERATOR_DROP_IN, "operator")
    assert "helm uninstall gpu-operator -n gpu-operator" in result.hint
    other_file = change_answer("gpu.runtime-files", ("== others\n", "== others\n/etc/containerd/config.toml\n"))
    result = judge(STEP, other_file, HOST)["other-runtimes"].result
    assert result
    assert result.hint.startswith("take the runtime nvidia out of /etc/containerd/config.toml")


def test_another_repository_is_for_install() -> None:
    answers = change_answer(
        "gpu.toolkit-repository", ("libnvidia-container/stable/deb/amd64/", "libnvidia-container/x/")
    )
    assert list_failures(judge(STEP, answers, HOST))["repository"][0].startswith(
        "uri http://10.77.1.1:8480/nvidia.github.io/"
    )


def test_packages_are_held_at_their_version() -> None:
    assert list_failures(judge(STEP, add_toolkit(("hold", "install")), HOST)) == {
        "packages-held": ("not held: nvidia-container-toolkit, nvidia-container-toolkit-base", "install")
    }
    assert list_failures(judge(STEP, add_toolkit(("1.20.1", "1.19.0")), HOST)) == {
        "version": (
            "nvidia-container-toolkit 1.19.0, nvidia-container-toolkit-base 1.19.0",
            "upgrade",
        )
    }


def test_a_changed_file_or_runtime_is_for_install() -> None:
    answers = change_answer("gpu.runtime-files", (PROGRAM, "/usr/local/bin/another"))
    assert list_failures(judge(STEP, answers, HOST)) == {"configuration": ("different", "install")}
    older = {**add_toolkit(), ("containerd.runtime", "h1"): read_case("containerd.runtime", "prepared-debian-12")}
    assert list_failures(judge(STEP, older, HOST)) == {"running": ("nothing", "install")}


def test_a_gpu_missing_in_the_cdi_file_is_for_install() -> None:
    uuid = "GPU-6a8b1b0e-4f3a-5c1d-9d55-0b1f6d2f1a02\n"
    assert list_failures(judge(STEP, change_answer("gpu.runtime-files", (uuid, "")), HOST)) == {
        "devices": ("1", "install")
    }


def test_the_role_writes_what_the_check_expects() -> None:
    assert tomllib.loads((ROLE / "files" / "gpustack-nvidia.toml").read_text()) == build_drop_in()
    variables = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    assert sorted(variables["gpu_runtime_names"]) == sorted(PACKAGES)
    assert [word.split("=")[0] for word in variables["gpu_runtime_packages"].split() if "=" in word] == list(PACKAGES)
