"""Doctor on hosts that lie, rave, hang, die in the middle, have no python3, or talk: it says what it knows, what it
cannot tell is unknown, and nothing of theirs reaches the terminal. host1 beside it is judged as ever."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.doctor.diagnose import list_probes
from gpustack_lab import lab
from tests.lab.breaking import select_checks
from tests.lab.conftest import Run
from tests.lab.firewalls import run_as_root
from tests.lab.hostile import (
    ALONE,
    HOSTILE,
    PROGRAMS,
    assert_harmless,
    find_calling,
    index_answers,
    install_talking_login,
    put,
)
from tests.lab.logins import QUESTION, add_user_with_password

pytestmark = [pytest.mark.lab, pytest.mark.slow]
Place = tuple[str, str]
Judgement = dict[Place, dict[str, Any]]
# The shell reads /proc/sys itself, and a lab's kernel has no AppArmor: no program is asked for what these look at. The
# space of a disk and of the memory are others each time.
NO_PROGRAM = {"kernel.sysctls", "kernel.modules", "storage.disk", "etcd.slow-requests"}
# Of these answers it reads a part that the shell itself tells.
ANOTHER_PART = {("flannel-subnet-env-missing", "flannel.host"), ("host-reboot-pending-kernel", "kernel.boot")}


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("hostile-doctor", ["debian-12", "debian-13"], served=False)


@pytest.fixture(scope="module")
def before(two: lab.Lab, gpustack: Run) -> Judgement:
    return run_doctor(gpustack, two.inventory)[1]


@pytest.fixture
def spoil(two: lab.Lab) -> Iterator[Callable[..., None]]:
    yield lambda names, script: put(two, names, script)
    put(two, (), "")


def run_doctor(gpustack: Run, inventory: Path) -> tuple[dict[str, Any], Judgement]:
    """Run the doctor, and return the document with the judgement of every fault and state at every place. There is no
    cluster: the doctor does not find it healthy."""
    result = gpustack("doctor", "-i", inventory, "-o", "json", "-v", code=None, limit=120)
    assert result.returncode in (1, 8), result.stderr
    assert_harmless(result)
    document = json.loads(result.stdout)
    return document, {(judgement["id"], judgement["location"]): judgement for judgement in document["judgements"]}


def find_spoiled(after: Judgement, before: Judgement, names: tuple[str, ...]) -> set[str]:
    """Find the probes of host2 that call one of these programs and were answered otherwise than before. Fail where
    something is ruled out by such an answer, or host1 is judged otherwise. An answer that is as before, with what was
    found, is no spoiled one."""
    called_probes = find_calling(list_probes(), names) - NO_PROGRAM
    found_probes: set[str] = set()
    wrong: dict[str, str] = {}
    for (id, location), judgement in after.items():
        was = before.get((id, location))
        if location == "host1" and was:
            assert judgement["outcome"] == was["outcome"], (id, judgement)
        if location != "host2":
            continue
        values, earlier_values = index_answers(judgement), index_answers(was) if was else {}
        spoiled_probes = {
            probe for probe, results in values.items() if results != earlier_values.get(probe)
        } & called_probes
        found_probes |= spoiled_probes
        is_same = was is not None and judgement["actual"] == was["actual"]
        is_explained = is_same and (
            set(values) - spoiled_probes or all((id, probe) in ANOTHER_PART for probe in spoiled_probes)
        )
        if spoiled_probes and judgement["outcome"] == "ok" and not is_explained:
            changes = [(probe, values[probe]) for probe in spoiled_probes]
            wrong[id] = f"{judgement['subject']}: {judgement['actual']}, of {changes}"[:600]
    assert not wrong, "\n".join(f"{id}: {reason}" for id, reason in wrong.items())
    return found_probes


@pytest.mark.parametrize("behaviour", HOSTILE)
def test_nothing_is_ruled_out_by_a_hostile_answer(
    two: lab.Lab, before: Judgement, spoil: Callable[..., None], gpustack: Run, behaviour: str
) -> None:
    spoil(PROGRAMS, HOSTILE[behaviour])
    document, judgements = run_doctor(gpustack, two.inventory)
    spoiled_probes = find_spoiled(judgements, before, PROGRAMS)
    print(f"hostile answers: {len(spoiled_probes)} ({behaviour}): {', '.join(sorted(spoiled_probes))}")
    assert len(spoiled_probes) > 8
    assert not document["healthy"]
    for output in ("human", "html", "junit"):
        assert_harmless(gpustack("doctor", "-i", two.inventory, "-o", output, code=None))


@pytest.mark.parametrize("behaviour", ALONE)
def test_nothing_is_ruled_out_by_one_hostile_program(
    two: lab.Lab, before: Judgement, spoil: Callable[..., None], gpustack: Run, behaviour: str
) -> None:
    name, script = ALONE[behaviour]
    spoil((name,), script)
    assert find_spoiled(run_doctor(gpustack, two.inventory)[1], before, (name,))


def test_without_python_only_its_check_fails(two: lab.Lab, before: Judgement, gpustack: Run) -> None:
    """The step reports it; the doctor asks without python3 and finds the same as before, but for that check."""
    run_as_root(two, "host2", "mkdir /root/pythons; mv /usr/bin/python3* /root/pythons")
    try:
        judgements = run_doctor(gpustack, two.inventory)[1]
        document = json.loads(gpustack("verify", "-i", two.inventory, "-o", "json", code=None).stdout)
    finally:
        run_as_root(two, "host2", "mv /root/pythons/* /usr/bin; rmdir /root/pythons")
    lost_places = {
        place
        for place, judgement in judgements.items()
        if judgement["outcome"] == "unknown" and before.get(place, judgement)["outcome"] != "unknown"
    }
    assert lost_places == set()
    assert "prereqs/python@host2" in select_checks(document, "failed")


def test_without_the_sudo_password_nothing_is_ruled_out(two: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    """The doctor names the password of host2 alone, and hides nothing of host1."""
    add_user_with_password(two, "host2")
    folder = tmp_path / "inventory"
    shutil.copytree(two.inventory, folder)
    hosts = yaml.safe_load((folder / "hosts.yml").read_text())
    hosts["all"]["children"]["kube_node"]["hosts"]["host2"] |= {"ansible_user": QUESTION}
    (folder / "hosts.yml").write_text(yaml.safe_dump(hosts))
    document, judgements = run_doctor(gpustack, folder)
    values = {host["name"]: host for host in document["hosts"]}
    assert (values["host1"]["unreachable"], values["host2"]["reference"]) == (False, "host-sudo-password")
    assert [root["id"] for root in document["roots"] if root["locations"] == ["host2"]] == ["host-sudo-password"]
    # What is ruled out there is so by how it was reached.
    ruled_out = [
        judgement
        for (_, location), judgement in judgements.items()
        if location == "host2" and judgement["outcome"] == "ok"
    ]
    assert [judgement["id"] for judgement in ruled_out if judgement["evidence"]] == []


def test_a_login_that_talks_changes_nothing(two: lab.Lab, before: Judgement, gpustack: Run) -> None:
    """The hosts stay like that."""
    install_talking_login(two)
    judgements = run_doctor(gpustack, two.inventory)[1]
    assert {place: judgement["outcome"] for place, judgement in judgements.items()} == {
        place: judgement["outcome"] for place, judgement in before.items()
    }


def test_a_host_that_dies_in_the_middle_changes_no_other(
    two: lab.Lab, before: Judgement, spoil: Callable[..., None], gpustack: Run
) -> None:
    """The first question that asks for a package kills its sshd and all that it started. The test is the last one:
    OpenSSH may then refuse this machine for a while (PerSourcePenalties)."""
    spoil(("dpkg-query",), "pkill -9 -f sshd-session; pkill -9 sshd; kill -9 -1")
    _, judgements = run_doctor(gpustack, two.inventory)
    unknown = {
        id
        for (id, location), judgement in judgements.items()
        if location == "host2" and judgement["outcome"] == "unknown"
    }
    unknown_ids = {id for id in unknown if before.get((id, "host2"), {"outcome": "unknown"})["outcome"] != "unknown"}
    assert len(unknown_ids) > 10
    assert {
        (id, "host1"): judgement["outcome"] for (id, location), judgement in judgements.items() if location == "host1"
    } == {(id, "host1"): judgement["outcome"] for (id, location), judgement in before.items() if location == "host1"}
