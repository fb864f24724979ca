"""Probes of Helm: its program on the control plane, and the releases of the cluster by the metadata of their Secrets.

Helm keeps each revision in a Secret `sh.helm.release.v1.NAME.vN` with labels name, owner, status and version
(helm.sh/helm pkg/storage/driver/secrets.go), and beside them those of `helm upgrade --labels`. Only the metadata leaves
the API server: values and manifests of a release may hold secrets.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.probes.host.egress import PROXY_FUNCTION
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import parse_integer

# Ours alone, so that no other Helm of the host is in the way or replaced.
PROGRAM = "/usr/local/lib/gpustack/helm"
VERSION = re.compile(r"v([0-9]+\.[0-9]+\.[0-9]+)")
# Labels of ours; Helm takes no others of its own for them.
CHART, DIGEST, REVISION = "gpustack-chart", "gpustack-digest", "gpustack-revision"
# Before the key of a value. Helm keeps a label of an earlier revision: so the text is the digest and its revision.
VALUES = "values.gpustack.io/"
RECORD = "sh.helm.release.v1."
"""The beginning of the names of Helm's Secrets. Those of others may have a label `owner` with the same value."""
# `--timeout` of playbooks/files/helm-release.sh, times the spec's timeout_factor.
TIMEOUT = timedelta(minutes=10)


@dataclass(frozen=True)
class Release:
    """Hold the newest revision of a release.

    `status` is Helm's (deployed, failed, pending-install, …); `chart` and `digest` are empty when somebody else made
    the release. `labelled_revision` is the revision that gpustack made, 0 where no label says it: Helm copies the
    labels of one revision to the next, whoever makes that. `created_at` is Helm's clock when it began this revision, in
    seconds since 1970, and 0 where no label says it. `value_digests` has the short digests of this revision's values by
    key, as steps/release_values.py makes them; none where gpustack did not make this revision, or an older one did.
    """

    namespace: str
    name: str
    revision: int
    status: str
    chart: str
    digest: str
    labelled_revision: int = 0
    created_at: int = 0
    value_digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_hand(self) -> bool:
        """Somebody has made a revision after that of gpustack."""
        return bool(self.labelled_revision) and self.labelled_revision != self.revision

    @property
    def is_managed(self) -> bool:
        return bool(self.digest)

    @property
    def is_from_gpustack(self) -> bool:
        """The newest revision was made by gpustack, and nobody made one after it."""
        return self.is_managed and self.labelled_revision == self.revision


@dataclass(frozen=True)
class HookJob:
    """Describe a job that a chart runs before or after its own objects; `failed_pods` counts its pods that failed."""

    name: str
    done: bool
    failed_pods: int


def parse_helm_version(answer: Answer) -> str | None:
    """Parse a version like `4.3.0`, or None where there is no Helm. Raise ValueError where the answer is anything
    else."""
    if not answer.stdout.strip():
        return None
    match = VERSION.fullmatch(answer.stdout.strip())
    if not match:
        raise ValueError(answer.stdout)
    return match[1]


def parse_releases(answer: Answer) -> tuple[Release, ...]:
    """Parse one revision for each release, sorted. Raise KeyError where a Secret of Helm lacks one of its labels."""
    newest_releases: dict[tuple[str, str], Release] = {}
    for entry in list_objects(answer):
        metadata = entry["metadata"]
        if not metadata["name"].startswith(RECORD):
            continue
        labels: dict[str, str] = metadata["labels"]
        release = Release(
            metadata["namespace"],
            labels["name"],
            parse_integer(labels["version"]),
            labels["status"],
            labels.get(CHART, ""),
            labels.get(DIGEST, ""),
            parse_integer(labels.get(REVISION, "0")),
            parse_integer(labels.get("createdAt", "0")),
            parse_value_digests(labels),
        )
        key = (release.namespace, release.name)
        if key not in newest_releases or newest_releases[key].revision < release.revision:
            newest_releases[key] = release
    return tuple(newest_releases[key] for key in sorted(newest_releases))


