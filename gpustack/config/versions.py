"""Version sets: gpustack/versions/<set>.yaml is choice and lock at once. A patch level is data, never code."""

import csv
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from gpustack.config.resources import read_shipped_yaml

VERSIONS = Path(__file__).parent.parent / "versions"
KNOWN_SETS: tuple[str, ...] = tuple(sorted(path.stem for path in VERSIONS.glob("*.yaml")))


@dataclass(frozen=True)
class AptSource:
    """Describe an official apt repository. `{minor}` is filled in per cluster, other words in braces per host. `keys`
    has the values of `{key}` and `{fingerprint}` by system, such as debian13, where each system has a key of its own.
    `expires` is the end of its key as last seen, None for never. `packages` are the names, also with `*`, of all that
    apt may take from it; empty for a repository that may replace any package."""

    uri: str
    suite: str
    components: str
    key: str
    fingerprint: str
    keys: dict[str, dict[str, str]]
    expires: date | None
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Artefact:
    """Describe a file with its address and checksum. `{arch}` in the address is the host's; `sha256` is by
    architecture, or of `all` of them."""

    version: str
    url: str
    sha256: dict[str, str]


@dataclass(frozen=True)
class VersionSet:
    """Hold a version set. `minors` are those of Kubernetes, with the end of their support; `containerd_lines` has the
    first good version of each line of containerd that serves such a minor, and `containerd_defects` the defect of
    earlier ones by line; `runc_patches` are the first good versions of lines of runc for kernels that write over its
    memory, and `runc_kernels` the ranges of those, each with the first good kernel after it; `images` has the digests
    of pinned images by reference; `operator_drivers` has the first branch of a driver, `any` or `data-centre`, by
    version of the chart gpu-operator."""

    name: str
    components: dict[str, str]
    apt: dict[str, AptSource]
    flannel: Artefact
    minors: dict[str, date]
    containerd_lines: dict[str, tuple[str, ...]]
    containerd_defects: dict[str, str]
    runc_patches: tuple[str, ...]
    runc_kernels: tuple[tuple[str, str], ...]
    helm: Artefact
    charts: dict[str, Artefact]
    provisioner: Artefact
    images: dict[str, str]
    operator_drivers: dict[str, dict[str, int]]


@cache
def read_dcgm_fields() -> frozenset[str]:
    """Read the names of all known fields of DCGM, legacy and canonical."""
    return frozenset(name for row in read_rows("dcgm-fields.csv") for name in (row[0], row[4]) if name)


def read_rows(name: str) -> list[list[str]]:
    """Read the rows of a table beside the version sets, without its head."""
    lines = (VERSIONS / name).read_text(encoding="utf-8").splitlines()
    return list(csv.reader(line for line in lines if line and not line.startswith("#")))[1:]


@cache
def read_version_set(name: str) -> VersionSet:
    """Read a version set. Raise KeyError when the file lacks something, which a contract test forbids."""
    data = read_shipped_yaml(VERSIONS / f"{name}.yaml")
    fields = ("uri", "suite", "components", "key", "fingerprint")
    patches = data["containerd_patches"]
    return VersionSet(
        name=name,
        components={key: str(entry["version"]).removeprefix("v") for key, entry in data["components"].items()},
        apt={
            key: AptSource(
                **{field: str(entry[field]) for field in fields},
                keys=entry.get("keys", {}),
                expires=entry["expires"],
                packages=tuple(entry.get("packages", ())),
            )
            for key, entry in data["apt"].items()
        },
        flannel=parse_artefact(data["manifests"]["flannel"], str(data["components"]["flannel"]["version"])),
        helm=parse_artefact(data["programs"]["helm"], str(data["components"]["helm"]["version"])),
        charts={key: parse_artefact(entry) for key, entry in data["charts"].items()},
        provisioner=parse_artefact(
            data["manifests"]["local-path-provisioner"], str(data["components"]["local-path-provisioner"]["version"])
        ),
        images={name: digest for name, digest in data["images"].items() if digest != "unpinned"},
        containerd_lines={
            str(minor): tuple(patches.get(parse_minor(first), {}).get("first", first) for first in row["first"])
            for minor, row in data["containerd_lines"].items()
        },
        containerd_defects={line: str(row["reason"]) for line, row in patches.items()},
        runc_patches=tuple(row["first"] for row in data["runc_patches"].values()),
        runc_kernels=tuple((kernel, row["first"]) for kernel, row in data["runc_kernels"].items()),
        operator_drivers={chart: dict(row["first"]) for chart, row in data["operator_drivers"].items()},
        minors={str(minor): entry["end"] for minor, entry in data["kubernetes_support"].items()},
    )


def parse_artefact(entry: dict[str, Any], version: str = "") -> Artefact:
    """Parse an artefact, and fill `{version}` into its address."""
    version = version or str(entry["version"])
    sums = entry["sha256"] if isinstance(entry["sha256"], dict) else {"all": entry["sha256"]}
    return Artefact(
        version, entry["url"].replace("{version}", version), {key: str(value) for key, value in sums.items()}
    )


def parse_minor(version: str) -> str:
    """Parse the minor of a version: `1.36` of `1.36.4`."""
    return ".".join(version.split(".")[:2])


def parse_kubernetes_version(text: str | None) -> str | None:
    """Parse a full Kubernetes version of a minor that the newest set supports. Raise ValueError with the rule that is
    broken.

    Minors at or below 1.34 have reached their end of life (kubernetes.io/releases, 2026-10-27).
    """
    if text is None:
        return None
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(text)
    except InvalidVersion as error:
        raise ValueError(f"{text}; allowed: a full version such as 1.36.4") from error
    minors = read_version_set(KNOWN_SETS[-1]).minors
    if len(version.release) != 3:
        raise ValueError(f"{text}; allowed: a full version such as 1.36.4, with its patch level")
    if f"{version.major}.{version.minor}" not in minors:
        raise ValueError(f"{text}; allowed: a patch of {', '.join(minors)}; others have ended or are untested")
    return text.removeprefix("v")
