"""Faults of the layer `host` that keep apt from installing: a lock, unfinished work, and distrusted sources."""

from collections import Counter
from collections.abc import Iterator

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.config.resolution import build_apt_repositories
from gpustack.doctor.check import check, expect_none
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import DPKG, SOURCES, Sources
from gpustack.steps.apt_repository import resolve_repository

# The repository that was shut down in 2024 (kubernetes.io, blog 2023-08-31).
GONE = ("apt.kubernetes.io", "packages.cloud.google.com/apt")


@check("host-apt-lock", DPKG)
def apt_lock(view: View) -> Result:
    """Find the holder of a lock that apt would wait for, according to the kernel."""
    dpkg = view[DPKG]
    if dpkg is None or not dpkg.holders:
        return build_ok_result("apt locks", "no dpkg" if dpkg is None else "free")
    names = [f"{holder.file} by {holder.process} ({holder.pid}) for {holder.age} s" for holder in dpkg.holders]
    return Result("apt locks", "free", f"held: {format_value(names)}")


@check("host-dpkg-interrupted", DPKG)
def dpkg_interrupted(view: View) -> Result:
    """Look for an interrupted dpkg. While the lock is held, dpkg is in progress."""
    dpkg, subject = view[DPKG], "dpkg run"
    if dpkg is None:
        return build_ok_result(subject, "no dpkg")
    if dpkg.holders:
        return build_ok_result(subject, f"in progress: {dpkg.holders[0].process} holds {dpkg.holders[0].file}")
    broken = [*([f"unfinished records: {dpkg.updates}"] if dpkg.updates else []), *dpkg.unfinished_packages]
    return expect_none(subject, "finished", broken, "finished")


@check("host-apt-repo-key", SOURCES, OS)
def apt_repo_key(view: View) -> Result:
    """Judge the keyring and other entries for the same address, without the network."""
    wrong = list(list_distrusted_sources(view, view[SOURCES]))
    return expect_none("package sources", "trusted", wrong, "trusted")


def list_distrusted_sources(view: View, sources: Sources) -> Iterator[str]:
    fingerprints = {
        f"/etc/apt/keyrings/gpustack-{name}.gpg": resolve_repository(view, name)["fingerprint"]
        for name in build_apt_repositories(view.spec)
    }
    for key in sorted({source.key for source in sources.sources if source.key in sources.keyrings}):
        ring, fingerprint = sources.keyrings[key], fingerprints.get(key, "")
        if ring.fingerprints is None:
            raise ValueError(f"no gpg to read {key}")
        if not ring.fingerprints:
            yield f"{key} {'is missing' if ring.size is None else 'has no key'}"
        elif ring.expires_at and ring.expires_at < view.started_at:
            yield f"{key} expired on {ring.expires_at:%Y-%m-%d}"
        elif fingerprint and fingerprint not in ring.fingerprints:
            yield f"{key} is not the key {fingerprint}"
    pairs = {(source.uri, suite, source.key) for source in sources.sources for suite in source.suites.split()}
    for (uri, suite), times in Counter((uri, suite) for uri, suite, _ in pairs).items():
        if times > 1:
            yield f"{uri} {suite} has different keys"
    yield from (
        f"{source.uri} no longer exists ({source.file})"
        for source in sources.sources
        if any(name in source.uri for name in GONE)
    )
