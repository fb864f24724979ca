from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab.lab.containers import build_nspawn_command
from gpustack_lab.lab.request import Request, judge_request, require_same
from gpustack_lab.lab.state import MOST_HOSTS, Host
from tests.unit.lab.records import HOSTS, record


def find_refusal(request: Request) -> LabError | None:
    try:
        judge_request(request, mirrored=False)
    except LabError as error:
        return error
    return None


def test_a_host_cannot_reach_what_is_the_machine_s_own(tmp_path: Path) -> None:
    words = build_nspawn_command(record(tmp_path), HOSTS[0], cgroup=1, modules=True)
    assert "--system-call-filter=~swapon swapoff" in words
    assert "--drop-capability=CAP_SYS_TIME,CAP_SYS_MODULE" in words


def test_only_v1_gets_words_for_pid_1(tmp_path: Path) -> None:
    assert build_nspawn_command(record(tmp_path), HOSTS[0], cgroup=2, modules=False)[-1] == "/.lab-init"
    assert build_nspawn_command(record(tmp_path), HOSTS[0], cgroup=1, modules=False)[-2].startswith("systemd.unified")


def test_hosts_of_two_labs_have_two_machine_names(tmp_path: Path) -> None:
    first_record, second_record = (record(tmp_path), record(tmp_path))
    object.__setattr__(second_record, "name", "three")
    names = {build_nspawn_command(lab, HOSTS[0], cgroup=1, modules=False)[3] for lab in (first_record, second_record)}
    assert len(names) == 2


def test_links_of_hosts_have_names_that_nspawn_need_not_cut(tmp_path: Path) -> None:
    """systemd-nspawn(1), --network-veth: a name longer than the kernel allows is cut and hashed."""
    hosts = tuple(Host(f"host{i + 1}", "debian-12", f"10.77.3.{11 + i}") for i in range(MOST_HOSTS))
    record_of_hosts = replace(record(tmp_path), hosts=hosts)
    links = {record_of_hosts.format_link_name(host) for host in hosts}
    assert len(links) == MOST_HOSTS
    assert max(map(len, links)) <= 15


@pytest.mark.parametrize(
    ("name", "releases", "addresses", "complaints"),
    [
        ("Lab", ["debian-12"], 0, 1),
        ("machine", ["debian-12"], 0, 1),
        ("../up", ["debian-12"], 0, 1),
        ("seed-debian-12", ["debian-12"], 0, 1),
        ("ok", ["debian-11", "debian-11"], 0, 1),
        ("ok", [], 0, 1),
        ("no good", ["debian-11"], 1000, 3),
    ],
)
def test_all_errors_are_reported_at_once(name: str, releases: list[str], addresses: int, complaints: int) -> None:
    refusal = find_refusal(Request(name, releases, addresses))
    assert refusal is not None
    assert refusal.reference == "lab-bad-request"
    assert len(refusal.reason.splitlines()) == complaints


@pytest.mark.parametrize("gpus", [(0, ""), (2, "T4"), (1, "H100")])
def test_a_lab_with_other_gpus_is_another(tmp_path: Path, gpus: tuple[int, str]) -> None:
    record_with_gpus = replace(record(tmp_path), hosts=tuple(replace(host, gpus=2, model="H100") for host in HOSTS))
    releases = [host.os for host in HOSTS]
    require_same(record_with_gpus, Request("two", releases, gpus="2"))
    with pytest.raises(LabError, match="up with other hosts") as excinfo:
        require_same(record_with_gpus, Request("two", releases, gpus=f"host1:2,host2:{gpus[0]}x{gpus[1] or 'H100'}"))
    assert "host1 with 2 GPUs H100" in excinfo.value.reason


def test_a_good_request_is_accepted() -> None:
    assert find_refusal(Request("demo-2", ["debian-12", "debian-13"], 30)) is None
