"""The command `gpustack bundle serve`: apt repositories, images and files of a bundle on one HTTP address.

One process serves them, the bundle's own bin/mirror: CNCF distribution's registry under /v2/, files everywhere else.
What is https://HOST/PATH officially is ADDRESS/HOST/PATH on it; images are pulled with a registry mirror's ?ns=HOST.
"""

import hashlib
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle import manifest, verify
from gpustack.bundle.manifest import Manifest
from gpustack.bundle.storage import prepare_storage
from gpustack.command import Command
from gpustack.errors import BundleError, describe_os_error
from gpustack.events import Event, Reporter, ignore_event
from gpustack.files.read import read_file
from gpustack.files.write import open_log

PROGRAM = "bin/mirror"
PROGRAM_MOST = 512 * 2**20
"""Bytes of the program, which is copied to memory."""
READY_LIMIT = 20.0
STOP_LIMIT = 5.0


@dataclass(frozen=True)
class Serving:
    """Describe a running mirror at `address` (http://ADDR:PORT), known to the system as `pid`."""

    address: str
    pid: int
    process: subprocess.Popen[bytes]

    def wait(self) -> int:
        """Wait as long as it serves, and return its exit status."""
        return self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            _end(self.process)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _end(self.process)


def serve(
    directory: Path,
    listen: str,
    *,
    log: Path | None = None,
    attached: bool = True,
    fingerprint: str | None = None,
    report: Reporter = ignore_event,
) -> Serving:
    """Verify the bundle and serve it at `listen` (ADDR:PORT; port 0 takes a free one).

    With `attached`, the mirror ends when this process does, however that happens; otherwise it stays until its `pid` is
    terminated. Its messages are appended to `log`, or go to standard error. After another build it has to be started
    again. Raise BundleError.
    """
    begin = time.monotonic()
    signed_manifest = verify.verify(directory, fingerprint=fingerprint)
    try:
        program = copy_program(directory / PROGRAM, signed_manifest)
    except OSError as error:
        raise _build_start_error(listen, f"{PROGRAM}: {describe_os_error(error)}") from error
    places = {"files": directory / "files", "key": directory / manifest.KEY, "images": prepare_storage(directory)}
    argv = [str(directory / PROGRAM), "-listen", listen]
    argv += [word for name, place in places.items() for word in (f"-{name}", str(place))]
    try:
        process = _start(program, [*argv, "-attached"] if attached else argv, log, attached=attached)
    finally:
        os.close(program)
    line = _read_first_line(process)
    if not line.startswith("listening on "):
        process.kill()
        _end(process)
        raise _build_start_error(listen, read_end(log) if log else "is the address in use?")
    serving = Serving("http://" + line.removeprefix("listening on ").strip(), process.pid, process)
    report(Event("done", "bundle", f"serving {directory} at {serving.address}", time.monotonic() - begin))
    return serving


def copy_program(path: Path, signed_manifest: Manifest) -> int:
    """Return the descriptor of a copy in memory, whose bytes are those of the signed manifest: the file at the path may
    be replaced after it was verified. Raise BundleError, and OSError where it cannot be read or copied."""
    content = read_file(path, PROGRAM_MOST)
    if {hashlib.sha256(content).hexdigest()} != {
        entry.sha256 for entry in signed_manifest.files if entry.path == PROGRAM
    }:
        message = f"{PROGRAM} was changed while the bundle was verified."
        raise BundleError("bundle-damaged", message, str(path), Command("gpustack", "bundle", "verify"))
    copy = os.memfd_create("mirror")
    try:
        with os.fdopen(os.dup(copy), "wb") as file:
            file.write(content)
        os.fchmod(copy, path.stat().st_mode & 0o777)
    except OSError:
        os.close(copy)
        raise
    return copy


def read_end(log: Path) -> str:
    try:
        return read_file(log).decode(errors="replace")[-1000:]
    except OSError as error:
        return str(error)


def _start(program: int, argv: list[str], log: Path | None, *, attached: bool) -> subprocess.Popen[bytes]:
    stream = None
    try:
        stream = open_log(log) if log else None
        return subprocess.Popen(
            argv,
            executable=f"/proc/self/fd/{program}",
            pass_fds=(program,),
            stdin=subprocess.PIPE if attached else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stream,
            start_new_session=not attached,
        )
    except OSError as error:  # a log that is a link; copied without its mode, or to a machine of another architecture
        raise _build_start_error(argv[2], str(error)) from error
    finally:
        if stream is not None:
            os.close(stream)


def _build_start_error(listen: str, reason: str) -> BundleError:
    hint = Command("ss", "-ltn", "sport", "=", f":{listen.rpartition(':')[2]}")
    return BundleError("bundle-serve-failed", f"the mirror does not start at {listen}", reason, hint)


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.wait(timeout=STOP_LIMIT)


def stop(pid: int) -> None:
    """End a mirror that is not attached. One that has ended already is no error."""
    try:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_LIMIT
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _read_first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], READY_LIMIT)
    return process.stdout.readline().decode() if ready else ""
