"""Swap units that a site masked stay masked after a reset: only what the step noted as masked is unmasked."""

from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks
from tests.worlds.programs.own_root import Machine, make_machine

FILES = locate_playbooks() / "roles" / "prereqs" / "files"
EFFECT, RESET = ((FILES / name).read_text() for name in ("effect.sh", "reset.sh"))
REMOVE = (locate_playbooks() / "files" / "remove-agreed.sh").read_text()
UNITS, MASKED_UNITS = "/etc/systemd/system", "/var/lib/gpustack-cluster/masked-swap"
# The lines of `systemctl list-unit-files --no-legend --plain '*.swap'`, systemd 252; mask fails as it does for a unit
# file in /etc, and makes the link that systemd makes.
PROGRAMS = f"""set -eu
mkdir -p {UNITS} {Path(MASKED_UNITS).parent}
modprobe() {{ :; }}
swapoff() {{ :; }}
sysctl() {{ echo 1; }}
systemctl() {{
  for last in "$@"; do :; done
  case $1 in
    list-unit-files) cat /units ;;
    show) case $last in var-extra*) echo "{UNITS}/$last" ;; *) echo "/run/systemd/generator/$last" ;; esac ;;
    mask) [ ! -e "{UNITS}/$last" ] && ln -sfn /dev/null "{UNITS}/$last" ;;
    *) echo "systemctl $1 $last" ;;
  esac
}}
SWAP=off TIME_SYNC=external
"""
AGREED_PATHS = 'is_agreed() { case "$1 $2" in %s) return 0 ;; esac; return 1; }\n'


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = make_machine(tmp_path)
    (machine.root / "units").write_text(
        "dev-sda2.swap    generated -\ndev-sdb1.swap    masked    enabled\nvar-extra.swap   enabled   enabled\n"
    )
    folder = machine.root / UNITS.lstrip("/")
    folder.mkdir(parents=True)
    (folder / "dev-sdb1.swap").symlink_to("/dev/null")
    (folder / "var-extra.swap").write_text("[Swap]\nWhat=/var/extra\n")
    return machine


def list_masked(machine: Machine) -> list[str]:
    return sorted(path.name for path in (machine.root / UNITS.lstrip("/")).iterdir() if path.is_symlink())


def test_a_reset_unmasks_what_the_step_masked(machine: Machine) -> None:
    process = machine.run(PROGRAMS, EFFECT)
    assert process.returncode == 0, process.stderr
    assert "systemctl disable var-extra.swap" in process.stdout
    assert (machine.root / MASKED_UNITS.lstrip("/")).read_text() == "dev-sda2.swap\n"
    assert list_masked(machine) == ["dev-sda2.swap", "dev-sdb1.swap"]
    process = machine.run(PROGRAMS, REMOVE, AGREED_PATHS % f"'remove {MASKED_UNITS}'", RESET)
    assert process.returncode == 0, process.stderr
    assert "systemctl daemon-reload" in process.stdout
    assert list_masked(machine) == ["dev-sdb1.swap"]
    assert not (machine.root / MASKED_UNITS.lstrip("/")).exists()


def test_the_masks_of_the_site_stay_where_fstab_is_restored(machine: Machine) -> None:
    """The site masked the unit of a line of fstab that the step took out."""
    (machine.root / "etc" / "fstab").write_text("# /dev/sdb1 none swap sw 0 0\n")
    restore = 'drop() { [ "$1" != /etc/fstab ] || echo "/dev/sdb1 none swap sw 0 0" >/etc/fstab; }\n'
    process = machine.run(PROGRAMS, REMOVE, AGREED_PATHS % "'restore /etc/fstab'", restore, RESET)
    assert process.returncode == 0, process.stderr
    assert "#" not in (machine.root / "etc" / "fstab").read_text()
    assert list_masked(machine) == ["dev-sdb1.swap"]


def test_a_note_that_somebody_changed_unmasks_nothing(machine: Machine) -> None:
    assert machine.run(PROGRAMS, EFFECT).returncode == 0
    process = machine.run(PROGRAMS, REMOVE, AGREED_PATHS % "'remove /etc/modules-load.d/gpustack.conf'", RESET)
    assert process.returncode == 0, process.stderr
    assert list_masked(machine) == ["dev-sda2.swap", "dev-sdb1.swap"]
