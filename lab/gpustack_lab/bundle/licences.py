"""Licence texts of the parts of others in a bundle, and the places of their sources: files/licences.tar.gz.

    go/<module>@<version>/…           LICENSE, NOTICE and COPYING files of every module inside the Go programs
    debian/<package>_<version>/…      the packages' copyright files
    PROGRAMS                          which modules each program is made of, as `go version -m` says
    SOURCES                           how to come by the source of each

They are collected when a bundle is put together, from Go's module cache: no program is compiled anew for it.
"""

import gzip
import io
import os
import re
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.errors import BundleError
from gpustack_lab.bundle import files, userland
from gpustack_lab.bundle.cache import BuiltPart, Part, digest

FILE = "licences.tar.gz"
NAMED = re.compile(r"(?i)(licen[cs]e|notice|copying|copyright|patents)([.-].*)?")
# Linked into static programs from the building machine: libseccomp into runc, libc into runc, Flannel and pause.
LINKED = ("libseccomp-dev", "libc6-dev")
DOCUMENTS = Path("/usr/share/doc")
SOURCES = """\
Go modules: `go mod download -json MODULE@VERSION`, from any proxy of Go modules. PROGRAMS has the checksum of each.
Nothing was patched. How they are compiled stands in gpustack's source, gpustack_lab/bundle/tools.py and
gpustack_lab/bundle/modules/.

Debian packages: `apt-get source PACKAGE=VERSION` with the sources of their release, or Debian's snapshot archive. Their
versions stand in the names of the folders below debian/; those in debian/linked/ are libraries of the building
machine that are linked into static programs.

Python libraries: `pip download --no-binary :all: NAME==VERSION`. Their versions stand in requirements/serve.txt of
gpustack's source, their licences in the image, below /app.
"""


def declare_part(programs: Iterable[BuiltPart], debian: Sequence[BuiltPart]) -> Part:
    """Declare the part with licences.tar.gz. `debian` are the parts that hold packages."""
    sorted_programs = sorted(programs, key=lambda built_part: built_part.name)
    inputs = digest(
        Path(__file__),
        [program.contents for program in sorted_programs],
        [debian_part.contents for debian_part in debian],
    )
    return Part("licences", inputs, lambda output_dir: _write(sorted_programs, debian, output_dir))


def _write(programs: list[BuiltPart], debian: Sequence[BuiltPart], output_dir: Path) -> None:
    listing = read_build_info(programs)
    texts = {"PROGRAMS": listing.encode(), "SOURCES": SOURCES.encode()}
    for module in parse_modules(listing):
        texts |= {f"go/{module}/{name}": text for name, text in collect_module_licences(locate_module(module)).items()}
    for debian_part in debian:
        texts |= collect_package_licences(debian_part)
    (output_dir / FILE).write_bytes(pack_texts(texts))


def read_build_info(programs: list[BuiltPart]) -> str:
    """Read what Go wrote into each program, with paths below the part of the cache. Other programs have no such
    text."""
    outputs = []
    for program in programs:
        output = run(["go", "version", "-m", program.directory], env={"GOTOOLCHAIN": "local"}, limit=60)
        outputs.append(output.replace(f"{program.directory}/", f"{program.name}/"))
    return "".join(outputs)


def parse_modules(listing: str) -> list[str]:
    """Parse MODULE@VERSION of all modules from the output of `go version -m`. A replaced module is given by its
    replacement. Modules inside gpustack's source have no version, and are left out."""
    modules: dict[str, None] = {}
    last = ""
    for line in listing.splitlines():
        words = line.split()
        if words[:1] in (["mod"], ["dep"]) and len(words) > 2:
            last = f"{words[1]}@{words[2]}"
            modules[last] = None
        elif words[:1] == ["=>"]:
            del modules[last]
            if not words[1].startswith("."):
                modules[f"{words[1]}@{words[2]}"] = None
    return sorted(module for module in modules if not module.endswith("@(devel)"))


def locate_module(module: str) -> Path:
    """Return the directory of a module in Go's module cache, and fetch it where it is missing."""
    place = locate_module_cache() / re.sub("[A-Z]", lambda match: "!" + match[0].lower(), module)
    return place if place.is_dir() else files.fetch_module(module)


@cache
def locate_module_cache() -> Path:
    return Path(run(["go", "env", "GOMODCACHE"], limit=20).strip())


def collect_module_licences(directory: Path) -> dict[str, bytes]:
    """Collect the licence texts of a module by their path in it. Raise BundleError where it has none: such a module may
    not be passed on."""
    texts = {}
    for folder, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if name not in ("testdata", "vendor"))
        for name in names:
            path = Path(folder) / name
            if NAMED.fullmatch(name) and path.suffix not in (".go", ".sh", ".py", ".json", ".html", ".tmpl"):
                texts[str(path.relative_to(directory))] = path.read_bytes()
    if not texts:
        raise BundleError("bundle-licence-missing", f"no licence text in {directory.name}", str(directory))
    return texts


def collect_package_licences(debian: BuiltPart) -> dict[str, bytes]:
    """Collect the copyright files of the packages whose programs are in images, and of libraries that are linked into
    programs."""
    texts = {}
    root = debian.directory / "root"
    for package in userland.read_packages(debian):
        place = root / "usr/share/doc" / package.name / "copyright"
        if (text := userland.resolve_link(root, place)).is_file():
            texts[f"debian/{package.name}_{package.version}/copyright"] = text.read_bytes()
    for name in LINKED:
        if (text := DOCUMENTS / name / "copyright").is_file():
            texts[f"debian/linked/{name}/copyright"] = text.read_bytes()
    return texts


def pack_texts(texts: Mapping[str, bytes]) -> bytes:
    """Pack texts into an archive, which is the same for the same texts."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, text in sorted(texts.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            tar.addfile(entry, io.BytesIO(text))
    return gzip.compress(raw.getvalue(), 6, mtime=0)
