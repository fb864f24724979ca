"""Seeds: one bare root per Debian release and recipe, made once by mmdebstrap and copied for every lab host."""

import hashlib
import shutil
import time
from pathlib import Path

from gpustack.events import Event, Reporter
from gpustack.lab import pool
from gpustack.lab.commands import run
from gpustack.lab.recipe import BUILT_IN, CUSTOMIZE, INCLUDE
from gpustack.lab.releases import RELEASES, Packages, packages
from gpustack.lab.state import locked

# mmdebstrap, its mounts and its children end with the process that started it, however that one ends.
TIED = ("setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")


def seed(release: str, mount: Path, report: Reporter) -> Path:
    """The subvolume to copy hosts of `release` from; made first where there is none (half a minute or more)."""
    source = packages(release)
    path = mount / "seeds" / f"{release}-{digest(release, source)}"
    with locked(f"seed-{release}"):
        if not path.exists():
            begun = time.monotonic()
            report(Event("waiting", release, "a bare root is made from Debian packages, about a minute, once"))
            for old in path.parent.glob(f"{release}-*"):
                pool.delete(old)
            _build(release, source, path)
            report(Event("done", release, "the bare root is made", time.monotonic() - begun))
    return path


def digest(release: str, source: Packages) -> str:
    text = [release, source.sources, source.settings, INCLUDE, BUILT_IN, CUSTOMIZE]
    text += [f"{name} {hashlib.sha256(pem).hexdigest()}" for name, pem in source.certificates.items()]
    return hashlib.sha256("\0".join(text).encode()).hexdigest()[:12]


def _build(release: str, source: Packages, path: Path) -> None:
    part, given = path.with_name(f"{path.name}.part"), path.parents[1] / f"given-{release}"
    shutil.rmtree(given, ignore_errors=True)
    (given / "certificates").mkdir(parents=True)
    for name, pem in source.certificates.items():
        (given / "certificates" / name).write_bytes(pem)
    (given / "sources").write_text(source.sources)
    (given / "90machine").write_text(source.settings)
    (given / "modules.order").write_text("")
    (given / "modules.builtin").write_text(BUILT_IN)
    (given / "customize").write_text(CUSTOMIZE)
    pool.create(part)
    run(
        [
            *TIED,
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=minbase",
            f"--include={INCLUDE}",
            f"--aptopt={given / '90machine'}",
            "--dpkgopt=force-unsafe-io",
            f'--customize-hook=sh {given / "customize"} "$1" {given}',
            RELEASES[release],
            str(part),
            str(given / "sources"),
        ],
        limit=900.0,
    )
    (part / "etc/dpkg/dpkg.cfg.d/99mmdebstrap").unlink(missing_ok=True)
    shutil.rmtree(given)
    part.rename(path)
