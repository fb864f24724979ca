"""The releases that a lab host can have, and the sources of their Debian packages.

All are Debian. `old-tools` and `new-tools` have the os-release of Ubuntu 22.04 and 26.04, and tools of about their age:
docs/simulated.md says what they are and what they are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab.commands import run

RELEASES = {"debian-12": "bookworm", "debian-13": "trixie", "old-tools": "bullseye", "new-tools": "trixie"}
# A second suite of the archive, for what roots/<release>/preferences names.
NEWER = {"old-tools": "bookworm", "new-tools": "sid"}
SUITES = ("{}", "{}-updates", "{}-security")
SETTINGS = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until", "Acquire::Check-Date")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Packages:
    """Describe the sources of a root. `sources` is a deb822 sources file, `newer` that of a second suite while a root
    is built or empty, `settings` an apt.conf file, `certificates` PEM files by name."""

    sources: str
    newer: str
    settings: str
    certificates: dict[str, bytes]


def select_releases(count: int, requested_releases: Sequence[str]) -> list[str]:
    """Select the release of each of `count` hosts: the requested ones in turn ("A,B" requests two), or the machine's
    own."""
    turns = [release.strip() for wish in requested_releases for release in wish.split(",")]
    turns = turns or [parse_own_release(Path("/etc/os-release").read_text())]
    return [turns[i % len(turns)] for i in range(count)]


def parse_own_release(os_release: str) -> str:
    """Parse the release of this machine from the text of /etc/os-release. Return debian-12 where it is none that a lab
    has."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    identity = "-".join(fields.get(key, "").strip("\"'") for key in ("ID", "VERSION_ID"))
    return identity if identity in RELEASES else "debian-12"


def build_packages(release: str) -> Packages:
    """Build the sources of `release`: this machine's apt sources with the codename swapped, its proxies and CAs."""
    targets = run(["apt-get", "indextargets", "--format", "$(CREATED_BY) $(REPO_URI) $(RELEASE) $(COMPONENT)"])
    return Packages(
        render_sources(RELEASES[release], targets, SUITES),
        render_sources(NEWER[release], targets, SUITES[:1]) if release in NEWER else "",
        *read_environment(),
    )


def read_environment() -> tuple[str, dict[str, bytes]]:
    """Read the apt settings of this machine that any host on its network needs, and the PEM files that it trusts."""
    certificates = sorted(Path("/usr/local/share/ca-certificates").rglob("*.crt"))
    pem_files = {path.name: path.read_bytes() for path in certificates}
    return filter_settings(run(["apt-config", "dump", "Acquire"])), pem_files


def render_sources(codename: str, targets: str, suites: Sequence[str]) -> str:
    """Render a deb822 file for `suites` of a release, from `apt-get indextargets` lines "Packages URI SUITE COMPONENT"
    of any.

    Only the archive itself is taken (component main of the release, its updates and its security suite): a lab host is
    as bare as a fresh installation. Raise LabError when the machine knows no Debian archive.
    """
    suite_templates = {suite.format(codename): suite for codename in RELEASES.values() for suite in SUITES}
    archives: dict[tuple[str, str], None] = {}
    for line in targets.splitlines():
        kind, uri, suite, component = line.split(" ", 3)
        if kind == "Packages" and component == "main" and suite_templates.get(suite) in suites:
            archives[uri, suite_templates[suite].format(codename)] = None
    if not archives:
        raise LabError(
            "lab-no-debian-archive",
            "The apt of this machine knows no Debian archive to make hosts from.",
            f"Looked in /etc/apt for the component main of {' or '.join(RELEASES.values())}.",
            Command("apt-get", "indextargets"),
        )
    return "\n".join(
        f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n" for uri, suite in archives
    )


def filter_settings(dump: str) -> str:
    """Filter those lines of `apt-config dump` that a host behind the same proxy or mirror needs as well."""
    prefixes = tuple(f"{key}{end}" for key in SETTINGS for end in (" ", "::"))
    return "".join(f"{line}\n" for line in dump.splitlines() if line.startswith(prefixes) and not line.endswith(' "";'))
