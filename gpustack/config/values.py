"""The operator's Helm values, `values/<release>.yaml` beside the inventory: how they are read, and what is refused."""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from gpustack.config.ansible.inventory_files import locate_inventory_dir
from gpustack.config.chart_keys import describe_shape
from gpustack.config.chart_keys import judge_values as judged_keys
from gpustack.config.complaint import Complaint
from gpustack.config.secrets.secret_values import find_secrets
from gpustack.config.yaml_files import VAULT, describe_error, read_yaml_text
from gpustack.files.document import DocumentError
from gpustack.files.yaml_text import Rules, parse_yaml

LOCAL = Path("/etc/gpustack-cluster/values")
ENDING = ".yaml"
HELM = Rules(aliases=True, dates=False, unique=True)
# Charts and rules carry Go templates: {{ $labels.x }}, {{ .Values.y }}, {{ template "z" . }}. A bare name, alone or
# with a filter, an attribute or a call, is Jinja, and so is a text in single quotes.
GO_ALONE = "end|else|break|continue|now"
JINJA = re.compile(rf"\{{[%#]|\{{\{{-?\s*(?:'|(?!(?:{GO_ALONE})\b)[A-Za-z_]\w*(?:[.(\[]|\s*(?:-?\}}\}}|\|)))")


def locate_values_folder(source: Path | None) -> Path:
    """Return the folder of the operator's values. `source` is the inventory, None for the local host."""
    return locate_inventory_dir(source) / "values" if source else LOCAL


def locate_values_file(source: Path | None, release: str) -> Path:
    return locate_values_folder(source) / f"{release}{ENDING}"


def read_operator_values(source: Path | None, release: str, chart: str) -> tuple[dict[str, Any], list[Complaint]]:
    """Read the operator's values, and return them with complaints; with a complaint they are not to be used. Without a
    file there are no values. `chart` is name and version, such as kube-prometheus-stack-88.5.3."""
    path = locate_values_file(source, release)
    if not path.exists():
        return {}, []
    text, wrong = read_yaml_text(path)
    if wrong:
        return {}, [wrong]
    if text.startswith(VAULT):
        rule = "plain YAML; secrets are files of the spec"
        return {}, [Complaint(str(path), "", "an encrypted file", rule, "values-shape")]
    try:
        values = parse_values(text)
    except DocumentError as error:
        return {}, [describe_error(path, error)]
    if not isinstance(values, dict):
        return {}, [Complaint(str(path), "", describe_shape(values), "a mapping of values", "values-shape")]
    return values, [
        *find_jinja(str(path), "", values),
        *find_secrets(str(path), values),
        *judged_keys(str(path), chart, values),
    ]


def find_unknown_files(source: Path | None, releases: Collection[str]) -> list[Complaint]:
    """Return a complaint for each file that belongs to no release: its values would have no effect."""
    known_names = [f"{release}{ENDING}" for release in releases]
    place = locate_values_folder(source)
    paths = sorted(path for path in place.iterdir() if path.name not in known_names) if place.is_dir() else []
    return [
        Complaint(str(path), "", "values of no release", ", ".join(known_names), "values-stranger")
        for path in paths
        if not path.name.startswith(".") and path.suffix != ".md"
    ]


def parse_values(text: str) -> Any:
    """Parse values as Helm reads them: keys are texts, and so are dates. Raise DocumentError."""
    return convert_to_text(parse_yaml(text, HELM) or {})


def convert_to_text(document: Any) -> Any:
    if isinstance(document, dict):
        return {format_key(key): convert_to_text(inner) for key, inner in document.items()}
    return [convert_to_text(inner) for inner in document] if isinstance(document, list) else document


def format_key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else "null" if key is None else str(key)


def find_jinja(file: str, key: str, document: Any) -> list[Complaint]:
    """Return a complaint for Jinja, which Helm would take literally. Templates of Go are for the chart, Prometheus or
    Alertmanager, and stay."""
    pairs: Iterable[tuple[Any, Any]] = (
        document.items() if isinstance(document, Mapping) else enumerate(document) if isinstance(document, list) else ()
    )
    complaints = [
        wrong for name, inner in pairs for wrong in find_jinja(file, f"{key}.{name}" if key else str(name), inner)
    ]
    if isinstance(document, str) and (match := JINJA.search(document)):
        text = document[match.start() :].splitlines()[0]
        return [Complaint(file, key, text, "a plain value, no Jinja", "config-jinja")]
    return complaints
