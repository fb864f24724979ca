"""The outside programs of a bundle: their names, their packages, and how they are run."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import BundleError

END_LIMIT = 5.0

# The Debian package of each program that verifies a bundle. setpriv starts every program.
PACKAGES = {"gpg": "gpg", "gpgv": "gpgv", "setpriv": "util-linux"}

# A program ends when gpustack is killed, however that happens: nobody waits for it any more. It does not ignore
# SIGINT, as programs do that a shell starts in the background.
WITH_US = ("setpriv", "--pdeathsig", "TERM", "--", "env", "--default-signal=INT", "--")

_running: set[subprocess.Popen[str]] = set()
_running_lock = threading.Lock()


def need(packages: Mapping[str, str]) -> None:
    """Raise BundleError that names all missing programs at once. `packages` has the Debian package of each program, or
    the address of one that has no package."""
    missing = {name: source for name, source in packages.items() if shutil.which(name) is None}
    if not missing:
        return
    other_sources = [f"{name} comes from {source}" for name, source in missing.items() if "://" in source]
    debian = sorted({source for source in missing.values() if "://" not in source})
    reason = "\n".join([f"not found on the PATH: {', '.join(missing)}", *other_sources])
    hint = Command("apt-get", "install", "--no-install-recommends", *debian) if debian else Command("go", "version")
    raise BundleError("bundle-program-missing", "programs of a bundle are missing", reason, hint)


def run(
    argv: Sequence[str | Path],
    *,
    limit: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    text: str | None = None,
) -> str:
    """Run a program and return its standard output. `env` is added to the environment, `text` is its standard input,
    `limit` is in seconds.

    Raise BundleError if it fails or takes longer; the last lines of its standard error are the reason.
    """
    words = [str(word) for word in argv]
    with subprocess.Popen(
        [*WITH_US, *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        text=True,
        stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        with _running_lock:
            _running.add(process)
        try:
            stdout, stderr = process.communicate(text, timeout=limit)
        except subprocess.TimeoutExpired:
            raise _build_timeout_error(words, limit) from None
        finally:
            with _running_lock:
                _running.discard(process)
            _end(process)
    if process.returncode != 0:
        last = "\n".join((stderr.strip() or stdout.strip()).splitlines()[-15:])
        raise BundleError("bundle-program-failed", f"{' '.join(words[:4])} ended with {process.returncode}", last)
    return stdout


def _build_timeout_error(words: Sequence[str], limit: float) -> BundleError:
    message = f"{words[0]} took longer than {limit:.0f} s"
    return BundleError("bundle-program-slow", message, " ".join(words[:6]), Command("gpustack", "bundle", "build"))


def end_all() -> None:
    """End the programs that other threads still run, after an interrupt."""
    with _running_lock:
        processes = list(_running)
    for process in processes:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process. It is asked first, so that `go` ends its compilers."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=END_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=END_LIMIT)
