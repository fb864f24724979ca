"""A dashboard in Grafana's classic JSON model, as Grafana exports it and grafana.com has it.

The places that such a file leaves open (`__inputs`, `${DS_…}`) take the data source of the cluster; what belongs to the
Grafana that it comes from is left out. Sources: grafana.com/docs/grafana/latest, "Dashboard JSON model" and "Share
dashboards and panels"; a ConfigMap has at most 1 MiB (kubernetes.io/docs/concepts/configuration/configmap).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpustack.config.complaint import Complaint
from gpustack.files.document import DocumentError
from gpustack.files.json_text import dump_json, parse_json
from gpustack.files.read import read_file

DATA_SOURCE = "prometheus"
"""The uid that kube-prometheus-stack gives to the data source (grafana.sidecar.datasources.uid)."""
REFERENCE = "config-dashboard"
LARGEST = 1_000_000
"""Bytes of JSON without blanks, in ASCII, so that a ConfigMap holds it."""
READ = 4 * LARGEST
CLASSIC = "a dashboard in Grafana's classic JSON model"
UID = re.compile(r"[A-Za-z0-9_-]{1,40}")
OPEN = re.compile(r"\$\{(DS_[A-Za-z0-9_-]+)\}")
FOREIGN = ("id", "__inputs", "__requires", "__elements")


@dataclass(frozen=True)
class Dashboard:
    """Hold a dashboard. `name` is of letters, digits and hyphens, `text` the JSON as it is brought to Grafana, in
    ASCII."""

    name: str
    uid: str
    title: str
    text: str


def build_complaint(path: Path, key: str, actual: str, rule: str) -> Complaint:
    return Complaint(str(path), key, actual, rule, REFERENCE)


def read_dashboard(path: Path) -> tuple[Dashboard | None, list[Complaint]]:
    """Read a dashboard. Without a uid it has one derived from the name of its file, which stays the same."""
    board, reason = load(path)
    if board is None:
        return None, [build_complaint(path, "", reason, CLASSIC)]
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower())[:36].strip("-")
    uid, title = board.get("uid") or f"own-{name}", board.get("title")
    inputs, wrong = read_inputs(path, board)
    if not name:
        wrong.append(build_complaint(path, "", f"the file name {path.name}", "one with letters or digits"))
    if not isinstance(title, str) or not title.strip():
        wrong.append(
            build_complaint(path, "title", "nothing" if title is None else repr(title), "the dashboard's name")
        )
    if not isinstance(uid, str) or not UID.fullmatch(uid):
        wrong.append(build_complaint(path, "uid", repr(uid), "at most 40 letters, digits, - and _, or none"))
    if board.get("__elements"):
        wrong.append(build_complaint(path, "__elements", "library panels", "panels that stand in the file"))
    portable_board = {key: value for key, value in board.items() if key not in FOREIGN} | {"uid": uid}
    text = dump_json(fill_inputs(portable_board, inputs, collect_variables(board)), separators=(",", ":"))
    if len(text) > LARGEST:
        wrong.append(build_complaint(path, "", f"{len(text)} bytes", f"at most {LARGEST}"))
    return (None if wrong else Dashboard(name, str(uid), str(title), text)), wrong


def load(path: Path) -> tuple[dict[str, Any] | None, str]:
    """Load a JSON object that is no resource of Grafana's API, or return the reason why there is none."""
    if not path.is_file():
        return None, "no plain file"
    try:
        board = parse_json(read_file(path, READ))
    except OSError as error:
        return None, f"a file that cannot be read ({error.strerror})"
    except DocumentError as error:
        return None, f"no JSON ({f'line {error.line}: ' if error.line else ''}{error.reason})"
    if not isinstance(board, dict):
        return None, "JSON that is no object"
    if "apiVersion" in board and "spec" in board:
        return None, f"a resource of Grafana's API ({board['apiVersion']})"
    return board, ""


def read_inputs(path: Path, board: Mapping[str, Any]) -> tuple[dict[str, str], list[Complaint]]:
    """Read the value of each name of `__inputs`: the data source of the cluster for one of Prometheus, its own value
    for a constant."""
    inputs, wrong = {}, []
    declared_inputs = board.get("__inputs") or []
    for index, declared_input in enumerate(declared_inputs if isinstance(declared_inputs, list) else [declared_inputs]):
        entry = declared_input if isinstance(declared_input, dict) else {}
        name, kind, value = entry.get("name"), entry.get("type"), entry.get("value")
        if name and kind == "datasource" and entry.get("pluginId") == DATA_SOURCE:
            inputs[str(name)] = DATA_SOURCE
        elif name and kind == "constant" and isinstance(value, str):
            inputs[str(name)] = value
        else:
            input_kind = entry.get("pluginId") or kind or declared_input
            rule = "a data source of prometheus, or a constant"
            wrong.append(build_complaint(path, f"__inputs.{index}", repr(input_kind), rule))
    return inputs, wrong


def collect_variables(board: Mapping[str, Any]) -> set[str]:
    """Collect the names of the dashboard's variables: a data source that a reader chooses may be called DS_… too."""
    declared_variables = board["templating"].get("list") if isinstance(board.get("templating"), dict) else None
    if isinstance(declared_variables, list):
        return {str(variable.get("name")) for variable in declared_variables if isinstance(variable, dict)}
    return set()


def fill_inputs(document: Any, inputs: Mapping[str, str], variables: set[str], key: str = "") -> Any:
    """Fill all places that were left open. A data source that is given by its name alone becomes one by its uid."""
    if isinstance(document, dict):
        return {name: fill_inputs(inner, inputs, variables, name) for name, inner in document.items()}
    if isinstance(document, list):
        return [fill_inputs(inner, inputs, variables, key) for inner in document]
    if not isinstance(document, str) or "${" not in document:
        return document
    text = document
    for name, word in inputs.items():
        text = text.replace(f"${{{name}}}", word)
    text = OPEN.sub(lambda match: match[0] if match[1] in variables else DATA_SOURCE, text)
    by_name = key == "datasource" and text == DATA_SOURCE
    return {"type": "prometheus", "uid": DATA_SOURCE} if by_name else text
