"""Faults of the layer `host` that keep apt from installing: a lock, unfinished work, sources that it does not trust."""

from collections import Counter
from collections.abc import Iterator

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.config.resolved import apt_of
from gpustack.doctor.check import check
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import DPKG, SOURCES, Sources
from gpustack.steps.apt_repository import placed

# The repository that was shut down in 2024 (kubernetes.io, blog 2023-08-31).
GONE = ("apt.kubernetes.io", "packages.cloud.google.com/apt")


@check("host-apt-lock", DPKG)
def apt_lock(here: View) -> Result:
    """Who holds a lock that apt would wait for, as the kernel has it."""
    found = here[DPKG]
    if found is None or not found.holders:
        return ok("locks of apt", "no dpkg" if found is None else "free")
    names = [f"{one.file} by {one.process} ({one.pid}) for {one.age} s" for one in found.holders]
    return Result("locks of apt", "free", f"held: {as_text(names)}")


@check("host-dpkg-interrupted", DPKG)
def dpkg_interrupted(here: View) -> Result:
    """While somebody holds the lock, the work is not broken off but going on."""
    found, what = here[DPKG], "work of dpkg"
    if found is None:
        return ok(what, "no dpkg")
    if found.holders:
        return ok(what, f"going on: {found.holders[0].process} holds {found.holders[0].file}")
    broken = [*([f"unfinished records: {found.updates}"] if found.updates else []), *found.unfinished]
    return Result(what, "finished", as_text(broken) if broken else "finished", ok=not broken)


@check("host-apt-repo-key", SOURCES, OS)
def apt_repo_key(here: View) -> Result:
    """What is known without asking the source: its keyring, and other entries for the same address."""
    wrong = list(distrusted(here, here[SOURCES]))
    return Result("package sources", "trusted", as_text(wrong) if wrong else "all have a valid key", ok=not wrong)


def distrusted(here: View, found: Sources) -> Iterator[str]:
    ours = {f"/etc/apt/keyrings/gpustack-{name}.gpg": placed(here, name)["fingerprint"] for name in apt_of(here.spec)}
    for key in sorted({source.key for source in found.sources if source.key in found.keyrings}):
        ring, wanted = found.keyrings[key], ours.get(key, "")
        if ring.fingerprints is None:
            raise ValueError(f"no gpg to read {key}")
        if not ring.fingerprints:
            yield f"{key} {'is missing' if ring.size is None else 'holds no key'}"
        elif ring.ends and ring.ends < here.taken:
            yield f"{key} ended on {ring.ends:%Y-%m-%d}"
        elif wanted and wanted not in ring.fingerprints:
            yield f"{key} is not the key {wanted}"
    pairs = {(source.uri, suite, source.key) for source in found.sources for suite in source.suites.split()}
    for (uri, suite), times in Counter((uri, suite) for uri, suite, _ in pairs).items():
        if times > 1:
            yield f"{uri} {suite} is named with different keys"
    yield from (f"{one.uri} is gone ({one.file})" for one in found.sources if any(name in one.uri for name in GONE))


CHECKS = (apt_lock, dpkg_interrupted, apt_repo_key)
