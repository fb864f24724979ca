"""Secrets that a control plane gives: a client certificate of an hour, and the login of Grafana. The file admin.conf
never leaves its host, and the secrets are never reported, logged or recorded."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from secrets import token_hex

from gpustack.ask.answers import parse_answers
from gpustack.ask.probe import UNREADABLE, Answer, Probe, Shell
from gpustack.ask.script import build_last_line, render_script
from gpustack.ask.transport import execute as transport
from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.config.endpoint import resolve_endpoint
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.errors import RolloutError, UnreachableError
from gpustack.files.json_text import load_json
from gpustack.proof.certificate import Credential, Request, parse_credential, read_server_names
from gpustack.proof.kubeconfig import Access, Server, parse_server, refuse_unnamed

# kubeadm reads the configuration of the cluster, as a file on the host may be older. It writes nothing on the host.
SIGN = """
config=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s -n kube-system \
  get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}') || exit
printf '%s\\n' "$config" |
  kubeadm kubeconfig user --config /dev/stdin --client-name "$CLIENT" --org "$GROUP" --validity-period "$VALIDITY"
"""
# The script reads the Secret of Grafana's password variable, or else the Secret of its chart.
LOGIN = """
label=app.kubernetes.io/name=grafana
ask() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s -n "$NAMESPACE" get "$@"; }
env='{.items[*].spec.template.spec.containers[*].env[?(@.name=="GF_SECURITY_ADMIN_PASSWORD")].valueFrom.secretKeyRef.name}'
name=$(ask deployments,statefulsets -l "$label" -o "jsonpath=$env") || exit
name=${name%% *}
if [ -n "$name" ]; then
  ask secret "$name" -o 'jsonpath={.data}'
else
  ask secrets -l "$label" -o 'jsonpath={.items[0].data}'
fi
"""
LIMIT = 25
CERTIFICATE: Probe[str] = Probe("kubeadm.kubeconfig", Shell(SIGN), lambda answer: answer.stdout, limit=LIMIT)
# A certificate is public.
SERVER: Probe[str] = Probe(
    "kubeadm.api_certificate", Shell("cat /etc/kubernetes/pki/apiserver.crt"), lambda answer: answer.stdout, limit=LIMIT
)
GRAFANA: Probe[str] = Probe("grafana.login", Shell(LOGIN), lambda answer: answer.stdout, limit=LIMIT)
PROOF = Request("gpustack-proof", "kubeadm:cluster-admins", hours=1)


def fetch_answers(host: Host, probes: Sequence[Probe[str]], environment: Mapping[str, str]) -> dict[str, Answer]:
    """Run the probes in one script on a host, and return the answers, which are never recorded. Raise HostRefused."""
    marker = token_hex(16)
    lines = transport.run_script(host, render_script(probes, marker, environment), last=build_last_line(marker))
    answers = {
        answer.probe: answer
        for answer in parse_answers(lines, marker, host.name, {probe.id: probe for probe in probes})
    }
    return {probe.id: answers.get(probe.id, build_missing_answer(probe, host)) for probe in probes}


def build_missing_answer(probe: Probe[str], host: Host) -> Answer:
    return Answer(probe.id, host.name, -1, "", missing_reason="no answer came")


def explain_failure(answer: Answer) -> str:
    """Return the reason why an answer cannot be used, or an empty text."""
    exit_reason = f"it ended with {answer.rc}" if answer.rc else ""
    return answer.missing_reason or (answer.stderr.strip() or exit_reason if answer.rc else "")


def parse_login(answer: Answer) -> tuple[str, str] | str:
    """Parse user and password from the data of the Secret, or return the reason why they are missing."""
    if wrong := explain_failure(answer):
        return wrong
    try:
        secret = load_json(answer.stdout)
        user, password = (b64decode(secret[key], validate=True).decode() for key in ("admin-user", "admin-password"))
    except UNREADABLE:
        return "the Secret of Grafana has no admin-user and admin-password"
    return user, password


def read_login(host: Host, namespace: str) -> tuple[str, str]:
    """Read the user and the password of Grafana. Raise RolloutError where they cannot be read."""
    try:
        login = parse_login(fetch_answers(host, [GRAFANA], {"NAMESPACE": namespace})[GRAFANA.id])
    except HostRefused as refusal:
        login = refusal.reach.reason
    if isinstance(login, str):
        message = "Grafana's login could not be read."
        raise RolloutError("access-no-login", message, login)
    return login


def sign_access(inventory: Inventory, request: Request, server: Server | None = None) -> Access:
    """Return access to the cluster, signed by the first control plane that is reached. `server` replaces the endpoint
    of the inventory. Raise UnreachableError, and RolloutError for a certificate that is refused."""
    refusals = []
    for host in inventory.control_planes:
        try:
            signed_answers = fetch_answers(host, [CERTIFICATE, SERVER], request.environment)
        except HostRefused as error:
            refusals.append(error.reach)
            continue
        try:
            return parse_access(signed_answers, inventory, request, server)
        except ServerNotNamedError as error:
            message = "The API server's certificate is not for the server of this kubeconfig."
            hint = Command("gpustack", "kubeconfig", "--server", "https://NAME:PORT")
            raise RolloutError("kubeconfig-server", message, str(error), hint) from error
        except ValueError as error:
            message = f"{host.name} gave no kubeconfig."
            raise RolloutError(
                "kubeconfig-refused", message, str(error), Command("gpustack", "verify", "-v")
            ) from error
    reasons = "\n".join(f"{reach.host}: {reach.reason}" for reach in refusals)
    raise UnreachableError(refusals[0].reference, "No control plane could be reached.", reasons, refusals[0].hint)


class ServerNotNamedError(ValueError):
    """Report that the certificate of the API server does not name the server that clients use."""


def parse_access(
    answers: Mapping[str, Answer], inventory: Inventory, request: Request, server: Server | None = None
) -> Access:
    """Judge the answers to CERTIFICATE and SERVER. Raise ValueError with the reason where they are refused."""
    answer = answers[CERTIFICATE.id]
    if wrong := explain_failure(answer):
        raise ValueError(wrong)
    if answer.cut:
        raise ValueError("what came is too long for a kubeconfig")
    credential = parse_credential(answer.stdout, request, datetime.now(UTC))
    expected_server = server or parse_endpoint(inventory)
    refuse_other_server(expected_server, answers[SERVER.id], credential)
    return Access(expected_server, credential)


def parse_endpoint(inventory: Inventory) -> Server:
    endpoint = resolve_endpoint(inventory)
    try:
        return parse_server(f"https://{endpoint}")
    except ValueError as error:
        raise ServerNotNamedError(f"{endpoint}: no NAME:PORT") from error


def refuse_other_server(server: Server, answer: Answer, credential: Credential) -> None:
    if wrong := explain_failure(answer):
        raise ServerNotNamedError(f"its certificate was not read: {wrong}")
    try:
        refuse_unnamed(server, read_server_names(answer.stdout, credential))
    except ValueError as error:
        raise ServerNotNamedError(str(error)) from error
