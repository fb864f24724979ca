"""How hosts reach what they fetch: the files that name the proxy, and those that hold a login. One truth for the roles
that write them and for the checks that compare them.

A text has marks where a secret goes. Roles fill them in on this machine (playbooks/templates/egress.j2), and so does
`digests`, of which only salted hashes leave it: a probe tells whether a file is the same without saying what is in it.
"""

import hashlib
import secrets as random
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from gpustack.config.endpoint import endpoint_of
from gpustack.config.secrets.secret_file import secret
from gpustack.config.sections.receiver import place_of, secrets_of
from gpustack.config.spec import Mirror, Proxy, Spec

if TYPE_CHECKING:
    from gpustack.config.host import Host
    from gpustack.config.inventory import Inventory

HEADER = "# Written by gpustack; a change here is undone by the next install."
PASSWORD, LOGIN = "<password>", "<login>"
APT = "/etc/apt/apt.conf.d/99gpustack-proxy"
APT_LOGIN = "/etc/apt/auth.conf.d/gpustack-proxy.conf"
ENVIRONMENT = "/etc/gpustack-cluster/proxy.env"
MIRROR_LOGIN = "/etc/apt/auth.conf.d/gpustack-mirror.conf"
UNITS = {
    "containerd": "/etc/systemd/system/containerd.service.d/gpustack-proxy.conf",
    "kubelet": "/etc/systemd/system/kubelet.service.d/20-gpustack-proxy.conf",
}
# Every file there can be, by the step whose role writes it.
PATHS = {
    "prereqs": (APT, APT_LOGIN, ENVIRONMENT),
    "containerd": (MIRROR_LOGIN, UNITS["containerd"]),
    "kubernetes": (UNITS["kubelet"],),
}
UNIT = f"{HEADER}\n[Service]\nEnvironmentFile={ENVIRONMENT}\n"


@dataclass(frozen=True)
class HostFile:
    """`text` ends with a newline; `user` and `password_file` are set when it has marks."""

    path: str
    mode: str
    text: str
    user: str = ""
    password_file: str = ""


def host_files(inventory: "Inventory") -> dict[str, HostFile]:
    """What there has to be on every host, by path. What is in PATHS and not here must not be there."""
    return {file.path: file for file in (*of_proxy(inventory), *of_mirror(inventory.spec))}


def of_proxy(inventory: "Inventory") -> Iterator[HostFile]:
    proxy = inventory.spec.proxy
    if proxy is None:
        return
    login = login_of(proxy)
    yield HostFile(APT, "0644", apt(proxy))
    if proxy.user:
        urls = dict.fromkeys(urls_of(proxy).values())
        lines = "".join(f"machine {url} login {proxy.user} password {PASSWORD}\n" for url in urls)
        yield HostFile(APT_LOGIN, "0600", lines, *login)
    yield HostFile(ENVIRONMENT, "0600", "".join(f"{line}\n" for line in environment(inventory)), *login)
    for path in UNITS.values():
        yield HostFile(path, "0644", UNIT)


def of_mirror(spec: Spec) -> Iterator[HostFile]:
    if isinstance(spec.source, Mirror) and spec.source.user:
        line = f"machine {spec.source.mirror} login {spec.source.user} password {PASSWORD}\n"
        yield HostFile(MIRROR_LOGIN, "0600", line, *login_of(spec.source))


def login_of(section: Proxy | Mirror) -> tuple[str, str]:
    """User and password file, both empty when there is no login."""
    if not section.user or not section.password_file:
        return "", ""
    return section.user, str(Path(section.password_file).expanduser())


def urls_of(proxy: Proxy) -> dict[str, str]:
    """By scheme of what is fetched."""
    both = {"http": proxy.http, "https": proxy.https or proxy.http}
    return {scheme: url for scheme, url in both.items() if url}


