"""Helm: our program on the control plane, and the releases of the cluster by the metadata of their Secrets.

Helm keeps each revision in a Secret `sh.helm.release.v1.NAME.vN` with labels name, owner, status and version
(helm.sh/helm pkg/storage/driver/secrets.go), and beside them those of `helm upgrade --labels`. Only the metadata leaves
the API server: values and manifests of a release may hold secrets.
"""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.probes.kube import entries
from gpustack.probes.read import number

# Ours alone, so that no other Helm of the host is in the way or replaced.
PROGRAM = "/usr/local/lib/gpustack/helm"
VERSION = re.compile(r"v([0-9]+\.[0-9]+\.[0-9]+)")
# Labels of ours; Helm takes no others of its own for them.
CHART, DIGEST, REVISION = "gpustack-chart", "gpustack-digest", "gpustack-revision"


@dataclass(frozen=True)
class Release:
    """The newest revision of a release. `status` as Helm says it (deployed, failed, pending-install, …); `chart` and
    `digest` are empty when somebody else made it. `labelled` is the revision that we made, 0 where no label says it:
    Helm takes the labels of one revision over to the next, whoever makes that."""

    namespace: str
    name: str
    revision: int
    status: str
    chart: str
    digest: str
    labelled: int = 0

    @property
    def by_hand(self) -> bool:
        """Somebody has made a revision after ours."""
        return bool(self.labelled) and self.labelled != self.revision

    @property
    def ours(self) -> bool:
        return bool(self.digest)


def program(answer: Answer) -> str | None:
    """Like `4.3.0`; None where there is none. Raises ValueError for anything else."""
    if not answer.out.strip():
        return None
    found = VERSION.fullmatch(answer.out.strip())
    if not found:
        raise ValueError(answer.out)
    return found[1]


def releases(answer: Answer) -> tuple[Release, ...]:
    """One for each release, sorted."""
    newest: dict[tuple[str, str], Release] = {}
    for entry in entries(answer):
        metadata = entry["metadata"]
        labels: dict[str, str] = metadata["labels"]
        found = Release(
            metadata["namespace"],
            labels["name"],
            number(labels["version"]),
            labels["status"],
            labels.get(CHART, ""),
            labels.get(DIGEST, ""),
            number(labels.get(REVISION, "0")),
        )
        key = (found.namespace, found.name)
        if key not in newest or newest[key].revision < found.revision:
            newest[key] = found
    return tuple(newest[key] for key in sorted(newest))


HELM = Probe(
    "helm.program", Lines(f"[ ! -x {PROGRAM} ] || {PROGRAM} version --template '{{{{.Version}}}}' && echo"), program
)
RELEASES = Probe(
    "helm.releases",
    Api(
        "/api/v1/secrets?labelSelector=owner%3Dhelm",
        ("metadata.name", "metadata.namespace", "metadata.labels"),
        metadata=True,
    ),
    releases,
)
