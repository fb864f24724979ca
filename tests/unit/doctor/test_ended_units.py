"""A unit that ended by itself is started by no fix: it would end again."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import Answer
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Finding
from gpustack.remedy.commands import add_commands
from gpustack.remedy.offer import build_offers
from tests.worlds.snapshots import hosts, standalone
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

NO_SPACE = "failed to listen on /run/containerd/containerd.sock: mkdir /run/containerd: no space left on device"
SILENT = make_answer("containerd.runtime", "", 1)
FAILURE = read_case("units.failed", "containerd")
NO_FAILURE = read_case("units.failed", "none")


def find_root(answers: dict[tuple[str, str], Answer], id: str) -> tuple[Finding, str]:
    """Diagnose one host, and return the root cause with its commands and why it has no fix."""
    (host,) = {name for _, name in answers}
    build = standalone.build_snapshot if host == "w1" else hosts.build_snapshot
    base = standalone.build_installed_answers() if host == "w1" else {}
    diagnosis = add_commands(diagnose(build(base | answers)))
    (root,) = (root for root in diagnosis.roots if root.id == id)
    (offer,) = (offer for offer in build_offers(diagnosis) if offer.id == id)
    return root, offer.obstacle


@pytest.mark.parametrize("case", ["failed-just-now", "fails-again-and-again", "starts-in-vain"])
def test_a_containerd_that_ended_by_itself_is_not_started(case: str) -> None:
    answers = place_answers("h1", FAILURE, read_case("units.services", case), SILENT)
    root, obstacle = find_root(answers, "containerd-not-running")
    (judgement,) = root.judgements
    assert judgement.result
    assert judgement.result.actual == f"not active, enabled; containerd ended by itself; {NO_SPACE}"
    assert (root.certainty, root.commands.repairs, root.commands.fix) == ("likely", (), "")
    assert "journalctl -u containerd -b" in obstacle


def test_a_containerd_that_somebody_stopped_is_started() -> None:
    services = read_case("units.services", "prepared-debian-12", ("ActiveState=active", "ActiveState=inactive"))
    root, obstacle = find_root(place_answers("h1", NO_FAILURE, services, SILENT), "containerd-not-running")
    assert obstacle == ""
    assert [judgement.result.certain for judgement in root.judgements if judgement.result] == [True]


@pytest.mark.parametrize(
    ("id", "unit", "silent_answers"),
    [
        ("standalone-engine-down", "nvidia-dcgm", ("gpu.host-engines",)),
        ("standalone-exporter-down", "nvidia-dcgm-exporter", ()),
    ],
)
@pytest.mark.parametrize("is_ended", [True, False])
def test_programs_of_a_standalone_host_that_ended_are_not_started(
    id: str, unit: str, silent_answers: tuple[str, ...], *, is_ended: bool
) -> None:
    failure = replace(FAILURE, stdout=FAILURE.stdout.replace("containerd.service", f"{unit}.service", 1))
    answers = place_answers(
        "w1",
        failure if is_ended else NO_FAILURE,
        make_answer("standalone.exported", "gpus none\nnode yes\n"),
        *(read_case(probe, "fresh-debian-12") for probe in silent_answers),
    )
    root, obstacle = find_root(answers, id)
    assert (bool(obstacle), bool(root.commands.fix)) == (is_ended, not is_ended)
    assert [judgement.result.certain for judgement in root.judgements if judgement.result] == [not is_ended]
