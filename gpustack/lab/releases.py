"""The Debian releases a lab host can have, and where this machine gets Debian packages from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpustack.errors import LabError
from gpustack.lab.commands import run

RELEASES = {"debian-12": "bookworm", "debian-13": "trixie"}
SETTINGS = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until", "Acquire::Check-Date")
SUITES = ("{}", "{}-updates", "{}-security")


@dataclass(frozen=True)
class Packages:
    """`sources` is a deb822 sources file, `settings` an apt.conf file, `certificates` PEM files by name."""

    sources: str
    settings: str
    certificates: dict[str, bytes]


def own_release(os_release: str) -> str:
    """The release of this machine, from the text of /etc/os-release; debian-12 where it is no Debian that a lab knows."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    found = f"{fields.get('ID', '').strip(chr(34))}-{fields.get('VERSION_ID', '').strip(chr(34))}"
    return found if found in RELEASES else "debian-12"


def chosen(count: int, wished: Sequence[str]) -> list[str]:
    """The release of each of `count` hosts: the wished ones in turn ("debian-12,debian-13" counts as two), else the machine's."""
    turns = [release.strip() for wish in wished for release in wish.split(",")]
    turns = turns or [own_release(Path("/etc/os-release").read_text())]
    return [turns[i % len(turns)] for i in range(count)]


def packages(release: str) -> Packages:
    """What `release` is installed from: this machine's own apt sources with the codename swapped, its proxies and CAs."""
    targets = run(["apt-get", "indextargets", "--format", "$(CREATED_BY) $(REPO_URI) $(RELEASE) $(COMPONENT)"])
    config = run(["apt-config", "dump", "Acquire"])
    extra = sorted(Path("/usr/local/share/ca-certificates").rglob("*.crt"))
    return Packages(sources(release, targets), settings(config), {path.name: path.read_bytes() for path in extra})


def sources(release: str, targets: str) -> str:
    """A deb822 file for `release` from `apt-get indextargets` lines "Packages URI SUITE COMPONENT" of any Debian release.

    Only the archive itself is taken (component main of the release, its updates and its security suite): a lab host is
    as bare as a fresh installation. Raises LabError when the machine knows no Debian archive.
    """
    known = {pattern.format(codename): pattern for codename in RELEASES.values() for pattern in SUITES}
    found: dict[tuple[str, str], None] = {}
    for line in targets.splitlines():
        kind, uri, suite, component = line.split(" ", 3)
        if kind == "Packages" and component == "main" and suite in known:
            found[(uri, known[suite].format(RELEASES[release]))] = None
    if not found:
        raise LabError(
            "lab-no-debian-archive",
            "this machine's apt knows no Debian archive to make hosts from",
            "searched for component main of bookworm or trixie in /etc/apt",
            "apt-get indextargets",
        )
    return "\n".join(
        f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
        for uri, suite in found
    )


def settings(dump: str) -> str:
    """Those lines of `apt-config dump` that a host behind the same proxy or mirror needs as well."""
    wanted = tuple(f"{key} " for key in SETTINGS) + tuple(f"{key}::" for key in SETTINGS)
    return "".join(f"{line}\n" for line in dump.splitlines() if line.startswith(wanted) and not line.endswith('"";'))
