"""Programs of the building machine's own Debian release, for images that need more than one static program.

Packages come from the machine's own apt sources, with apt's own checks, into a private apt directory: nothing is
installed and no root is needed. Versions and checksums go into the manifest.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.programs import run
from gpustack.command import Command
from gpustack.errors import BundleError

PACKAGES = ("busybox", "conntrack", "iproute2", "iptables", "nftables")
SOURCES = ("sources.list", "sources.list.d/debian.sources", "sources.list.d/ubuntu.sources")
APT = Path("/etc/apt")


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha256: str


def part() -> Part:
    """out/root holds the unpacked packages with all they depend on, out/packages.json says which."""
    return Part("userland", inputs(PACKAGES), lambda out: unpack(out, PACKAGES))


def inputs(names: Sequence[str]) -> str:
    """What packages of these names follow from."""
    release = {}
    for line in Path("/etc/os-release").read_text().splitlines():
        key, _, value = line.partition("=")
        release[key] = value.strip('"')
    return digest(names, release["ID"], release["VERSION_ID"], Path(__file__))


def packages(userland: Made) -> list[Package]:
    return [Package(**entry) for entry in json.loads(userland["packages.json"].read_text())]


def unpack(out: Path, names: Sequence[str]) -> None:
    private = out.parent / "apt"
    options = _private_apt(private)
    run(["apt-get", *options, "update"], limit=300)
    wanted = ["--no-install-recommends", "--download-only", "--yes", "install", *names]
    run(["apt-get", *options, *wanted], limit=600)
    found = []
    for deb in sorted((private / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "-x", deb, out / "root"], limit=60)
        name, version = run(["dpkg-deb", "-W", "--showformat=${Package}\n${Version}", deb], limit=20).split("\n")
        found.append({"name": name, "version": version, "sha256": hashlib.sha256(deb.read_bytes()).hexdigest()})
    (out / "packages.json").write_text(json.dumps(found, indent=1))
    shutil.rmtree(private)


def _private_apt(home: Path) -> list[str]:
    """Options that give apt directories of its own and an empty list of installed packages, so that it fetches all."""
    for directory in ("etc/sources.list.d", "state/lists/partial", "cache/archives/partial"):
        (home / directory).mkdir(parents=True)
    for source in SOURCES:
        if (APT / source).is_file():
            shutil.copy(APT / source, home / "etc" / source)
    if not any((home / "etc").rglob("*.*")):
        raise BundleError(
            "bundle-apt-sources",
            f"no Debian or Ubuntu source under {APT}",
            ", ".join(SOURCES),
            Command("apt-get", "update"),
        )
    (home / "status").touch()
    settings = {
        "Dir::Etc::SourceList": home / "etc/sources.list",
        "Dir::Etc::SourceParts": home / "etc/sources.list.d",
        "Dir::State": home / "state",
        "Dir::State::Status": home / "status",
        "Dir::Cache": home / "cache",
        "Dir::Log": home,
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "true",
        "APT::Keep-Downloaded-Packages": "true",
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def closure(root: Path, programs: list[str]) -> dict[str, Path]:
    """The programs (paths in the unpacked root) and every library they need: path in an image -> file.

    In an image /bin, /sbin, /lib and /lib64 lead into /usr, as on any Debian of today. Raises BundleError for a library
    that no package brought.
    """
    libraries = {path.name: path for path in sorted(root.glob("**/*.so*")) if "xtables" not in path.parts}
    files: dict[str, Path] = {}
    waiting = [(_merged(program), root / program.lstrip("/")) for program in programs]
    while waiting:
        place, path = waiting.pop()
        if place in files:
            continue
        files[place] = inside(root, path)
        output = run(["readelf", "-ld", files[place]], limit=20)
        needed = re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", output)
        loader = re.findall(r"program interpreter: (\S+)\]", output)
        for name in [*needed, *(Path(path).name for path in loader)]:
            if name not in libraries:
                raise BundleError(
                    "bundle-library-missing", f"{place} needs {name}, which no package brought", str(root)
                )
            found = libraries[name]
            waiting.append((_merged("/" + str(found.relative_to(root))), found))
        for path_ in loader:
            files.setdefault(_merged(path_), inside(root, libraries[Path(path_).name]))
    return files


def inside(root: Path, path: Path) -> Path:
    """The file behind a link, where an absolute target is meant below the root."""
    while path.is_symlink():
        target = path.readlink()
        path = root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    return path


def _merged(path: str) -> str:
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path)
