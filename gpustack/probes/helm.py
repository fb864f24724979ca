"""Helm: our program on the control plane, and the releases of the cluster by the metadata of their Secrets.

Helm keeps each revision in a Secret `sh.helm.release.v1.NAME.vN` with labels name, owner, status and version
(helm.sh/helm pkg/storage/driver/secrets.go), and beside them those of `helm upgrade --labels`. Only the metadata leaves
the API server: values and manifests of a release may hold secrets.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.probes.host.egress import WAY
from gpustack.probes.kubernetes.nodes import entries
from gpustack.probes.parsing import number

# Ours alone, so that no other Helm of the host is in the way or replaced.
PROGRAM = "/usr/local/lib/gpustack/helm"
VERSION = re.compile(r"v([0-9]+\.[0-9]+\.[0-9]+)")
# Labels of ours; Helm takes no others of its own for them.
CHART, DIGEST, REVISION = "gpustack-chart", "gpustack-digest", "gpustack-revision"
# `--timeout` of playbooks/files/helm-release.sh, times the spec's timeout_factor.
TIMEOUT = timedelta(minutes=10)


@dataclass(frozen=True)
class Release:
    """The newest revision of a release. `status` as Helm says it (deployed, failed, pending-install, …); `chart` and
    `digest` are empty when somebody else made it. `labelled` is the revision that we made, 0 where no label says it:
    Helm takes the labels of one revision over to the next, whoever makes that. `created` is Helm's clock when it began
    this revision, in seconds since 1970, and 0 where no label says it."""

    namespace: str
    name: str
    revision: int
    status: str
    chart: str
    digest: str
    labelled: int = 0
    created: int = 0

    @property
    def by_hand(self) -> bool:
        """Somebody has made a revision after ours."""
        return bool(self.labelled) and self.labelled != self.revision

    @property
    def ours(self) -> bool:
        return bool(self.digest)

    @property
    def is_from_gpustack(self) -> bool:
        """gpustack made this very revision, and nobody one after it."""
        return self.ours and self.labelled == self.revision


@dataclass(frozen=True)
class HookJob:
    """A job that a chart runs before or after its own objects; `failed` counts its pods that failed."""

    name: str
    done: bool
    failed: int


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
            number(labels.get("createdAt", "0")),
        )
        key = (found.namespace, found.name)
        if key not in newest or newest[key].revision < found.revision:
            newest[key] = found
    return tuple(newest[key] for key in sorted(newest))


@dataclass(frozen=True)
class Chart:
    """`there`: it was fetched before, or is there to be fetched. `why` is what was said instead. `slow`: a server took
    the connection and did not answer in time."""

    there: bool
    why: str
    slow: bool = False


def charts(answer: Answer) -> Mapping[str, Chart]:
    """By address, of lines `ADDRESS cached`, `ADDRESS slow words` and `ADDRESS CODE words`; none on a worker."""
    found = {}
    for line in answer.out.splitlines():
        url, code, *words = line.split(" ", 2)
        if not url.startswith(("http://", "https://")) or not re.fullmatch("cached|slow|[0-9]{3}", code):
            raise ValueError(line)
        found[url] = Chart(code in ("cached", "200"), (words[0] if words else "") or f"HTTP {code}", code == "slow")
    return found


def jobs(answer: Answer) -> tuple[HookJob, ...]:
    """Those of hooks; other jobs are left out."""
    found = []
    for entry in entries(answer):
        metadata, status = entry["metadata"], entry.get("status", {})
        if HOOK in (metadata.get("annotations") or {}):
            done = any(one["type"] == "Complete" and one["status"] == "True" for one in status.get("conditions", ()))
            found.append(HookJob(metadata["name"], done, status.get("failed", 0)))
    return tuple(found)


def count_running(answer: Answer) -> int:
    return number(answer.out.strip())


HOOK = "helm.sh/hook"
KEPT_OF_JOBS = ("metadata.name", r"metadata.annotations.helm\.sh/hook", "status.conditions", "status.failed")

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
MONITORING_JOBS = Probe("helm.monitoring-jobs", Api("/apis/batch/v1/namespaces/$MONITORING/jobs", KEPT_OF_JOBS), jobs)
GPU_JOBS = Probe("helm.gpu-jobs", Api("/apis/batch/v1/namespaces/$GPU_NAMESPACE/jobs", KEPT_OF_JOBS), jobs)
# The name of a process as the kernel keeps it; grep ends with 1 where there is none.
RUNNING_HELMS = Probe(
    "helm.processes",
    Lines(r"""found=$(grep -lsx helm /proc/[0-9]*/comm) || [ $? -lt 3 ] || exit
# shellcheck disable=SC2086 # words
set -- $found
echo $#
[ $# -gt 0 ]"""),
    count_running,
    ends=(0, 1),
    like="pgrep -x helm",
)
# Only the head of what has not been fetched yet, all at once; 28 is curl's "operation timeout" (curl(1)), and who has
# connected until then is there, but slow. Through the proxy of the spec, as the step fetches it.
CHARTS = Probe(
    "helm.charts",
    Lines(
        WAY
        + r"""[ -r /etc/kubernetes/admin.conf ] || exit 0
for url in $CHARTS; do
  if [ -s "/var/lib/gpustack-cluster/charts/${url##*/}" ]; then
    echo "$url cached"
  else
    {
      output=$(way "$url" | curl -sIL --config - --connect-timeout 5 -m "$((12 * ${TIMEOUT_FACTOR:-1}))" -o /dev/null \
        -w '%{time_connect} %{http_code} %{errormsg}' "$url")
      [ $? != 28 ] || case $output in 0.000000* | 0,000000*) ;; *) output="- slow ${output#* * }" ;; esac
      echo "$url $(printf '%s' "${output#* }" | tr -s '\r\n' ' ')"
    } &
  fi
done
wait"""
    ),
    charts,
    limit=15,
    like="curl -I CHART",
)
