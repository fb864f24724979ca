"""What a proof and a way to Grafana need from a control plane: a certificate of their own, for an hour, and Grafana's
login. admin.conf stays on its host. Both are secrets: they go into no report, no log and no record of answers."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from secrets import token_hex

from gpustack.ask.answers import parse
from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.ask.script import build_last_line, render
from gpustack.ask.transport import execute as transport
from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.config.endpoint import endpoint_of
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.errors import RolloutError, UnreachableError
from gpustack.files.json_text import load_json
from gpustack.proof.certificate import Credential, Request, parse_credential, read_server_names
from gpustack.proof.kubeconfig import Access, Server, parse_server, refuse_unnamed

# The configuration that the cluster has, not a file that may be older; kubeadm writes nothing on the host.
SIGN = """
config=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s -n kube-system \
  get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}') || exit
printf '%s\\n' "$config" |
  kubeadm kubeconfig user --config /dev/stdin --client-name "$CLIENT" --org "$GROUP" --validity-period "$VALIDITY"
"""
# The Secret that Grafana reads its password from; else the one that its chart made.
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
CERTIFICATE: Probe[str] = Probe("kubeadm.kubeconfig", Shell(SIGN), lambda answer: answer.out, limit=LIMIT)
# A certificate is public.
SERVER: Probe[str] = Probe(
    "kubeadm.api_certificate", Shell("cat /etc/kubernetes/pki/apiserver.crt"), lambda answer: answer.out, limit=LIMIT
)
GRAFANA: Probe[str] = Probe("grafana.login", Shell(LOGIN), lambda answer: answer.out, limit=LIMIT)
PROOF = Request("gpustack-proof", "kubeadm:cluster-admins", hours=1)


def answers(host: Host, probes: Sequence[Probe[str]], exported: Mapping[str, str]) -> dict[str, Answer]:
    """In one script on a host; never recorded. Raises HostRefused."""
    marker = token_hex(16)
    lines = transport.run(host, render(probes, marker, exported), last=build_last_line(marker))
    found = {one.probe: one for one in parse(lines, marker, host.name, {probe.id: probe for probe in probes})}
    return {probe.id: found.get(probe.id, missing_answer(probe, host)) for probe in probes}


def missing_answer(probe: Probe[str], host: Host) -> Answer:
    return Answer(probe.id, host.name, -1, "", lost="no answer came")


def explain_failure(answer: Answer) -> str:
    """Why an answer is of no use; empty when it is."""
    ended = f"it ended with {answer.rc}" if answer.rc else ""
    return answer.lost or (answer.err.strip() or ended if answer.rc else "")


def parse_login(answer: Answer) -> tuple[str, str] | str:
    """User and password out of the Secret's data, or why there is none."""
    if wrong := explain_failure(answer):
        return wrong
    try:
        data = load_json(answer.out)
        user, password = (b64decode(data[key], validate=True).decode() for key in ("admin-user", "admin-password"))
    except (ValueError, KeyError, TypeError):
        return "the Secret of Grafana has no admin-user and admin-password"
    return user, password


def read_login(host: Host, namespace: str) -> tuple[str, str]:
    """Grafana's user and password. Raises RolloutError."""
    try:
        found = parse_login(answers(host, [GRAFANA], {"NAMESPACE": namespace})[GRAFANA.id])
    except HostRefused as refused:
        found = refused.reach.why
    if isinstance(found, str):
        message = "Grafana's login could not be read."
        raise RolloutError("access-no-login", message, found, Command("gpustack", "explain", "access-no-login"))
    return found


def sign_access(inventory: Inventory, request: Request, server: Server | None = None) -> Access:
    """Return access to the cluster, signed by the first control plane that is reached. `server` is what the operator
    set instead of the endpoint of the inventory. Raises UnreachableError, and RolloutError for what is refused."""
    refused = []
    for host in inventory.control_planes:
        try:
            signed = answers(host, [CERTIFICATE, SERVER], request.exported)
        except HostRefused as error:
            refused.append(error.reach)
            continue
        try:
            return parse_access(signed, inventory, request, server)
        except ServerNotNamedError as error:
            message = "The API server's certificate is not for the server of this kubeconfig."
            hint = Command("gpustack", "kubeconfig", "--server", "https://NAME:PORT")
            raise RolloutError("kubeconfig-server", message, str(error), hint) from error
        except ValueError as error:
            message = f"{host.name} gave no kubeconfig."
            raise RolloutError(
                "kubeconfig-refused", message, str(error), Command("gpustack", "verify", "-v")
            ) from error
    reasons = "\n".join(f"{found.host}: {found.why}" for found in refused)
    raise UnreachableError(refused[0].reference, "No control plane could be reached.", reasons, refused[0].hint)


class ServerNotNamedError(ValueError):
    """The certificate of the API server is not for the name or address that clients are to use."""


def parse_access(
    signed: Mapping[str, Answer], inventory: Inventory, request: Request, server: Server | None = None
) -> Access:
    """Judge the answers to CERTIFICATE and SERVER. Raises ValueError with the reason for what is refused."""
    answer = signed[CERTIFICATE.id]
    if wrong := explain_failure(answer):
        raise ValueError(wrong)
    if answer.cut:
        raise ValueError("what came is too long for a kubeconfig")
    credential = parse_credential(answer.out, request, datetime.now(UTC))
    wanted = server or parse_endpoint(inventory)
    refuse_other_server(wanted, signed[SERVER.id], credential)
    return Access(wanted, credential)


def parse_endpoint(inventory: Inventory) -> Server:
    endpoint = endpoint_of(inventory)
    try:
        return parse_server(f"https://{endpoint}")
    except ValueError as error:
        raise ServerNotNamedError(f"{endpoint}: no NAME:PORT") from error


def refuse_other_server(server: Server, answer: Answer, credential: Credential) -> None:
    if wrong := explain_failure(answer):
        raise ServerNotNamedError(f"its certificate was not read: {wrong}")
    try:
        refuse_unnamed(server, read_server_names(answer.out, credential))
    except ValueError as error:
        raise ServerNotNamedError(str(error)) from error