def parse_value_digests(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Parse the digests of values by key. Those of other revisions are left out."""
    digests = {
        name.removeprefix(VALUES): text.partition(".") for name, text in labels.items() if name.startswith(VALUES)
    }
    return {key: digest for key, (digest, _, revision) in digests.items() if revision == labels["version"]}


@dataclass(frozen=True)
class Chart:
    """Describe a chart. `available`: it was fetched before, or can be fetched. `reason` is the error otherwise. `slow`:
    a server accepted the connection and did not answer in time."""

    available: bool
    reason: str
    slow: bool = False


def parse_charts(answer: Answer) -> Mapping[str, Chart]:
    """Parse charts by address from lines `ADDRESS cached`, `ADDRESS slow WORDS` and `ADDRESS CODE WORDS`; none on a
    worker."""
    charts = {}
    for line in answer.stdout.splitlines():
        url, code, *words = line.split(" ", 2)
        if not url.startswith(("http://", "https://")) or not re.fullmatch("cached|slow|[0-9]{3}", code):
            raise ValueError(line)
        charts[url] = Chart(code in ("cached", "200"), (words[0] if words else "") or f"HTTP {code}", code == "slow")
    return charts


def parse_hook_jobs(answer: Answer) -> tuple[HookJob, ...]:
    """Parse the jobs of hooks; other jobs are left out."""
    hook_jobs = []
    for entry in list_objects(answer):
        metadata, status = entry["metadata"], entry.get("status", {})
        if HOOK in (metadata.get("annotations") or {}):
            is_done = any(
                condition["type"] == "Complete" and condition["status"] == "True"
                for condition in status.get("conditions", ())
            )
            hook_jobs.append(HookJob(metadata["name"], is_done, status.get("failed", 0)))
    return tuple(hook_jobs)


def count_running(answer: Answer) -> int:
    return parse_integer(answer.stdout.strip())


HOOK = "helm.sh/hook"
JOB_FIELDS = ("metadata.name", r"metadata.annotations.helm\.sh/hook", "status.conditions", "status.failed")

HELM = Probe(
    "helm.program",
    Lines(f"[ ! -x {PROGRAM} ] || {PROGRAM} version --template '{{{{.Version}}}}' && echo"),
    parse_helm_version,
)
RELEASES = Probe(
    "helm.releases",
    Api(
        "/api/v1/secrets?labelSelector=owner%3Dhelm",
        ("metadata.name", "metadata.namespace", "metadata.labels"),
        metadata=True,
    ),
    parse_releases,
)
MONITORING_JOBS = Probe(
    "helm.monitoring-jobs", Api("/apis/batch/v1/namespaces/$MONITORING/jobs", JOB_FIELDS), parse_hook_jobs
)
GPU_JOBS = Probe("helm.gpu-jobs", Api("/apis/batch/v1/namespaces/$GPU_NAMESPACE/jobs", JOB_FIELDS), parse_hook_jobs)
# The name of a process as the kernel keeps it; grep ends with 1 where there is none.
RUNNING_HELMS = Probe(
    "helm.processes",
    Lines(r"""files=$(grep -lsx helm /proc/[0-9]*/comm) || [ $? -lt 3 ] || exit
# shellcheck disable=SC2086 # words
set -- $files
echo $#
[ $# -gt 0 ]"""),
    count_running,
    exit_codes=(0, 1),
    manual_command="pgrep -x helm",
)
# Only the head of what has not been fetched yet, all at once; 28 is curl's "operation timeout" (curl(1)), and who has
# connected until then is there, but slow. Through the proxy of the spec, as the step fetches it.
CHARTS = Probe(
    "helm.charts",
    Lines(
        PROXY_FUNCTION
        + r"""[ -r /etc/kubernetes/admin.conf ] || exit 0
for url in $CHARTS; do
  if [ -s "/var/lib/gpustack-cluster/charts/${url##*/}" ]; then
    echo "$url cached"
  else
    {
      output=$(proxy_setting "$url" |
        curl -sIL --config - --connect-timeout 5 -m "$((12 * ${TIMEOUT_FACTOR:-1}))" -o /dev/null \
          -w '%{time_connect} %{http_code} %{errormsg}' "$url")
      [ $? != 28 ] || case $output in 0.000000* | 0,000000*) ;; *) output="- slow ${output#* * }" ;; esac
      echo "$url $(printf '%s' "${output#* }" | tr -s '\r\n' ' ')"
    } &
  fi
done
wait"""
    ),
    parse_charts,
    limit=15,
    manual_command="curl -I CHART",
)
