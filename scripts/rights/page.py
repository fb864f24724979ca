"""The page docs/rights.md: sources with versions and digests, permissions, and access to hosts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from scripts.rights.permissions import CLUSTER_SCOPE, Object, Permission, find_permissions
from scripts.rights.pods import NO_TOKEN, Access, find_access
from scripts.rights.reasons import ACCOUNTS, PODS, find_reason
from scripts.rights.sources import Chart, Manifest, build_own_objects, list_charts, list_manifests

OWN_ROW = re.compile(r"\| \w+ [\w-]+/gpustack-")
HEAD = """\
# Rights

What the programs that gpustack brings into a cluster may do with the Kubernetes API and with their hosts. Written by
`make rights`: it renders each chart and manifest with the values of gpustack, at the defaults of the spec with GPUs and
autoscaling on. A test compares versions and digests with the release, so a change without a new page fails. Your own
values (`values/*.yaml`) can add to it.

NVIDIA's operator creates its operands in the cluster (device plugin, toolkit, exporter, driver): they are not in its
chart and not on this page. Most of them are privileged (NVIDIA/gpu-operator, assets/).

Pods of all programs can reach each other and the API server: Flannel enforces no NetworkPolicy. `gpustack-serve` has a
memory limit and no CPU limit, because a busy node would make its answers late and it uses little.
"""


def render_page(
    chart_objects: Mapping[Chart, tuple[str, Sequence[Object]]], manifest_objects: Mapping[Manifest, Sequence[Object]]
) -> str:
    """Render the page. `chart_objects` has by chart the origin of its templates and the objects that it renders. Raise
    KeyError for a program without a reason."""
    own_objects = build_own_objects()
    parts = {chart.name: (chart.namespace, objects) for chart, (_, objects) in chart_objects.items()}
    parts |= {manifest.name: ("default", objects) for manifest, objects in manifest_objects.items()}
    parts |= {f"gpustack: {name}": ("default", objects) for name, objects in own_objects.items()}
    permissions = {name: find_permissions(objects, space) for name, (space, objects) in parts.items()}
    access = {name: find_access(objects, space) for name, (space, objects) in parts.items()}
    return "\n".join(
        [
            HEAD,
            "## Sources\n",
            "| what | version | digest | rendered from |",
            "|---|---|---|---|",
            *(format_row(*format_identity(chart), origin) for chart, (origin, _) in chart_objects.items()),
            *(format_row(*format_identity(manifest), manifest.url) for manifest in manifest_objects),
            *(format_row(f"gpustack: {name}", "", "", "this release, compared line by line") for name in own_objects),
            "\n## Access to hosts\n",
            "Containers without a line have no host namespace, no host path and no added capability, and their",
            "manifest does not make them root. `token`: the ServiceAccount whose token is in the pod.\n",
            *render_access(access),
            "\n## Permissions\n",
            f"Scope `{CLUSTER_SCOPE}` is every namespace and what is in none.\n",
            *render_permissions(permissions),
            "",
        ]
    )


def format_identity(source: Chart | Manifest) -> tuple[str, str, str]:
    """Format name, version and digest, by which a test finds a page of another release."""
    if isinstance(source, Chart):
        return source.name, source.version, f"values {source.digest}"
    return source.name, source.version, f"{source.sha256[:16]}, settings {source.digest}"


def render_access(access: Mapping[str, list[Access]]) -> list[str]:
    lines = ["| workload | container | access to the host | user | token | why |", "|---|---|---|---|---|---|"]
    for accesses in access.values():
        lines += [
            format_row(
                entry.workload,
                entry.container,
                entry.host or "none",
                entry.user,
                entry.token,
                find_reason(f"{entry.workload}/{entry.container}", PODS),
            )
            for entry in accesses
            if entry.special or entry.token != NO_TOKEN
        ]
    return lines


def render_permissions(permissions: Mapping[str, list[Permission]]) -> list[str]:
    lines: list[str] = []
    for part, entries in permissions.items():
        for subject, rules in groupby(entries, key=lambda permission: permission.subject):
            lines += [f"### {subject} ({part})\n", find_reason(subject, ACCOUNTS) + "\n"]
            lines += ["| scope | resources | verbs |", "|---|---|---|"]
            lines += [format_row(rule.scope, rule.resources, rule.verbs) for rule in rules] + [""]
    return lines


def format_row(*cells: str) -> str:
    return f"| {' | '.join(escape(cells))} |"


def escape(cells: Iterable[str]) -> list[str]:
    return [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]


def find_stale(page: str) -> list[str]:
    """Find the lines of a page that are not of this release: versions, digests, and gpustack's own objects."""
    names = [*map(format_identity, list_charts()), *map(format_identity, list_manifests())]
    stale_lines = [f"not on the page: {' '.join(name)}" for name in names if format_row(*name).rstrip("|") not in page]
    expected: list[str] = []
    for name, objects in build_own_objects().items():
        expected += render_access({name: find_access(objects, "default")})[2:]
        expected += render_permissions({name: find_permissions(objects, "default")})
    stale_lines += [f"not on the page: {line}" for line in expected if line not in page]
    actual = [line for line in page.splitlines() if OWN_ROW.match(line)]
    return stale_lines + [f"not of this release: {line}" for line in actual if line not in expected]
