"""The command `gpustack bundle build` puts everything that one version set needs into one signed directory."""

import dataclasses
import time
from pathlib import Path

import platformdirs

from gpustack.bundle import keys, manifest, verify
from gpustack.bundle.manifest import Manifest
from gpustack.bundle.programs import PACKAGES as VERIFIERS
from gpustack.bundle.programs import need, run
from gpustack.command import Command
from gpustack.config.versions import parse_kubernetes_version, parse_minor
from gpustack.errors import BundleError
from gpustack.events import Event, Reporter, ignore_event
from gpustack.files.write import write_file
from gpustack_lab.bundle import ownership, signing, tree
from gpustack_lab.bundle.cache import Cache
from gpustack_lab.bundle.compose import Composer, Composition
from gpustack_lab.bundle.signing import Signer
from gpustack_lab.bundle.versions import Versions, load

SOURCES = ("modules",)
# The Debian package of each program of a build. Go is newer than what Debian 12 and 13 have.
PACKAGES = {
    **VERIFIERS,
    "go": "https://go.dev/dl or, in a checkout, from `make go`",
    "gcc": "gcc",
    "readelf": "binutils",
    "apt-get": "apt",
    "apt-ftparchive": "apt-utils",
    "dpkg": "dpkg",
    "dpkg-deb": "dpkg",
    "gpgconf": "gpgconf",
}


def build(
    directory: Path,
    *,
    source: str = "modules",
    kubernetes: tuple[str, ...] = (),
    keda: bool = False,
    report: Reporter = ignore_event,
) -> Manifest:
    """Build or complete the bundle in `directory`; files of it that are right stay as they are.

    `kubernetes` are versions like `1.36.3` besides the version set's own. Compiling takes about half an hour the first
    time on two cores, ten minutes more with KEDA; a build with nothing new takes seconds. Raise BundleError.
    """
    if source not in SOURCES:
        raise BundleError(
            "bundle-source-unknown",
            f"unknown source {source}",
            f"known: {', '.join(SOURCES)}",
            Command("gpustack", "bundle", "build", "--help"),
        )
    begin = time.monotonic()
    need(PACKAGES)
    tree.prepare(directory)
    versions = load()
    kubernetes_versions = _resolve_versions(versions, kubernetes)
    architecture = run(["dpkg", "--print-architecture"], limit=20).strip()
    cache = Cache(platformdirs.user_cache_path("gpustack") / "parts")
    with cache.hold_lock(report), signing.open_signer(keys.locate_key_dir()) as signer:
        composer = Composer(cache, versions, architecture, signer, report, keda=keda)
        composition = composer.compose(kubernetes_versions)
        draft = _build_manifest(source, kubernetes_versions, signer, composer, composition)
        new_manifest = tree.write(directory, composition, signing.export_public_key(signer), draft, signer)
        if new_manifest is not None:
            write_file(directory / manifest.FILE, manifest.dump(new_manifest), readers="umask")
            signing.sign(signer, directory / manifest.FILE)
        ownership.forget_building(directory)
    report(Event("done", "bundle", str(directory), time.monotonic() - begin))
    return verify.verify(directory, fingerprint=signer.fingerprint)


def _resolve_versions(versions: Versions, extra_versions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the versions of Kubernetes to build, the version set's first. Raise BundleError that lists every version
    that cannot be built."""
    kubernetes_versions, reasons = [versions["kubernetes"]], []
    for extra_version in extra_versions:
        try:
            kubernetes_versions.append(parse_kubernetes_version(extra_version) or versions["kubernetes"])
        except ValueError as error:
            reasons.append(f"{extra_version}: {error}")
        else:
            if parse_minor(extra_version) != parse_minor(versions["kubernetes"]):
                reasons.append(
                    f"{extra_version}: version set {versions.set} has the etcd and CoreDNS of {versions['kubernetes']}"
                )
    if reasons:
        raise BundleError(
            "bundle-version-unknown",
            "a Kubernetes version cannot be built",
            "\n".join(reasons),
            Command("gpustack", "bundle", "build", "--help"),
        )
    return tuple(dict.fromkeys(kubernetes_versions))


def _build_manifest(
    source: str, kubernetes: tuple[str, ...], signer: Signer, composer: Composer, composition: Composition
) -> Manifest:
    return Manifest(
        set=composer.versions.set,
        source=source,
        simulated=True,
        architecture=composer.architecture,
        kubernetes=kubernetes,
        created_at="",
        fingerprint=signer.fingerprint,
        images=tuple(composition.labels),
        debian=tuple(dataclasses.asdict(package) for package in composition.debian),
        files=(),
    )
