"""`gpustack bundle serve`: apt repositories, images and files of a bundle on one HTTP address.

One process, the bundle's own bin/mirror: CNCF distribution's registry under /v2/, files everywhere else. What is
https://HOST/PATH officially is ADDRESS/HOST/PATH here; images are pulled with a registry mirror's ?ns=HOST.
"""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from gpustack.bundle import manifest, oci, verify
from gpustack.bundle.cache import digest as digest_of
from gpustack.errors import BundleError
from gpustack.events import Event, Reporter, silent

READY_LIMIT = 20.0
STOP_LIMIT = 5.0


@dataclass(frozen=True)
class Serving:
    """A running mirror at `address` (http://ADDR:PORT), known to the system as `pid`."""

    address: str
    pid: int
    process: subprocess.Popen[bytes]

    def wait(self) -> int:
        """Its exit status; waits as long as it serves."""
        return self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=STOP_LIMIT)


def serve(
    directory: Path,
    listen: str,
    *,
    log: Path | None = None,
    attached: bool = True,
    fingerprint: str | None = None,
    report: Reporter = silent,
) -> Serving:
    """Verifies the bundle and serves it at `listen` (ADDR:PORT; port 0 takes a free one).

    `attached`: the mirror ends when we do, however that happens; otherwise it stays, until its `pid` is terminated. Its log
    goes to the end of `log`, or to our standard error. Serve anew after a bundle was built anew. Raises BundleError.
    """
    begin = time.monotonic()
    verify.verify(directory, fingerprint=fingerprint)
    argv = [
        directory / "bin" / "mirror", "-listen", listen, "-files", directory / "files", "-key", directory / manifest.KEY,
        "-images", storage(directory),
    ]  # fmt: skip
    with open(log or os.devnull, "ab") as stream:
        process = subprocess.Popen(
            [*argv, "-attached"] if attached else argv,
            stdin=subprocess.PIPE if attached else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stream if log else None,
            start_new_session=not attached,
        )
    line = _first_line(process)
    if not line.startswith("listening on "):
        process.kill()
        process.wait(timeout=STOP_LIMIT)
        why = log.read_text(errors="replace")[-1000:] if log else f"no answer within {READY_LIMIT:.0f} s, or the address is in use"
        raise BundleError("bundle-serve-failed", f"the mirror does not start at {listen}", why, f"ss -ltn 'sport = :{listen.rpartition(':')[2]}'")
    serving = Serving("http://" + line.removeprefix("listening on ").strip(), process.pid, process)
    report(Event("done", "bundle", f"serving {directory} at {serving.address}", time.monotonic() - begin))
    return serving


def stop(pid: int) -> None:
    """Ends a mirror that was left to itself. One that has ended already is fine."""
    try:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_LIMIT
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def storage(directory: Path) -> Path:
    """The image layout in the shape that CNCF distribution keeps on disk, made of links into the bundle."""
    images = (directory / "images").resolve()
    root = platformdirs.user_cache_path("gpustack") / "served"
    root.mkdir(parents=True, exist_ok=True)
    place = root / digest_of(str(images), directory / manifest.FILE)[:32]
    if place.is_dir():
        return place
    scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    v2 = scratch / "docker" / "registry" / "v2"
    for blob in (images / "blobs" / "sha256").iterdir():
        target = v2 / "blobs" / "sha256" / blob.name[:2] / blob.name / "data"
        target.parent.mkdir(parents=True)
        target.symlink_to(blob)
    for reference, descriptor in oci.references(images).items():
        name, tag = reference.rsplit(":", 1)
        _repository(v2 / "repositories" / name, tag, str(descriptor["digest"]), images)
    try:
        scratch.rename(place)
    except OSError:  # another serve of the same bundle was quicker
        shutil.rmtree(scratch)
    return place


def _repository(repository: Path, tag: str, digest: str, images: Path) -> None:
    algorithm, value = digest.split(":")
    tagged = repository / "_manifests" / "tags" / tag
    revision = repository / "_manifests" / "revisions" / algorithm / value
    for place in (revision, tagged / "current", tagged / "index" / algorithm / value):
        _link(place, digest)
    for blob in oci.contents(images, digest):
        _link(repository / "_layers" / "sha256" / blob.removeprefix("sha256:"), blob)


def _link(place: Path, digest: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / "link").write_text(digest)


def _first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], READY_LIMIT)
    return process.stdout.readline().decode() if ready else ""
