"""`gpustack bundle build`: everything one version set needs, in one directory, signed."""

import dataclasses
import time
from pathlib import Path

import platformdirs

from gpustack.bundle import keys, manifest, ownership, tree, verify
from gpustack.bundle.cache import Cache
from gpustack.bundle.compose import Composed, Composer
from gpustack.bundle.images import PURPOSE
from gpustack.bundle.keys import Signer
from gpustack.bundle.manifest import Manifest
from gpustack.bundle.programs import PACKAGES, need, run
from gpustack.bundle.versions import Versions, load
from gpustack.command import Command
from gpustack.config.versions import kubernetes_version, minor
from gpustack.errors import BundleError
from gpustack.events import Event, Reporter, silent
from gpustack.files.write import write_file

SOURCES = ("modules",)


def build(
    directory: Path,
    *,
    source: str = "modules",
    kubernetes: tuple[str, ...] = (),
    keda: bool = False,
    report: Reporter = silent,
) -> Manifest:
    """Makes or completes the bundle in `directory`; files of it that are right stay as they are.

    `kubernetes` are versions like `1.36.3` besides the version set's own. Compiling takes about half an hour the first
    time on two cores, ten minutes more with KEDA; a build with nothing new takes seconds. Raises BundleError.
    """
    if source not in SOURCES:
        raise BundleError(
            "bundle-source-unknown",
            f"unknown source {source}",
            f"known: {', '.join(SOURCES)}",
            Command("gpustack", "bundle", "build", "--help"),
        )
    begin = time.monotonic()
    need(*PACKAGES)
    tree.prepare(directory)
    versions = load()
    wanted = _wanted(versions, kubernetes)
    architecture = run(["dpkg", "--print-architecture"], limit=20).strip()
    cache = Cache(platformdirs.user_cache_path("gpustack") / "parts")
    with cache.held(report), keys.signing(keys.home()) as signer:
        composer = Composer(cache, versions, architecture, signer, report, keda=keda)
        composed = composer.compose(wanted)
        described = _described(source, wanted, signer, composer, composed)
        fresh = tree.write(directory, composed, keys.public(signer), described, signer)
        if fresh is not None:
            write_file(directory / manifest.FILE, manifest.dump(fresh), readers="umask")
            keys.sign(signer, directory / manifest.FILE)
        ownership.forget_building(directory)
    report(Event("done", "bundle", str(directory), time.monotonic() - begin))
    return verify.verify(directory, fingerprint=signer.fingerprint)


def _wanted(versions: Versions, others: tuple[str, ...]) -> tuple[str, ...]:
    """The version set's Kubernetes first. Raises BundleError that lists every version that cannot be."""
    wanted, wrong = [versions["kubernetes"]], []
    for other in others:
        try:
            wanted.append(kubernetes_version(other) or versions["kubernetes"])
        except ValueError as error:
            wrong.append(f"{other}: {error}")
        else:
            if minor(other) != minor(versions["kubernetes"]):
                wrong.append(
                    f"{other}: version set {versions.set} has the etcd and CoreDNS of {versions['kubernetes']}"
                )
    if wrong:
        raise BundleError(
            "bundle-version-unknown",
            "a Kubernetes version cannot be built",
            "\n".join(wrong),
            Command("gpustack", "bundle", "build", "--help"),
        )
    return tuple(dict.fromkeys(wanted))


def _described(
    source: str, kubernetes: tuple[str, ...], signer: Signer, composer: Composer, made: Composed
) -> Manifest:
    return Manifest(
        set=composer.versions.set,
        source=source,
        purpose=PURPOSE,
        architecture=composer.architecture,
        kubernetes=kubernetes,
        made="",
        fingerprint=signer.fingerprint,
        images=tuple(made.labels),
        debian=tuple(dataclasses.asdict(package) for package in made.debian),
        files=(),
    )
