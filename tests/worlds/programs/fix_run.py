"""Two recorded hosts with faults that a play takes away, and a place for records that only logs its calls."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpustack.ask.probe import Answer, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from gpustack.events import ignore_event
from gpustack.ownership.decision import Decision
from gpustack.ownership.record import Record
from gpustack.remedy.fix import Fix
from gpustack.remedy.fix_result import FixResult
from gpustack.remedy.offer import Offer
from gpustack.remedy.records import Change, HostRecord
from gpustack.remedy.scope import Scope
from gpustack.remedy.undo import LastFix, Rollback
from gpustack.rollout.plan import PlaybookRun, TaskFailure
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import read_case

Answers = dict[tuple[str, str], Answer]
FORWARDING_OFF = read_case("kernel.sysctls", "prepared-debian-12", ("net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"))
SWAPPING = read_case("kernel.swap", "ubuntu-swapfile")
STOPPED_SERVICE = read_case("units.services", "prepared-debian-12", ("ActiveState=active", "ActiveState=inactive"))
FORWARD: Answers = {("kernel.sysctls", "h1"): FORWARDING_OFF}
SWAP: Answers = {("kernel.swap", "h1"): SWAPPING}
FREE_INOTIFY: Answers = {("kernel.inotify", "h1"): read_case("kernel.inotify", "control-plane")}
INOTIFY: Answers = {("kernel.inotify", "h1"): read_case("kernel.inotify", "exhausted")}


class World:
    """`log` notes in order what happens. `stubborn` faults stay whatever is played; `failing` plays fail."""

    def __init__(self, faults: Answers, stubborn: Sequence[str] = (), failing: Sequence[str] = ()) -> None:
        self.faults, self.stubborn, self.failing = dict(faults), stubborn, failing
        self.log: list[str] = []
        self.agrees: list[list[str]] = []
        self.yes = True
        self.stop = ""

    def snapshot_all(self) -> Snapshot:
        return hosts.build_snapshot(FREE_INOTIFY | self.faults)

    def gather(self, probes: Sequence[Probe[Any]]) -> Snapshot:
        self.log.append("ask")
        ids = {probe.id for probe in probes}
        snapshot = self.snapshot_all()
        return replace(snapshot, answers={key: answer for key, answer in snapshot.answers.items() if key[0] in ids})

    def play(self, offer: Offer, snapshot: Snapshot) -> PlaybookRun:
        self.log.append(f"play {offer.play} on {' '.join(offer.hosts)}")
        failed_hosts = offer.hosts if offer.id in self.failing else ()
        if offer.id not in self.stubborn and not failed_hosts:
            rests_on = {
                evidence.answer.probe for judgement in offer.finding.judgements for evidence in judgement.evidence
            }
            self.faults = {key: answer for key, answer in self.faults.items() if key[0] not in rests_on}
        failures = tuple(TaskFailure(host, "Ensure it", "x.yml:1", "no") for host in failed_hosts)
        return PlaybookRun(
            offer.play, offer.hosts, offer.hosts, failed_hosts, failures, 0.1, Command("ansible-playbook", "x.yml")
        )

    def begin(self, id: str, fault: str, scopes: Mapping[str, Scope]) -> None:
        self.log.append(f"copy {fault} on {' '.join(scopes)}")

    def finish(self, id: str, names: Sequence[str]) -> tuple[HostRecord, ...]:
        self.log.append("keep")
        return tuple(make_record(name, id) for name in names)

    def undo(self, offer: Offer, id: str) -> Rollback | None:
        self.log.append("undo")
        fix = LastFix(tuple(make_record(name, id) for name in offer.hosts))
        return Rollback(fix, tuple(f"{name}: restored /etc/x" for name in offer.hosts))

    def show(self, offer: Offer, snapshot: Snapshot) -> None:
        self.log.append(f"show {offer.id}")

    def agree(self, offers: Sequence[Offer]) -> bool:
        self.agrees.append([offer.id for offer in offers])
        self.log.append("yes?")
        return self.yes

    def run_fix(self, *ids: str) -> FixResult:
        return Fix(
            self.gather, self.play, self, self.undo, self.show, self.agree, ignore_event, ids, lambda: self.stop
        ).run(self.diagnose())

    def diagnose(self) -> Diagnosis:
        return diagnose(self.snapshot_all())

    @property
    def acts(self) -> list[str]:
        return [text for text in self.log if text != "ask"]


def make_record(host: str, id: str, *names: str) -> HostRecord:
    """A record of files that a fix created and nobody changed since."""
    changes = (
        Change(host, Record("file", name, "absent", "file 644 0 0 1"), "file 644 0 0 1", Decision.REMOVE)
        for name in names or ("/etc/x",)
    )
    return HostRecord(host, id, "some-fault", (host,), changes=tuple(changes))


def list_endings(result: FixResult) -> dict[str, str]:
    return {attempt.offer.id: attempt.ending for attempt in result.attempts}
