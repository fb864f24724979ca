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

from gpustack.bundle.programs import run
from gpustack.command import Command
from gpustack.errors import BundleError
from gpustack_lab.bundle.cache import BuiltPart, Part, digest

PACKAGES = ("busybox", "conntrack", "iproute2", "iptables", "nftables")
SOURCES = ("sources.list", "sources.list.d/debian.sources", "sources.list.d/ubuntu.sources")
APT = Path("/etc/apt")


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha256: str


def declare_part() -> Part:
    """Declare the part with the unpacked packages and their dependencies in root, and their names in packages.json."""
    return Part("userland", digest_inputs(PACKAGES), lambda output_dir: unpack_packages(output_dir, PACKAGES))


def digest_inputs(names: Sequence[str]) -> str:
    """Compute the digest of everything that packages of these names depend on."""
    release = {}
    for line in Path("/etc/os-release").read_text().splitlines():
        key, _, value = line.partition("=")
        release[key] = value.strip('"')
    return digest(names, release["ID"], release["VERSION_ID"], Path(__file__))


def read_packages(userland: BuiltPart) -> list[Package]:
    return [Package(**entry) for entry in json.loads(userland["packages.json"].read_text())]


def unpack_packages(output_dir: Path, names: Sequence[str]) -> None:
    private = output_dir.parent / "apt"
    options = _prepare_apt(private)
    run(["apt-get", *options, "update"], limit=300)
    install_words = ["--no-install-recommends", "--download-only", "--yes", "install", *names]
    run(["apt-get", *options, *install_words], limit=600)
    packages = []
    for deb in sorted((private / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "-x", deb, output_dir / "root"], limit=60)
        name, version = run(["dpkg-deb", "-W", "--showformat=${Package}\n${Version}", deb], limit=20).split("\n")
        packages.append({"name": name, "version": version, "sha256": hashlib.sha256(deb.read_bytes()).hexdigest()})
    (output_dir / "packages.json").write_text(json.dumps(packages, indent=1))
    shutil.rmtree(private)


def _prepare_apt(home: Path) -> list[str]:
    """Prepare the options that give apt directories of its own and an empty list of installed packages, so that it
    fetches all of them."""
    for directory in ("etc/sources.list.d", "state/lists/partial", "cache/archives/partial"):
        (home / directory).mkdir(parents=True)
    for source in SOURCES:
        if (APT / source).is_file():
            shutil.copy(APT / source, home / "etc" / source)
    if not any(path.is_file() for path in (home / "etc").rglob("*")):
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


def resolve_libraries(root: Path, programs: list[str]) -> dict[str, Path]:
    """Resolve the programs (paths in the unpacked root) and every library they need: path in an image -> file.

    In an image /bin, /sbin, /lib and /lib64 lead into /usr, as on any Debian of today. Raise BundleError for a library
    that no package has.
    """
    libraries = {path.name: path for path in sorted(root.glob("**/*.so*")) if "xtables" not in path.parts}
    files: dict[str, Path] = {}
    waiting = [(_normalize_path(program), root / program.lstrip("/")) for program in programs]
    while waiting:
        place, path = waiting.pop()
        if place in files:
            continue
        files[place] = resolve_link(root, path)
        output = run(["readelf", "-ld", files[place]], limit=20)
        needed = re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", output)
        loader = re.findall(r"program interpreter: (\S+)\]", output)
        for name in [*needed, *(Path(path).name for path in loader)]:
            if name not in libraries:
                raise BundleError(
                    "bundle-library-missing", f"{place} needs {name}, which no package brought", str(root)
                )
            library = libraries[name]
            waiting.append((_normalize_path("/" + str(library.relative_to(root))), library))
        for path_ in loader:
            files.setdefault(_normalize_path(path_), resolve_link(root, libraries[Path(path_).name]))
    return files


def resolve_link(root: Path, path: Path) -> Path:
    """Resolve a link, whose absolute target is meant below the root, to its file."""
    while path.is_symlink():
        target = path.readlink()
        path = root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    return path


def _normalize_path(path: str) -> str:
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path)
