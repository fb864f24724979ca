"""`lab start` boots a lab as its record says; only real hosts show that they come up."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from gpustack.errors import LabError
from gpustack_lab.lab import (
    bring_up,
    capabilities,
    containers,
    hosts,
    identity,
    inventory,
    leftovers,
    locks,
    mirror,
    network,
    pool,
    state,
    sysctls,
)
from gpustack_lab.lab.mirror import Mirror
from gpustack_lab.lab.state import Source
from tests.unit.lab.records import HOSTS, record

SOURCE = Source("http://10.77.3.1:8480", "A" * 40)
MIRROR = Mirror(lambda address: [address], 8480, "A" * 40, "/srv/bundle")
WORK: tuple[tuple[ModuleType, str], ...] = (
    (capabilities, "require"),
    (pool, "open_pool"),
    (leftovers, "remove_orphan_files"),
    (sysctls, "raise_limits"),
    (network, "raise_network"),
    (identity, "make_keys"),
    (mirror, "start"),
    (containers, "make"),
    (hosts, "boot"),
    (inventory, "write_inventories"),
    (hosts, "wait_for_ssh"),
    (mirror, "wait"),
)


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The actions on the machine, in order."""
    log: list[str] = []
    monkeypatch.setattr(locks, "MACHINE", tmp_path / "machine")
    monkeypatch.setattr(state, "read_boot_id", lambda: "another boot")
    for module, name in WORK:
        monkeypatch.setattr(module, name, lambda *_, name=name, **__: log.append(name))
    (tmp_path / "machine").mkdir()
    return log


def test_a_stopped_lab_starts_with_the_options_of_its_creation(actions: list[str]) -> None:
    fitted_hosts = (replace(HOSTS[0], gpus=2, model="L4"), HOSTS[1])
    stopped_record = replace(
        record(state.locate_state("two"), source=SOURCE), hosts=fitted_hosts, stopped=True, bundle="/srv/bundle"
    )
    state.write(stopped_record)
    (locks.MACHINE / "two.json").unlink()  # as after a boot of the machine
    started_record = bring_up.start("two", mirror=MIRROR, report=lambda _: None)
    assert started_record == replace(stopped_record, stopped=False, boot="another boot") == state.read_running("two")
    assert actions == [name for _, name in WORK[:8]] + ["make"] + [name for _, name in WORK[8:]]


def test_a_lab_keeps_a_mirror_that_others_run(actions: list[str]) -> None:
    state.write(record(state.locate_state("two"), source=SOURCE))
    assert bring_up.start("two", mirror=None, report=lambda _: None).source == SOURCE
    assert actions.count("boot") == 1
    assert "start" not in actions


def test_a_lab_does_not_start_in_the_subnet_of_another(actions: list[str]) -> None:
    state.write(replace(record(state.locate_state("two")), stopped=True))
    state.write(replace(record(state.locate_state("three")), name="three"))
    with pytest.raises(LabError, match="is that of lab three") as excinfo:
        bring_up.start("two", mirror=None, report=lambda _: None)
    assert excinfo.value.reference == "lab-no-free-subnet"
    assert "boot" not in actions
