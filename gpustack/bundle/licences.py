"""Licence texts of what a bundle holds of others, and where its source is: files/licences.tar.gz.

    go/<module>@<version>/…           LICENSE, NOTICE and COPYING files of every module inside the Go programs
    debian/<package>_<version>/…      the packages' copyright files
    PROGRAMS                          which modules each program is made of, as `go version -m` says
    SOURCES                           how to come by the source of each

Collected when a bundle is put together, from Go's module cache: no program is compiled anew for it.
"""

import gzip
import io
import os
import re
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from gpustack.bundle import files, userland
from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.programs import run
from gpustack.errors import BundleError

FILE = "licences.tar.gz"
NAMED = re.compile(r"(?i)(licen[cs]e|notice|copying|copyright|patents)([.-].*)?")
# Linked into static programs from the building machine: libseccomp into runc, libc into runc, Flannel and pause.
LINKED = ("libseccomp-dev", "libc6-dev")
DOCUMENTS = Path("/usr/share/doc")
SOURCES = """\
Go modules: `go mod download -json MODULE@VERSION`, from any proxy of Go modules. PROGRAMS has the checksum of each.
Nothing was patched. How they are compiled stands in gpustack's source, gpustack/bundle/tools.py and
gpustack/bundle/modules/.

Debian packages: `apt-get source PACKAGE=VERSION` with the sources of their release, or Debian's snapshot archive. Their
versions stand in the names of the folders below debian/; those in debian/linked/ are libraries of the building
machine that are linked into static programs.

Python libraries: `pip download --no-binary :all: NAME==VERSION`. Their versions stand in requirements/serve.txt of
gpustack's source, their licences in the image, below /app.
"""


def part(programs: Iterable[Made], debian: Sequence[Made]) -> Part:
    """out/licences.tar.gz. `debian` are those that hold packages."""
    made = sorted(programs, key=lambda one: one.name)
    inputs = digest(Path(__file__), [one.contents for one in made], [one.contents for one in debian])
    return Part("licences", inputs, lambda out: _write(made, debian, out))


def _write(programs: list[Made], debian: Sequence[Made], out: Path) -> None:
    listing = built_from(programs)
    texts = {"PROGRAMS": listing.encode(), "SOURCES": SOURCES.encode()}
    for module in modules(listing):
        texts |= {f"go/{module}/{name}": text for name, text in in_module(module_directory(module)).items()}
    for one in debian:
        texts |= of_packages(one)
    (out / FILE).write_bytes(archive(texts))


def built_from(programs: list[Made]) -> str:
    """What Go wrote into each program, with paths below the part of the cache; others say nothing."""
    found = []
    for one in programs:
        output = run(["go", "version", "-m", one.directory], env={"GOTOOLCHAIN": "local"}, limit=60)
        found.append(output.replace(f"{one.directory}/", f"{one.name}/"))
    return "".join(found)


def modules(listing: str) -> list[str]:
    """MODULE@VERSION of all modules in what `go version -m` says; of a replaced one, what took its place. Modules that
    lie in our own tree have no version."""
    found: dict[str, None] = {}
    last = ""
    for line in listing.splitlines():
        words = line.split()
        if words[:1] in (["mod"], ["dep"]) and len(words) > 2:
            last = f"{words[1]}@{words[2]}"
            found[last] = None
        elif words[:1] == ["=>"]:
            del found[last]
            if not words[1].startswith("."):
                found[f"{words[1]}@{words[2]}"] = None
    return sorted(module for module in found if not module.endswith("@(devel)"))


def module_directory(module: str) -> Path:
    """Where Go keeps a module, fetched if need be."""
    place = module_cache() / re.sub("[A-Z]", lambda found: "!" + found[0].lower(), module)
    return place if place.is_dir() else files.module_directory(module)


@cache
def module_cache() -> Path:
    return Path(run(["go", "env", "GOMODCACHE"], limit=20).strip())


def in_module(directory: Path) -> dict[str, bytes]:
    """By path in the module. Raises BundleError where it has none at all: it may not be passed on."""
    found = {}
    for folder, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if name not in ("testdata", "vendor"))
        for name in names:
            path = Path(folder) / name
            if NAMED.fullmatch(name) and path.suffix not in (".go", ".sh", ".py", ".json", ".html", ".tmpl"):
                found[str(path.relative_to(directory))] = path.read_bytes()
    if not found:
        raise BundleError("bundle-licence-missing", f"no licence text in {directory.name}", str(directory))
    return found


def of_packages(debian: Made) -> dict[str, bytes]:
    """copyright files of the packages whose programs are in images, and of libraries that are linked in."""
    found = {}
    root = debian.directory / "root"
    for package in userland.packages(debian):
        place = root / "usr/share/doc" / package.name / "copyright"
        if (text := userland.inside(root, place)).is_file():
            found[f"debian/{package.name}_{package.version}/copyright"] = text.read_bytes()
    for name in LINKED:
        if (text := DOCUMENTS / name / "copyright").is_file():
            found[f"debian/linked/{name}/copyright"] = text.read_bytes()
    return found


def archive(texts: Mapping[str, bytes]) -> bytes:
    """The same for the same texts."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, text in sorted(texts.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            tar.addfile(entry, io.BytesIO(text))
    return gzip.compress(raw.getvalue(), 6, mtime=0)
