"""Faults of the layer `host` that keep apt from installing: a lock, unfinished work, and distrusted sources."""

from collections import Counter
from collections.abc import Iterator

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.resolution import build_apt_repositories
from gpustack.doctor.check import check, expect_none
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import BUILD_ERRORS, DPKG, SOURCES, Sources
from gpustack.steps.apt_repository import resolve_repository

# The repository that was shut down in 2024 (kubernetes.io, blog 2023-08-31).
CLOSED_REPOSITORIES = ("apt.kubernetes.io", "packages.cloud.google.com/apt")


@check("host-apt-lock", DPKG)
def apt_lock(view: View) -> Result:
    """Find the holder of a lock that apt would wait for, according to the kernel."""
    dpkg = view[DPKG]
    if dpkg is None or not dpkg.holders:
        return build_ok_result("apt locks", "no dpkg" if dpkg is None else "free")
    names = [f"{holder.file} by {holder.process} ({holder.pid}) for {holder.age} s" for holder in dpkg.holders]
    return Result("apt locks", "free", f"held: {format_value(names)}")


@check("host-dpkg-interrupted", DPKG, BUILD_ERRORS)
def dpkg_interrupted(view: View) -> Result:
    """Look for an interrupted dpkg. While the lock is held, dpkg is in progress. A package that is only half-configured
    may have a script that fails, and that would fail again."""
    dpkg, subject = view[DPKG], "dpkg run"
    if dpkg is None:
        return build_ok_result(subject, "no dpkg")
    if dpkg.holders:
        return build_ok_result(subject, f"in progress: {dpkg.holders[0].process} holds {dpkg.holders[0].file}")
    if dpkg.half_configured and not dpkg.updates and dpkg.half_configured == dpkg.unfinished_packages:
        return judge_half_configured(view, dpkg.half_configured)
    unfinished_parts = [*([f"unfinished records: {dpkg.updates}"] if dpkg.updates else []), *dpkg.unfinished_packages]
    return expect_none(subject, "finished", unfinished_parts, "finished")


def judge_half_configured(view: View, packages: tuple[str, ...]) -> Result:
    """Judge packages whose script began and did not end well, with the words of a DKMS build that failed."""
    errors = view[BUILD_ERRORS] if view.has_fact(BUILD_ERRORS) else ()
    texts = [f"half-configured: {format_value(packages)}"]
    if errors:
        first = errors[0]
        kernel = f" for kernel {first.kernel}" if first.kernel else ""
        lines = "; ".join(
            error.line for error in errors if (error.module, error.kernel) == (first.module, first.kernel)
        )
        texts.append(f"{first.module} does not build{kernel}: {lines}")
        person = Prose(
            "correct the build, or remove that kernel, and do not reboot into it: the running one has its module"
        )
    else:
        person = Prose("their script failed or was interrupted: {} shows which", Command("dpkg", "--configure", "-a"))
    return Result("dpkg run", "finished", "; ".join(texts), person=person, certain=False)


@check("host-apt-repo-key", SOURCES, OS)
def apt_repo_key(view: View) -> Result:
    """Judge the keyring and other entries for the same address, without the network."""
    distrusted_sources = list(list_distrusted_sources(view, view[SOURCES]))
    return expect_none("package sources", "trusted", distrusted_sources, "trusted")


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
        if any(name in source.uri for name in CLOSED_REPOSITORIES)
    )