def apt(proxy: Proxy) -> str:
    """apt knows no networks and no domains in its exceptions, only hosts."""
    lines = [f'Acquire::{scheme}::Proxy "{url}";' for scheme, url in urls_of(proxy).items()]
    hosts = [entry for entry in proxy.no_proxy if "/" not in entry and "*" not in entry and not entry.startswith(".")]
    lines += [f'Acquire::{scheme}::Proxy::{host} "DIRECT";' for host in hosts for scheme in urls_of(proxy)]
    return "".join(f"{line}\n" for line in (HEADER.replace("#", "//"), *lines))


def environment(inventory: "Inventory") -> list[str]:
    """For systemd's EnvironmentFile and for a shell. A login in a URL is percent-encoded, so nothing needs quotes."""
    proxy = inventory.spec.proxy
    assert proxy is not None
    lines = []
    for scheme, url in urls_of(proxy).items():
        parts = urlsplit(url)
        lines.append(f"{scheme.upper()}_PROXY={parts.scheme}://{f'{LOGIN}@' if proxy.user else ''}{parts.netloc}")
    return [*lines, f"NO_PROXY={','.join(no_proxy(inventory))}"]


def no_proxy(inventory: "Inventory") -> list[str]:
    """The operator's entries, then those of the cluster: itself, the hosts, the API, Services and pods."""
    kubernetes, proxy = inventory.spec.kubernetes, inventory.spec.proxy
    hosts = [str(host.spec.gpustack_node_ip or host.address) for host in inventory.hosts]
    api = endpoint_of(inventory).rpartition(":")[0]
    own = ["localhost", "127.0.0.1", *([api] if api else []), *hosts]
    own += [".svc", f".{kubernetes.dns_domain}", str(kubernetes.pod_cidr), str(kubernetes.service_cidr)]
    return list(dict.fromkeys([*(proxy.no_proxy if proxy else ()), *own]))


def filled(text: str, user: str, password_file: str) -> str:
    """With the secrets in their places. Raises ConfigError when the file cannot be used."""
    if not password_file:
        return text
    password = secret(password_file)
    login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return text.replace(PASSWORD, password).replace(LOGIN, login)


def authorization(spec: Spec) -> str:
    """What containerd says to the mirror, or an empty string. Raises ConfigError when the file cannot be used."""
    if not isinstance(spec.source, Mirror) or not spec.source.user:
        return ""
    user, file = login_of(spec.source)
    return "Basic " + b64encode(f"{user}:{secret(file)}".encode()).decode()


def digests(inventory: "Inventory", host: "Host") -> dict[str, str]:
    """Variables for the probes of a host: a random salt, and salted hashes of what files, containerd's login and the
    environment of daemons must be there; on a control plane, where the cluster's Secrets can be read, what the
    receivers of alerts need besides: lines of name, Secret, key and hash, - for the hash of a Secret not of ours; on a
    host without Kubernetes lines of name and hash."""
    salt = random.token_hex(16)

    def digest(text: str) -> str:
        return hashlib.sha256(f"{salt}{text}".encode()).hexdigest()

    files = {path: filled(file.text, file.user, file.password_file) for path, file in host_files(inventory).items()}
    wanted = "".join(f"{path} {digest(text)}\n" for path, text in files.items())
    receivers = inventory.spec.alerts.receivers
    contents = secrets_of(receivers) if host.control_plane else {}
    places = {name: place_of(name, one) for name, one in receivers.named().items()} if host.control_plane else {}
    needed = [
        f"{name} {' '.join(place)} {digest(contents[name]) if name in contents else '-'}\n"
        for name, place in places.items()
        if place
    ]
    given = secrets_of(receivers) if host.standalone else {}
    of_standalone = "".join(f"{name} {digest(content)}\n" for name, content in given.items())
    daemon = "".join(f"{line}\n" for line in sorted(files.get(ENVIRONMENT, "").splitlines()))
    return {
        "SALT": salt,
        "EGRESS": wanted,
        "EGRESS_DAEMON": digest(daemon),
        "MIRROR_LOGIN": digest(authorization(inventory.spec)),
        **({"RECEIVERS": "".join(needed)} if needed else {}),
        **({"STANDALONE_SECRETS": of_standalone} if of_standalone else {}),
    }
