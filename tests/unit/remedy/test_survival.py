"""Whatever other people do before, during and after a fix, its roll-back changes nothing of theirs."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpustack.ask.snapshot import Snapshot
from gpustack.events import ignore_event
from gpustack.remedy import fix as module
from gpustack.remedy.copies import Copies
from gpustack.remedy.fix import Fix
from gpustack.remedy.offer import Offer
from gpustack.remedy.scope import SYSCTL_FILE, Scope, Target
from gpustack.remedy.undo import Rollback, find_fix, roll_back
from gpustack.rollout.plan import PlaybookRun
from tests.unit.remedy.scratch_fix import CONTAINERD, CRI, SITE, TEXT, forward, make_fix, try_to_take_back
from tests.unit.remedy.scratch_fix import FORWARD as FORWARDING
from tests.unit.remedy.scratch_host import ScratchHost, connect_copies
from tests.worlds.programs.fix_run import FORWARD, World, list_endings

IP = "host-ip-forward-off"
OWN_FILE = "etc/containerd/conf.d/gpustack.toml"


@pytest.fixture
def stubborn(host: ScratchHost, monkeypatch: pytest.MonkeyPatch) -> World:
    """A fault that stays, whatever is played."""
    for name in ("PAUSE", "RESOLVE_LIMIT", "SYMPTOM_LIMIT"):
        monkeypatch.setattr(module, name, 0.0)
    host.write("etc/app.conf", "old\n")
    return World(FORWARD, stubborn=[IP])


def run_fix(world: World, host: ScratchHost, copies: Copies, *, agree: bool) -> Any:
    """Run the protocol and the scripts as they are. A colleague works while the playbook runs."""

    def play(offer: Offer, snapshot: Snapshot) -> PlaybookRun:
        forward(host)
        host.write("etc/cron.d/nightly-backup", "0 3 * * * root backup\n")
        host.write("etc/app.conf", "new\n")
        return world.play(offer, snapshot)

    def undo(offer: Offer, id: str) -> Rollback | None:
        return roll_back(copies, find_fix(copies, id, offer.hosts), ignore_event) if agree else None

    return Fix(world.gather, play, copies, undo, world.show, world.agree, ignore_event).run(world.diagnose())


def test_a_fix_that_does_not_help_leaves_a_colleague_s_files(
    stubborn: World, host: ScratchHost, copies: Copies
) -> None:
    """The operator agreed to set a parameter, and nobody else lost a file by it."""
    result = run_fix(stubborn, host, copies, agree=True)
    assert list_endings(result) == {IP: "not-resolved"}
    assert result.attempts[0].rollback_actions == (f"h1: removed {SYSCTL_FILE}", "h1: set net.ipv4.ip_forward = 0")
    assert (host.root / "etc/cron.d/nightly-backup").read_text() == "0 3 * * * root backup\n"
    assert (host.root / "etc/app.conf").read_text() == "new\n"
    assert not (host.root / SYSCTL_FILE[1:]).exists()


def test_a_roll_back_that_is_declined_changes_nothing(stubborn: World, host: ScratchHost, copies: Copies) -> None:
    result = run_fix(stubborn, host, copies, agree=False)
    assert list_endings(result) == {IP: "not-resolved"}
    assert (result.attempts[0].rollback_actions, result.attempts[0].is_undoable) == ((), True)
    assert (host.root / SYSCTL_FILE[1:]).read_text() == TEXT
    assert copies.read("h1"), "--undo can still roll it back"


# Declared files, files beside them, and one elsewhere.
PATHS = (
    SITE,
    OWN_FILE,
    "etc/containerd/conf.d/site.toml",
    "etc/containerd/certs.d/x/hosts.toml",
    "etc/cron.d/job",
    SYSCTL_FILE[1:],
)
ACTS = ("write", "mode", "delete", "link", "folder")
Act = tuple[str, str, int]
ACT = st.tuples(st.sampled_from(PATHS), st.sampled_from(ACTS), st.integers(0, 9))
ACTS_OF_PEOPLE = st.lists(ACT, max_size=3)
FINISHES = st.sampled_from([True, True, False])
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def do(host: ScratchHost, act: Act) -> None:
    """Change a path as a person does, whatever is there now."""
    name, action, number = act
    path = host.root / name
    if action == "mode":
        if path.is_file() and not path.is_symlink():
            path.chmod(0o600 + number)
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.exists() or path.is_symlink():
        path.unlink()
    if action == "write":
        host.write(name, f"theirs {number}\n", 0o640)
    elif action == "folder":
        host.write(f"{name}/inside", f"theirs {number}\n")
    elif action == "link":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(f"/srv/{number}")


def play(host: ScratchHost, scope: str) -> None:
    """Change files as the roles do: edit a file of the host, write one of gpustack. A folder in its place stays."""
    for name, text in [(SITE, "x = 2\n"), (OWN_FILE, "ours\n")] if scope == CRI else [(SYSCTL_FILE[1:], TEXT)]:
        if (host.root / name).is_symlink():
            (host.root / name).unlink()
        if not (host.root / name).is_dir():
            host.write(name, text)


@pytest.mark.long
@settings(max_examples=30, deadline=None, suppress_health_check=SLOW, derandomize=True)
@example(CRI, [(SITE, "write", 1)], [], [(SITE, "write", 2)], True)
@example(CRI, [(SITE, "write", 1)], [(OWN_FILE, "link", 1), ("etc/cron.d/job", "write", 1)], [(SITE, "mode", 7)], True)
@example(IP, [], [(SYSCTL_FILE[1:], "write", 1)], [], True)
@example(IP, [(SYSCTL_FILE[1:], "write", 1)], [], [(SYSCTL_FILE[1:], "write", 2)], False)
@given(st.sampled_from([CRI, IP]), ACTS_OF_PEOPLE, ACTS_OF_PEOPLE, ACTS_OF_PEOPLE, FINISHES)
def test_files_of_others_survive(
    fault: str, before: Sequence[Act], acts_meanwhile: Sequence[Act], after: Sequence[Act], completion: bool
) -> None:
    """A path is as it was before the fix only if the fix was the last to write it; else it is as its last writer left
    it, byte for byte, or in the copies if nobody could know that it was not the fix."""
    scope = CONTAINERD if fault == CRI else FORWARDING
    with tempfile.TemporaryDirectory() as folder:
        host = ScratchHost(Path(folder))
        copies = connect_copies({"h1": host})
        for act in before:
            do(host, act)
        first = host.list_files()

        def run_acts() -> None:
            play(host, fault)
            for act in acts_meanwhile:
                do(host, act)

        if completion:
            make_fix(copies, run_acts, fault=fault, scope=scope)
        else:
            copies.begin("1", fault, {"h1": scope})
            run_acts()
        for act in after:
            do(host, act)
        foreign_paths = {f"/{name}" for name, _, _ in (*acts_meanwhile, *after)}
        current_files = host.list_files()
        try_to_take_back(copies)
        last = host.list_files()
        copies_after = host.folder / "fixes/1/after"
        for path, state in current_files.items():
            of_person = any(path == name or path.startswith(f"{name}/") for name in foreign_paths)
            declared_paths = {f"/{SITE}", f"/{OWN_FILE}"} if fault == CRI else {SYSCTL_FILE}
            if last.get(path) == state:
                continue
            assert path in declared_paths or scope.covers("folder", path), (path, state, last.get(path))
            assert last.get(path) == first.get(path), path
            if of_person and path in {f"/{name}" for name, action, _ in after if action in ("write", "link", "folder")}:
                assert state == first.get(path), "changed after the fix"
            if of_person and state[3] not in (b"x = 2\n", b"ours\n", TEXT.encode(), b""):
                assert (copies_after / path[1:]).read_bytes() == state[3], path
        lost_paths = {path for path in first if path not in current_files} & set(last)
        assert lost_paths <= {f"/{SITE}", f"/{OWN_FILE}"} - foreign_paths | {
            path for path in lost_paths if scope.covers("folder", path)
        }


NAMES = ("monitoring/changed", "monitoring/created", "team-a/web")
TARGETS = Scope((), tuple(Target("v1", "ConfigMap", *name.split("/")) for name in NAMES[:2]))
WRITE = st.tuples(st.sampled_from(NAMES), st.sampled_from(["kubectl", "argocd", "delete"]), st.integers(0, 9))


WRITES = st.lists(WRITE, max_size=3)


@pytest.mark.long
@settings(max_examples=30, deadline=None, suppress_health_check=SLOW, derandomize=True)
@example([(NAMES[0], "kubectl", 1)], [(NAMES[0], "kubectl", 2), (NAMES[1], "argocd", 2)], [], True)
@example([(NAMES[0], "kubectl", 1)], [], [(NAMES[0], "kubectl", 2), (NAMES[1], "argocd", 2)], True)
@example([(NAMES[0], "kubectl", 1)], [(NAMES[0], "delete", 2), (NAMES[1], "delete", 2)], [], True)
@example([(NAMES[0], "kubectl", 1)], [(NAMES[2], "argocd", 2)], [], False)
@given(WRITES, WRITES, WRITES, FINISHES)
def test_objects_of_others_survive(
    before: Sequence[Act], acts_meanwhile: Sequence[Act], after: Sequence[Act], completion: bool
) -> None:
    """An object that anybody but gpustack wrote or deleted since the fix began is as that one left it."""

    def write(acts: Sequence[Act], minute: int) -> None:
        for second, (name, actor, number) in enumerate(acts):
            if actor == "delete":
                host.delete(name)
            else:
                host.apply(name, {"theirs": str(number)}, actor, f"2026-11-28T05:{minute:02}:{second:02}Z", {})

    with tempfile.TemporaryDirectory() as folder:
        host = ScratchHost(Path(folder))
        copies = connect_copies({"h1": host})
        write(before, 0)
        first = host.read_objects()
        copies.begin("1", "mon-grafana-dashboard-not-loaded", {"h1": TARGETS})
        for name in NAMES[:2]:
            host.apply(
                name, {"ours": "1"}, "gpustack", "2026-11-28T05:10:00Z", {"app.kubernetes.io/managed-by": "gpustack"}
            )
        write(acts_meanwhile, 20)
        if completion:
            copies.finish("1", ["h1"])
        write(after, 30)
        current_objects = host.read_objects()
        foreign_objects = {f"ConfigMap {name}" for name, _, _ in (*acts_meanwhile, *after)}
        try_to_take_back(copies)
        last = host.read_objects()
        for name in {*current_objects, *last}:
            if name in foreign_objects or not completion or name == "ConfigMap team-a/web":
                assert last.get(name) == current_objects.get(name), name
            else:
                assert last.get(name) == first.get(name), name
