"""Reads of the Kubernetes API by curl on the control plane, as the administrator of admin.conf.

A kubectl for each read costs its start each time (58 ms against 5, measured); the reads of one curl share a connection.
The credential stays on the host: it goes from admin.conf to curl through pipes, and is in no argument, variable of the
environment or file. After the first read that gets no answer curl ends, so that an API that does not answer costs one
limit instead of one for each read.

There is one curl for each kind of read: whole objects; metadata only (PartialObjectMetadata,
https://kubernetes.io/docs/reference/using-api/api-concepts); and what the API server proxies to a Service, which comes
last: a Service that hangs delays no other read.
"""

import shlex
from collections.abc import Mapping, Sequence
from string import Template
from types import MappingProxyType
from typing import Any

from gpustack.ask.probe import Api, Probe
from gpustack.ask.script_file import read_script
from gpustack.files.json_text import load_json

# Seconds: until it takes the connection, and for one read: a busy API server was seen to take more than four.
CONNECT_LIMIT, READ_LIMIT = 4, 10

# Of a read: its number, the HTTP status (000: none came), seconds, and what curl says of it.
WRITE_OUT = r"\n$M = %{urlnum} %{http_code} %{time_total} %{errormsg}\n"
FUNCTION = read_script(__file__, "read_api.sh")
FUNCTION = FUNCTION.replace("CONNECT_LIMIT", str(CONNECT_LIMIT)).replace("READ_LIMIT", str(READ_LIMIT))
FUNCTION = FUNCTION.replace("WRITE_OUT", WRITE_OUT)

ADMIN = "--kubeconfig /etc/kubernetes/admin.conf"
METADATA = 'header = "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"'
# As kubectl says it.
ABSENT = "the server could not find the requested resource"
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


def render_calls(probes: Sequence[Probe[Any]], variables: Mapping[str, str] = NO_VARIABLES) -> str:
    """Render the lines of the script that read these probes' paths. Ids and paths come from the product and have no
    blanks."""
    kinds: dict[str, list[tuple[str, str]]] = {"": [], METADATA: [], "# passed on": []}
    for probe in probes:
        if isinstance(probe.question, Api):
            kind = METADATA if probe.question.metadata else "# passed on" if "/proxy/" in probe.question.path else ""
            kinds[kind].append((probe.id, fill_path(probe.question.path, variables)))
    lines = ""
    for kind, reads in kinds.items():
        if reads:
            ids, paths = (" ".join(part) for part in zip(*reads, strict=True))
            lines += f"api {shlex.quote(ids)} {shlex.quote(paths)} {shlex.quote(kind)}\n"
    return lines


def fill_path(path: str, variables: Mapping[str, str]) -> str:
    """Fill the variables into a path. A variable without a value stays as it is written."""
    return Template(path).safe_substitute(variables)


def format_kubectl(path: str) -> str:
    """Format the same read as a person types it on the control plane."""
    return f"kubectl {ADMIN} get --raw {shlex.quote(path)}"


def describe_refusal(status: str, error: str, body: str) -> str:
    """Describe in one line why a read was refused; empty where it was not.

    A Status object has a message; Prometheus, which the API server passes reads on to, has an error
    (https://prometheus.io/docs/prometheus/latest/querying/api); /readyz lists what is not ready; for an unknown API
    group the API server says `404 page not found`.
    """
    if status == "200":
        return ""
    if status == "000":
        return error or "no answer"
    try:
        document = load_json(body)
        return str(document["message"]) if "message" in document else f"HTTP {status}: {document['error']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        if status == "404":
            return ABSENT
        failed_checks = [line for line in body.splitlines() if line.startswith("[-]")]
        return ", ".join(failed_checks) or f"HTTP {status}"
