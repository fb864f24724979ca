"""A host has a right containerd.io, or gets one when it has none."""

from typing import Any

import pytest

from gpustack.config.versions import read_version_set
from gpustack.rollout.overlay import build_overlay
from gpustack.steps.containerd.step import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot, judge

PACKAGES, OFFERS = "packages.installed", "containerd.candidates"
NEWEST = "the newest 2.3 of its repository"


def install_version(version: str) -> dict[tuple[str, str], Any]:
    edit = ("installed 2.3.7-1", f"installed {version}-1")
    return place_answers("h1", read_case(PACKAGES, "prepared-debian-12", edit))


def build_spec(version: str) -> dict[str, Any]:
    """Build a spec with containerd.version, or without one."""
    version_set = {"version": version} if version else {}
    return {"containerd": {"restrict_oom_score_adj": True, **version_set}}


@pytest.mark.parametrize(
    ("version", "spec", "expected"),
    [
        ("2.3.6", "", ""),
        ("2.3.7", "", ""),
        ("2.3.12", "", ""),
        ("2.2.0", "", ""),
        ("2.1.5", "", "2.2.0 or newer of 2.2 or 2.3.5 or newer of 2.3, for Kubernetes 1.36"),
        ("1.7.29", "", "2.2.0 or newer of 2.2 or 2.3.5 or newer of 2.3, for Kubernetes 1.36"),
        ("2.4.0", "", "2.2.0 or newer of 2.2 or 2.3.5 or newer of 2.3, for Kubernetes 1.36"),
        ("2.3.0~rc.1", "", "2.2.0 or newer of 2.2 or 2.3.5 or newer of 2.3, for Kubernetes 1.36"),
        ("2.3.7", "2.3.7", ""),
        ("2.3.6", "2.3.7", "2.3.7"),
        ("2.2.7", "2.3.7", "2.3.7"),
        ("2.4.0", "2.4.0", ""),
        ("2.3.6", "2.3", ""),
        ("2.3.4", "2.3.4", ""),
        ("2.2.7", "2.3", "2.3.5 or newer of 2.3, for Kubernetes 1.36"),
        ("2.3.7", "2.4", "a patch of 2.4"),
        ("2.4.1", "2.4", ""),
    ],
)
def test_another_patch_of_a_line_that_serves_is_no_drift(version: str, spec: str, expected: str) -> None:
    result = judge(STEP, install_version(version), build_spec(spec))["version"].result
    assert (result.expected if result else "") == expected
    assert not result or (result.actual, result.cure) == (version, "upgrade")


@pytest.mark.parametrize("spec", ["", "2.3"])
@pytest.mark.parametrize("version", ["2.3.0", "2.3.4"])
def test_the_first_patches_of_a_line_are_refused_with_their_defect(version: str, spec: str) -> None:
    """containerd/containerd pull request 12891 has the refusal of such a file, 13939 takes it out for 2.3.5."""
    result = judge(STEP, install_version(version), build_spec(spec))["version"].result
    assert result
    assert result.expected.endswith("2.3.5 or newer of 2.3, for Kubernetes 1.36")
    assert result.actual.startswith(f"{version}: 2.3.0 to 2.3.4 exit where a file of conf.d")
    assert result.cure == "upgrade"
    assert judge(STEP, install_version("2.3.5"), build_spec(spec))["version"].result is None


def test_a_repository_that_offers_the_first_patches_alone_is_refused() -> None:
    answers = {**place_answers("h1", read_case(PACKAGES, "fresh-debian-12")),
               (OFFERS, "h1"): read_case(OFFERS, "fresh-debian-12", ("2.3.7", "2.3.4"))}  # fmt: skip
    result = judge(STEP, answers, build_spec(""))["version"].result
    assert result
    assert result.actual.startswith("nothing; offered 2.3.4: 2.3.0 to 2.3.4 exit")
    assert (result.cure, str(result.hint)) == ("operator", "gpustack explain containerd-offered")
    hosts = build_overlay(build_snapshot(answers, build_spec("")))["all"]["hosts"]
    assert hosts["h1"]["gpustack"]["containerd"]["patch"] == ""
    assert hosts["h1"]["gpustack"]["containerd"]["minimum"] == "2.3.5"
    assert judge(STEP, answers, build_spec("2.3.4"))["version"].result.cure == "install"  # type: ignore[union-attr]


def test_each_kubernetes_has_its_lines_of_containerd() -> None:
    """The source is containerd's RELEASES.md, "Kubernetes Support"."""
    older = {**build_spec(""), "kubernetes": {"version": "1.35.2"}}
    assert judge(STEP, install_version("2.1.5"), older)["version"].result is None
    assert judge(STEP, install_version("2.1.4"), older)["version"].result
    versions = read_version_set("2026-11")
    assert versions.containerd_lines.keys() == versions.minors.keys()


@pytest.mark.parametrize(
    ("offer", "plane", "spec", "expected", "patch"),
    [
        ("fresh-debian-12", "", "", f"2.3.7, {NEWEST}", "2.3.7"),
        (
            "file-missing",
            "",
            "",
            f"2.3.6, {NEWEST}; the file of 2.3.7 is not there (404)",
            "2.3.6",
        ),
        ("unreachable", "", "", NEWEST, ""),
        ("prepared-debian-12", "", "", NEWEST, ""),
        ("file-missing", "2.3.5", "", "2.3.5, as on h1", "2.3.5"),
        ("file-missing", "2.3.4", "", f"2.3.6, {NEWEST}; the file of 2.3.7 is not there (404)", "2.3.6"),
        ("file-missing", "2.2.6", "", "2.2.6, as on h1", "2.2.6"),
        ("fresh-debian-12", "1.7.29", "", f"2.3.7, {NEWEST}", "2.3.7"),
        ("fresh-debian-12", "", "2.3.5", "2.3.5", "2.3.5"),
    ],
)
def test_a_new_host_gets_what_the_acting_control_plane_has_or_is_offered(
    offer: str, plane: str, spec: str, expected: str, patch: str
) -> None:
    answers = {**(install_version(plane) if plane else place_answers("h1", read_case(PACKAGES, "fresh-debian-12"))),
               (OFFERS, "h1"): read_case(OFFERS, offer), (PACKAGES, "h2"): read_case(PACKAGES, "fresh-debian-13"),
               (OFFERS, "h2"): read_case(OFFERS, "fresh-debian-13")}  # fmt: skip
    result = judge(STEP, answers, build_spec(spec), on="h2")["version"].result
    assert result
    assert (result.expected, result.actual, result.cure) == (expected, "nothing", "install")
    hosts = build_overlay(build_snapshot(answers, build_spec(spec)))["all"]["hosts"]
    assert {hosts[name]["gpustack"]["containerd"]["patch"] for name in ("h1", "h2")} == {patch}


def test_an_old_containerd_of_docker_ce_is_another_version() -> None:
    answers = place_answers("h1", read_case(PACKAGES, "ubuntu-docker"))
    judgements = judge(STEP, answers, build_spec(""))
    assert judgements["other-runtimes"].result is None
    wrong = judgements["version"].result
    assert wrong
    assert (wrong.actual, wrong.cure) == ("1.7.27", "upgrade")
