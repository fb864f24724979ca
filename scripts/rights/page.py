"""The page docs/rights.md: sources with versions and digests, permissions, and access to hosts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from scripts.rights.permissions import EVERYWHERE, Object, Permission, find_permissions
from scripts.rights.pods import NO_TOKEN, Access, find_access
from scripts.rights.reasons import ACCOUNTS, PODS, reason_of
from scripts.rights.sources import Chart, Manifest, charts, manifests, own_objects

OWN = re.compile(r"\| \w+ [\w-]+/gpustack-")
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


def rights_page(
    rendered: Mapping[Chart, tuple[str, Sequence[Object]]], applied: Mapping[Manifest, Sequence[Object]]
) -> str:
    """Write the page. By chart: where its templates came from, and what it renders. Raises KeyError for a program
    without a reason."""
    own = own_objects()
    parts = {chart.name: (chart.namespace, objects) for chart, (_, objects) in rendered.items()}
    parts |= {manifest.name: ("default", objects) for manifest, objects in applied.items()}
    parts |= {f"gpustack: {name}": ("default", objects) for name, objects in own.items()}
    permissions = {name: find_permissions(objects, space) for name, (space, objects) in parts.items()}
    access = {name: find_access(objects, space) for name, (space, objects) in parts.items()}
    return "\n".join(
        [
            HEAD,
            "## Sources\n",
            "| what | version | digest | rendered from |",
            "|---|---|---|---|",
            *(row(*identity(chart), origin) for chart, (origin, _) in rendered.items()),
            *(row(*identity(manifest), manifest.url) for manifest in applied),
            *(row(f"gpustack: {name}", "", "", "this release, compared line by line") for name in own),
            "\n## Access to hosts\n",
            "Containers without a line have no host namespace, no host path and no added capability, and their",
            "manifest does not make them root. `token`: the ServiceAccount whose token is in the pod.\n",
            *access_section(access),
            "\n## Permissions\n",
            f"Scope `{EVERYWHERE}` is every namespace and what is in none.\n",
            *permission_section(permissions),
            "",
        ]
    )


def identity(source: Chart | Manifest) -> tuple[str, str, str]:
    """Name, version and digest, by which a test finds a page that is not of this release."""
    if isinstance(source, Chart):
        return source.name, source.version, f"values {source.digest}"
    return source.name, source.version, f"{source.sha256[:16]}, settings {source.digest}"


def access_section(access: Mapping[str, list[Access]]) -> list[str]:
    lines = ["| workload | container | access to the host | user | token | why |", "|---|---|---|---|---|---|"]
    for found in access.values():
        lines += [
            row(
                one.workload,
                one.container,
                one.host or "none",
                one.user,
                one.token,
                reason_of(f"{one.workload}/{one.container}", PODS),
            )
            for one in found
            if one.special or one.token != NO_TOKEN
        ]
    return lines


def permission_section(permissions: Mapping[str, list[Permission]]) -> list[str]:
    lines: list[str] = []
    for part, found in permissions.items():
        for subject, rules in groupby(found, key=lambda one: one.subject):
            lines += [f"### {subject} ({part})\n", reason_of(subject, ACCOUNTS) + "\n"]
            lines += ["| scope | resources | verbs |", "|---|---|---|"]
            lines += [row(rule.scope, rule.resources, rule.verbs) for rule in rules] + [""]
    return lines


def row(*cells: str) -> str:
    return f"| {' | '.join(escape(cells))} |"


def escape(cells: Iterable[str]) -> list[str]:
    return [cell.replace("|", "\\|").replace("*", "\\*") for cell in cells]


def find_stale(page: str) -> list[str]:
    """Name what of PAGE is not of this release: versions, digests, and lines of our own objects."""
    names = [*map(identity, charts()), *map(identity, manifests())]
    found = [f"not on the page: {' '.join(name)}" for name in names if row(*name).rstrip("|") not in page]
    expected: list[str] = []
    for name, objects in own_objects().items():
        expected += access_section({name: find_access(objects, "default")})[2:]
        expected += permission_section({name: find_permissions(objects, "default")})
    found += [f"not on the page: {line}" for line in expected if line not in page]
    actual = [line for line in page.splitlines() if OWN.match(line)]
    return found + [f"not of this release: {line}" for line in actual if line not in expected]
