"""Helm values: ours below what is computed below the operator's own, `values/<release>.yaml` beside the inventory.

They are merged as Helm merges several `--values`: maps key by key, everything else is replaced, and null stays, because
to Helm it means that the chart's own default is to go.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpustack.config.chart_keys import judged as judged_keys
from gpustack.config.chart_keys import shape
from gpustack.config.complaint import Complaint
from gpustack.config.resources import values as shipped_values
from gpustack.config.secrets.secret_values import secrets_in
from gpustack.config.sections.cluster_spec import sibling_dir
from gpustack.config.yaml_files import VAULT, describe_error, read_yaml_text
from gpustack.files.document import DocumentError
from gpustack.files.read import read_text
from gpustack.files.yaml_text import Rules, parse_yaml

LOCAL = Path("/etc/gpustack-cluster/values")
ENDING = ".yaml"
HELM = Rules(aliases=True, dates=False, unique=True)
# Charts and rules carry Go templates: {{ $labels.x }}, {{ .Values.y }}, {{ template "z" . }}. A bare name, alone or
# with a filter, an attribute or a call, is Jinja, and so is a text in single quotes.
GO_ALONE = "end|else|break|continue|now"
JINJA = re.compile(rf"\{{[%#]|\{{\{{-?\s*(?:'|(?!(?:{GO_ALONE})\b)[A-Za-z_]\w*(?:[.(\[]|\s*(?:-?\}}\}}|\|)))")


def folder(source: Path | None) -> Path:
    """Where the operator's values stand; `source` is the inventory, None for the local host."""
    return sibling_dir(source) / "values" if source else LOCAL


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Later layers win. The layers are left as they are, and the result shares their innermost values."""
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = result.get(key)
            both = isinstance(below, Mapping) and isinstance(value, Mapping)
            result[key] = merged(below, value) if both else value  # type: ignore[arg-type]
    return result


@cache
def ours(release: str) -> Mapping[str, Any]:
    """The values that gpustack ships. Raises FileNotFoundError where it ships none."""
    found: dict[str, Any] = read_values(read_text(shipped_values() / f"{release}{ENDING}"))
    return found


def theirs(source: Path | None, release: str, chart: str) -> tuple[dict[str, Any], list[Complaint]]:
    """The operator's values, and what is wrong with them; with a complaint they are not to be used. No file: no values.
    `chart` is name and version, such as kube-prometheus-stack-88.5.3."""
    path = folder(source) / f"{release}{ENDING}"
    if not path.exists():
        return {}, []
    text, wrong = read_yaml_text(path)
    if wrong:
        return {}, [wrong]
    if text.startswith(VAULT):
        allowed = "plain YAML; secrets are files of the spec"
        return {}, [Complaint(str(path), "", "an encrypted file", allowed, "values-shape")]
    try:
        found = read_values(text)
    except DocumentError as error:
        return {}, [describe_error(path, error)]
    if not isinstance(found, dict):
        return {}, [Complaint(str(path), "", shape(found), "a mapping of values", "values-shape")]
    return found, [
        *jinja(str(path), "", found),
        *secrets_in(str(path), found),
        *judged_keys(str(path), chart, found),
    ]


def find_unknown_files(source: Path | None, releases: Collection[str]) -> list[Complaint]:
    """Files that belong to no release: what stands in them would have no effect."""
    known = [f"{release}{ENDING}" for release in releases]
    place = folder(source)
    found = sorted(path for path in place.iterdir() if path.name not in known) if place.is_dir() else []
    return [
        Complaint(str(path), "", "values of no release", ", ".join(known), "values-stranger")
        for path in found
        if not path.name.startswith(".") and path.suffix != ".md"
    ]


def read_values(text: str) -> Any:
    """Return values as Helm reads them: keys are texts, and so are dates. Raise DocumentError."""
    return texts(parse_yaml(text, HELM) or {})


def texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {word(key): texts(inner) for key, inner in value.items()}
    return [texts(inner) for inner in value] if isinstance(value, list) else value


def word(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else "null" if key is None else str(key)


def jinja(file: str, key: str, value: Any) -> list[Complaint]:
    """Helm would take Jinja literally. Templates of Go's are for the chart, Prometheus or Alertmanager, and stay."""
    pairs: Iterable[tuple[Any, Any]] = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    found = [wrong for name, inner in pairs for wrong in jinja(file, f"{key}.{name}" if key else str(name), inner)]
    if isinstance(value, str) and (match := JINJA.search(value)):
        text = value[match.start() :].splitlines()[0]
        return [Complaint(file, key, text, "a plain value, no Jinja", "config-jinja")]
    return found
