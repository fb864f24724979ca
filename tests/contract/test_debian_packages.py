"""requirements/debian.txt, which `make env` installs, holds every package that the lab and the bundle ask for."""

from pathlib import Path

from gpustack_lab.bundle.build import PACKAGES
from gpustack_lab.lab.capabilities import PROGRAMS

LIST = Path(__file__).parents[2] / "requirements" / "debian.txt"
# What the product's own scripts call, which tests run on this machine: playbooks/files/fetch.sh and scripts/upstream.
SCRIPT_PROGRAMS = {"curl", "gpg", "gpgv", "openssl"}
# On every Debian. Go has no package that is new enough: it comes with requirements/go.txt.
ESSENTIAL = {"apt", "dpkg", PACKAGES["go"]}


def test_what_the_lab_and_the_bundle_need_is_installed_by_make_env() -> None:
    listed_packages = {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}
    assert sorted({*PROGRAMS.values(), *PACKAGES.values(), *SCRIPT_PROGRAMS} - listed_packages - ESSENTIAL) == []
