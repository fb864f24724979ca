"""The kubeconfig of gpustack, rendered from judged values and the names of the inventory and the user."""

import re
from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from gpustack.ask.addresses import is_address
from gpustack.files.json_text import dump_json
from gpustack.proof.certificate import Credential

# The keys are those of a Config of v1 in k8s.io/client-go (tools/clientcmd/api/v1).
DOCUMENT = """\
apiVersion: v1
kind: Config
clusters:
- name: {cluster}
  cluster:
    certificate-authority-data: {authority}
    server: {server}
contexts:
- name: {context}
  context:
    cluster: {cluster}
    user: {user}
current-context: {context}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"""
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True)
class Server:
    """Hold the DNS name or address of an API server, and its port."""

    name: str
    port: int

    @property
    def url(self) -> str:
        return f"https://{f'[{self.name}]' if ':' in self.name else self.name}:{self.port}"


@dataclass(frozen=True)
class Access:
    """Hold a server and the credential to log in to it."""

    server: Server
    credential: Credential


def parse_server(url: str) -> Server:
    """Parse https://NAME:PORT. Raise ValueError for other texts."""
    parts = urlsplit(url)
    name, port = parts.hostname or "", parts.port
    if parts.scheme != "https" or parts.path not in ("", "/") or not port:
        raise ValueError(url)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(url)
    return Server(str(ip_address(name)) if is_address(name) else match_name(name), port)


def match_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(name)
    return name


def refuse_unnamed(server: Server, names: Collection[str]) -> None:
    """Raise ValueError for a server that its certificate does not name."""
    if server.name not in names:
        raise ValueError(f"it is for {', '.join(sorted(names)) or 'no name'}, and not for {server.name}")


def write_kubeconfig(access: Access, cluster: str, user: str) -> str:
    """Return the kubeconfig. The same arguments give the same bytes."""
    credential = access.credential
    return DOCUMENT.format(
        cluster=dump_json(cluster),
        context=dump_json(f"{user}@{cluster}"),
        user=dump_json(user),
        server=access.server.url,
        authority=encode_data(credential.authority),
        certificate=encode_data(credential.certificate),
        key=encode_data(credential.key),
    )


def encode_data(pem: str) -> str:
    return b64encode(pem.encode()).decode()
