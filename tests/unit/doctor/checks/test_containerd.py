"""The running daemon serves pods, or one fault explains why not."""

from dataclasses import replace

import pytest

from tests.unit.doctor.checks.evaluation import judge_host, summarize
from tests.worlds.snapshots.answers import make_answer, read_case

SILENT = make_answer("containerd.runtime", "", 1)


def test_cri_that_is_turned_off_fails() -> None:
    assert summarize(judge_host("containerd-cri-disabled", {})) == ("ok", "responding")
    vendor = {"containerd.runtime": SILENT, "containerd.configuration": read_case("containerd.configuration", "vendor")}
    assert summarize(judge_host("containerd-cri-disabled", vendor)) == (
        "failed", "not responding: disabled by disabled_plugins in config.toml",
    )  # fmt: skip
    with_files, silent = (
        judge_host("containerd-cri-disabled", answers) for answers in (vendor, {"containerd.runtime": SILENT})
    )
    assert summarize(silent) == ("failed", "not responding: failed to load")
    assert with_files.result
    assert silent.result
    assert (with_files.result.certain, silent.result.certain) == (True, False)
    assert judge_host("st-runtime-down", {"containerd.runtime": SILENT}).outcome == "failed"


def test_containerd_that_does_not_run_is_another_fault_and_not_applicable_without_it() -> None:
    services = read_case("units.services", "prepared-debian-12")
    first, rest = services.stdout.split("\n\n", 1)
    stopped_services = replace(
        services, stdout=first.replace("ActiveState=active", "ActiveState=inactive") + "\n\n" + rest
    )
    answers = {"units.services": stopped_services, "containerd.runtime": SILENT}
    assert judge_host("containerd-not-running", answers).outcome == "failed"
    assert summarize(judge_host("containerd-cri-disabled", answers)) == ("ok", "not active")
    absent_services = replace(services, stdout=first.replace("LoadState=loaded", "LoadState=not-found") + "\n\n" + rest)
    assert summarize(judge_host("containerd-not-running", {"units.services": absent_services})) == (
        "ok",
        "not installed",
    )


@pytest.mark.parametrize(("host", "outcome"), [("fresh-debian-12", "ok"), ("prepared-debian-12", "failed")])
def test_a_host_on_which_nothing_was_installed_yet_lacks_no_runtime(host: str, outcome: str) -> None:
    answers = {"units.services": read_case("units.services", host), "containerd.runtime": SILENT}
    assert judge_host("st-runtime-down", answers).outcome == outcome


@pytest.mark.parametrize(
    ("sub", "outcome"),
    [
        ("start", "unknown"),
        ("start\nNRestarts=0", "unknown"),
        ("start\nNRestarts=3", "failed"),
        ("auto-restart", "failed"),
    ],
)
def test_a_daemon_that_is_just_being_started_is_not_judged(sub: str, outcome: str) -> None:
    """A daemon that was started because it fails is judged."""
    state = ("ActiveState=active", f"ActiveState=activating\nSubState={sub}")
    answers = {"units.services": read_case("units.services", "prepared-debian-12", state), "containerd.runtime": SILENT}
    assert judge_host("containerd-not-running", answers).outcome == outcome
    assert judge_host("st-runtime-down", answers).outcome == outcome


def test_a_containerd_that_somebody_stopped_is_started() -> None:
    services = read_case("units.services", "prepared-debian-12", ("ActiveState=active", "ActiveState=inactive"))
    result = judge_host("containerd-not-running", {"units.services": services, "containerd.runtime": SILENT}).result
    assert result
    assert (result.certain, bool(result.person)) == (True, False)


def test_a_file_that_containerd_cannot_read_is_why_it_does_not_run() -> None:
    services = read_case("units.services", "prepared-debian-12", ("ActiveState=active", "ActiveState=failed"))
    configuration = read_case("containerd.configuration", "broken")
    judgement = judge_host(
        "containerd-not-running", {"units.services": services, "containerd.configuration": configuration}
    )
    assert summarize(judgement)[1].startswith("not active, enabled; invalid TOML: config.toml: Invalid value")
    assert judgement.result
    assert "/etc/containerd/config.toml" in judgement.result.person


def test_why_containerd_refuses_its_files_is_said_in_its_words() -> None:
    services = read_case("units.services", "prepared-debian-12", ("ActiveState=active", "ActiveState=failed"))
    refusal = read_case("containerd.refusal", "newer-drop-in")
    judgement = judge_host("containerd-not-running", {"units.services": services, "containerd.refusal": refusal})
    words = "drop-in config version 4 higher than root config version 3"
    assert summarize(judgement) == ("failed", f"not active, enabled; {words}")
    assert judgement.result
    assert words in judgement.result.person
