"""Check the records of files before and after a step, by the program that runs on hosts."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.ownership.owned_root import PROGRAM, RECORD, OwnedRoot

OWN_FILE, FSTAB, HOSTS = "/etc/modules-load.d/gpustack.conf", "/etc/fstab", "/etc/containerd/certs.d/quay.io/hosts.toml"
DECLARED_PATHS = {"file": [OWN_FILE], "lines": [FSTAB], "marked": [HOSTS]}
SWAP = "/swapfile none swap sw 0 0\n"
EDITS = [{"paths": [FSTAB], "edits": [{"regexp": r"^([^#\s]\S*\s+\S+\s+swap\s.*)$", "replace": r"# \1"}]}]
MODULES = "overlay\n"


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    return OwnedRoot(tmp_path)


def install(root: OwnedRoot) -> None:
    """Record, change and record, as a step does."""
    root.record("begin", DECLARED_PATHS, edits=EDITS)
    root.write(OWN_FILE, MODULES)
    if text := root.read(FSTAB):
        root.write(FSTAB, "".join(f"# {line}" if line == SWAP else line for line in text.splitlines(keepends=True)))
    root.record("finish", DECLARED_PATHS, edits=EDITS)


def test_a_new_file_is_absent_before_and_known_after(root: OwnedRoot) -> None:
    install(root)
    record = root.read_records()[OWN_FILE]
    assert record["before"] == "absent"
    assert record["after"].startswith("file 0644 ")
    assert FSTAB not in root.read_records(), "what the step did not change has no record"
    assert oct((root.path / RECORD).stat().st_mode)[-3:] == "600"


def test_the_file_of_somebody_else_is_copied_before_it_is_changed(root: OwnedRoot) -> None:
    root.write(FSTAB, SWAP, 0o600)
    install(root)
    (copy,) = (root.path / "var/lib/gpustack-cluster/before").iterdir()
    assert (copy.read_text(), oct(copy.stat().st_mode)[-3:]) == (SWAP, "600")
    process = root.run("restore", FSTAB)
    assert process.stdout == f"changed: restored {FSTAB}\n", process.stderr
    assert root.read(FSTAB) == SWAP
    assert oct((root.path / FSTAB[1:]).stat().st_mode)[-3:] == "600"


def test_a_second_installation_changes_no_byte_of_the_record(root: OwnedRoot) -> None:
    root.write(FSTAB, SWAP)
    install(root)
    before = (root.path / RECORD).read_bytes()
    install(root)
    assert (root.path / RECORD).read_bytes() == before


def test_an_existing_record_keeps_what_was_before(root: OwnedRoot) -> None:
    root.write(OWN_FILE, "of somebody else\n")
    install(root)
    root.write(OWN_FILE, "of an earlier release\n")
    install(root)
    assert root.run("restore", OWN_FILE).returncode == 0
    assert root.read(OWN_FILE) == "of somebody else\n"


@pytest.mark.parametrize("moment", ["during", "after"])
def test_lines_of_others_make_a_file_theirs(root: OwnedRoot, moment: str) -> None:
    """A mount that somebody adds while the step runs, or later, would be lost with the whole file."""
    root.write(FSTAB, SWAP)
    mount = "server:/data /data nfs defaults 0 0\n"
    if moment == "during":
        root.record("begin", DECLARED_PATHS, edits=EDITS)
        root.write(FSTAB, f"# {SWAP}{mount}")
        root.record("finish", DECLARED_PATHS, edits=EDITS)
    else:
        install(root)
        root.write(FSTAB, f"# {SWAP}{mount}")
        install(root)
    assert root.read_records()[FSTAB]["after"] == "edited"
    assert root.run("restore", FSTAB).returncode == 1
    assert root.read(FSTAB) == f"# {SWAP}{mount}"


def test_a_file_of_another_s_that_appears_meanwhile_is_not_ours(root: OwnedRoot) -> None:
    root.record("begin", DECLARED_PATHS)
    root.write(HOSTS, 'server = "https://mirror.example"\n')
    root.write(FSTAB, SWAP)
    root.record("finish", DECLARED_PATHS)
    assert root.read_records() == {}


def test_what_was_changed_since_and_is_not_written_again_stays_somebody_else_s(root: OwnedRoot) -> None:
    install(root)
    root.write(OWN_FILE, "overlay\nmine\n")
    root.record("begin", DECLARED_PATHS)
    root.record("finish", DECLARED_PATHS)
    line = root.read_lines()[1][OWN_FILE]
    assert line["after"] != line["now"]


def test_a_step_that_was_killed_leaves_its_intention(root: OwnedRoot) -> None:
    root.write(FSTAB, SWAP)
    root.record("begin", DECLARED_PATHS)
    root.write(OWN_FILE, MODULES)
    assert {path: record["after"] for path, record in root.read_records().items()} == {
        OWN_FILE: "",
        FSTAB: "",
        HOSTS: "",
    }
    install(root)
    assert root.read_records()[OWN_FILE]["before"] == "absent"
    assert root.read_records()[FSTAB]["after"].startswith("file ")


def test_files_named_by_their_digest_are_replaced_where_nobody_changed_them(root: OwnedRoot) -> None:
    declared_paths = {"file": ["/etc/s/rules-*"]}
    for name in ("1", "2"):
        root.record("begin", declared_paths, written=[f"/etc/s/rules-{name}"])
        root.write(f"/etc/s/rules-{name}", name)
        root.write("/etc/s/rules-of-a-person", "theirs")
        root.record("finish", declared_paths, written=[f"/etc/s/rules-{name}"])
    assert root.read("/etc/s/rules-1") is None
    assert root.read("/etc/s/rules-2") == "2"
    assert root.read("/etc/s/rules-of-a-person") == "theirs"
    root.write("/etc/s/rules-2", "changed")
    root.record("begin", declared_paths, written=[])
    root.record("finish", declared_paths, written=[])
    assert root.read("/etc/s/rules-2") == "changed"


def test_a_path_that_is_not_declared_is_refused(root: OwnedRoot) -> None:
    process = root.run("begin", stdin_document={"declared": {"file": ["/etc/s/rules-*"]}, "written": ["/etc/shadow"]})
    assert process.returncode == 1
    assert "/etc/shadow" in process.stderr
    assert not (root.path / RECORD).exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"version": 1}',
        '{"version": 1, "machine": "MACHINE", "records": {"/etc/x": 1}}',
        "\0" * 512,
        "[" * 20000,
    ],
    ids=["empty", "torn", "without records", "of another shape", "zeros", "deep"],
)
@pytest.mark.parametrize("command", ["begin", "finish", "read", "still", "clear"])
def test_a_torn_record_ends_every_command_and_changes_nothing(root: OwnedRoot, text: str, command: str) -> None:
    root.write(RECORD, text.replace("MACHINE", root.machine))
    root.write(OWN_FILE, MODULES)
    before = root.read_tree(), root.read(RECORD)
    process = root.run(command, stdin_document={"declared": DECLARED_PATHS})
    assert process.returncode == 1
    assert "ownership-record-unusable" in process.stderr
    assert "Traceback" not in process.stderr
    assert (root.read_tree(), root.read(RECORD)) == before


def test_a_record_of_another_machine_is_unusable(root: OwnedRoot) -> None:
    install(root)
    root.write("/etc/machine-id", "b" * 32)
    process = root.run("read")
    assert process.returncode == 1
    assert "another machine" in process.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_ends_the_step_before_it_begins(root: OwnedRoot) -> None:
    root.write("/var/lib/x", "")
    (root.path / "var/lib").chmod(0o500)
    process = root.run("begin", stdin_document={"declared": DECLARED_PATHS})
    assert process.returncode == 1
    assert "cannot be" in process.stderr


@pytest.mark.parametrize("limit", [0, 20, 200])
def test_a_full_disk_ends_the_step_before_it_begins_and_keeps_the_record(root: OwnedRoot, limit: int) -> None:
    """RLIMIT_FSIZE: files cannot grow beyond it, as on a disk that is full."""
    install(root)
    before = root.read(RECORD)
    root.write(FSTAB, SWAP * 40)
    shell = f"import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    shell += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    process = root.run("begin", stdin_document={"declared": DECLARED_PATHS}, program=shell + PROGRAM)
    assert process.returncode == 1
    assert "nothing was changed" in process.stderr
    assert root.read(RECORD) == before
    assert root.read(FSTAB) == SWAP * 40


def test_a_clock_that_jumps_decides_nothing(root: OwnedRoot) -> None:
    install(root)
    document = json.loads(root.read(RECORD) or "")
    for record in document["records"].values():
        record["at"] = "2106-02-07T06:28:15Z"
    root.write(RECORD, json.dumps(document), 0o600)
    install(root)
    assert root.read_lines()[1][OWN_FILE]["now"] == root.read_lines()[1][OWN_FILE]["after"]


def test_what_an_earlier_release_wrote_is_adopted_where_the_step_changes_nothing(root: OwnedRoot) -> None:
    other_file, data = "/etc/sysctl.d/90-gpustack.conf", "/var/lib/kubelet"
    declared_paths = {"file": [OWN_FILE, other_file], "lines": [FSTAB], "data": [data]}
    adopt = [OWN_FILE, other_file, FSTAB, data]
    root.write(OWN_FILE, MODULES)
    root.write(other_file, "of another release\n")
    root.write(FSTAB, SWAP)
    root.write(f"{data}/config.yaml", "x")
    root.record("begin", declared_paths)
    root.write(other_file, "of this release\n")
    root.record("finish", declared_paths, adopt=adopt)
    records = root.read_records()
    assert (records[OWN_FILE]["before"], records[OWN_FILE]["after"][:4]) == ("absent", "file")
    assert records[data]["before"] == "absent"
    assert records[other_file]["before"].startswith("file "), "it was not what this release writes: the copy stays"
    assert FSTAB not in records, "nobody knows what its lines were before"
    assert root.run("restore", other_file).returncode == 0
    assert root.read(other_file) == "of another release\n"


def test_nothing_is_adopted_unasked(root: OwnedRoot) -> None:
    root.write(OWN_FILE, MODULES)
    install(root)
    assert OWN_FILE not in root.read_records()


def test_a_registry_s_file_that_is_replaced_while_it_is_adopted_is_not_ours(root: OwnedRoot) -> None:
    root.write(HOSTS, 'server = "https://mirror.example"\n')
    root.record("begin", DECLARED_PATHS)
    root.record("finish", DECLARED_PATHS, adopt=[HOSTS])
    assert HOSTS not in root.read_records()


def test_a_machine_id_behind_a_link_is_read(root: OwnedRoot) -> None:
    place = root.path / "etc/machine-id"
    place.rename(root.path / "etc/id")
    place.symlink_to("id")
    install(root)
    assert json.loads(root.read(RECORD) or "")["machine"] == root.machine


@pytest.mark.parametrize("linked", [True, False])
def test_files_of_others_beside_the_copies_stay(root: OwnedRoot, linked: bool) -> None:
    copies, foreign_notes = root.path / RECORD.replace("owned.json", "before"), "/srv/theirs/notes"
    if linked:
        root.write(foreign_notes, "theirs")
        copies.parent.mkdir(parents=True)
        copies.symlink_to((root.path / foreign_notes[1:]).parent)
    install(root)
    root.write(f"{copies.relative_to(root.path)}/notes", "theirs")
    (root.path / OWN_FILE[1:]).unlink()
    process = root.run("clear")
    assert process.returncode == 0, process.stderr
    assert not (root.path / RECORD).exists()
    assert (copies / "notes").read_text() == "theirs"


def test_folders_without_end_are_no_reason_to_begin(root: OwnedRoot) -> None:
    folder = root.path / "etc/tree"
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("a", dir_fd=descriptor)
        descriptor_below = os.open("a", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = descriptor_below
    os.close(descriptor)
    process = root.run("begin", stdin_document={"declared": {"file": ["/etc/tree"]}})
    # Deeper than what pytest can remove.
    subprocess.run(["rm", "-r", folder], check=True)
    assert (process.returncode, "Traceback" in process.stderr) == (1, False)
    assert not (root.path / RECORD).exists()
