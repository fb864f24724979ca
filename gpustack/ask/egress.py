"""The files on hosts that name the proxy, hold a login, or the certificate of a CA.

The roles that write them and the checks that compare them use the same texts. A text has marks in place of secrets.
Roles fill them in on this machine (playbooks/templates/egress.j2), and so does `build_digests`, of which only salted
hashes leave it: a probe tells whether a file is the same without saying what is in it.
"""

import hashlib
import secrets as random
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from gpustack.config.certificate_file import read_certificates
from gpustack.config.endpoint import extract_name, resolve_endpoint
from gpustack.config.secrets.secret_file import read_secret
from gpustack.config.sections.receiver import locate_secret, read_secrets
from gpustack.config.sections.sources import Mirror, Proxy
from gpustack.config.spec import Spec

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
# By the section of the spec. update-ca-certificates(8) reads each file of that directory whose name ends with .crt.
AUTHORITIES = {
    "proxy": "/usr/local/share/ca-certificates/gpustack-proxy.crt",
    "source": "/usr/local/share/ca-certificates/gpustack-mirror.crt",
}
CA_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
"""The file that update-ca-certificates writes, which apt, curl and containerd read."""
# Every file there can be, by the step whose role writes it.
PATHS = {
    "prereqs": (APT, APT_LOGIN, ENVIRONMENT, *AUTHORITIES.values()),
    "containerd": (MIRROR_LOGIN, UNITS["containerd"]),
    "kubernetes": (UNITS["kubelet"],),
}
UNIT = f"{HEADER}\n[Service]\nEnvironmentFile={ENVIRONMENT}\n"


@dataclass(frozen=True)
class HostFile:
    """Describe a file of a host. `text` ends with a newline; `user` and `password_file` are set when it has marks. It
    is empty for a file with the certificates of `certificate_file`."""

    path: str
    mode: str
    text: str
    user: str = ""
    password_file: str = ""
    certificate_file: str = ""

    def render_text(self) -> str:
        """Render the text, with marks in place of secrets. Raise ConfigError when the certificates cannot be used."""
        return read_certificates(self.certificate_file) if self.certificate_file else self.text


def list_host_files(inventory: "Inventory") -> dict[str, HostFile]:
    """List the files that every host must have, by path. Other files of PATHS must be absent."""
    spec = inventory.spec
    return {
        file.path: file
        for file in (*list_proxy_files(inventory), *list_mirror_files(spec), *list_authority_files(spec))
    }


def list_proxy_files(inventory: "Inventory") -> Iterator[HostFile]:
    proxy = inventory.spec.proxy
    if proxy is None:
        return
    login = select_login(proxy)
    yield HostFile(APT, "0644", render_apt_config(proxy))
    if proxy.user:
        urls = dict.fromkeys(list_proxy_urls(proxy).values())
        lines = "".join(f"machine {url} login {proxy.user} password {PASSWORD}\n" for url in urls)
        yield HostFile(APT_LOGIN, "0600", lines, *login)
    yield HostFile(ENVIRONMENT, "0600", "".join(f"{line}\n" for line in render_environment(inventory)), *login)
    for path in UNITS.values():
        yield HostFile(path, "0644", UNIT)


def list_mirror_files(spec: Spec) -> Iterator[HostFile]:
    if isinstance(spec.source, Mirror) and spec.source.user:
        line = f"machine {spec.source.mirror} login {spec.source.user} password {PASSWORD}\n"
        yield HostFile(MIRROR_LOGIN, "0600", line, *select_login(spec.source))


def list_authority_files(spec: Spec) -> Iterator[HostFile]:
    for key, section in (("proxy", spec.proxy), ("source", spec.source)):
        if isinstance(section, (Proxy, Mirror)) and section.ca_file:
            yield HostFile(AUTHORITIES[key], "0644", "", certificate_file=section.ca_file)


def select_login(section: Proxy | Mirror) -> tuple[str, str]:
    """Select user and password file. Both are empty when there is no login."""
    if not section.user or not section.password_file:
        return "", ""
    return section.user, str(Path(section.password_file).expanduser())


def list_proxy_urls(proxy: Proxy) -> dict[str, str]:
    """List the URLs of the proxy by the scheme of what is fetched."""
    urls = {"http": proxy.http, "https": proxy.https or proxy.http}
    return {scheme: url for scheme, url in urls.items() if url}


def render_apt_config(proxy: Proxy) -> str:
    """Render the settings of apt. Its exceptions are hosts alone, no networks and no domains."""
    lines = [f'Acquire::{scheme}::Proxy "{url}";' for scheme, url in list_proxy_urls(proxy).items()]
    hosts = [entry for entry in proxy.no_proxy if "/" not in entry and "*" not in entry and not entry.startswith(".")]
    lines += [f'Acquire::{scheme}::Proxy::{host} "DIRECT";' for host in hosts for scheme in list_proxy_urls(proxy)]
    return "".join(f"{line}\n" for line in (HEADER.replace("#", "//"), *lines))


def render_environment(inventory: "Inventory") -> list[str]:
    """Render lines for systemd's EnvironmentFile and for a shell. A login in a URL is percent-encoded, so nothing needs
    quotes."""
    return [f"{name}={value}" for name, value in list_proxy_variables(inventory).items()]


def list_proxy_variables(inventory: "Inventory") -> dict[str, str]:
    """List the variables of the proxy, with marks in place of a login. There is none without a proxy."""
    proxy = inventory.spec.proxy
    if proxy is None:
        return {}
    variables = {}
    for scheme, url in list_proxy_urls(proxy).items():
        parts = urlsplit(url)
        variables[f"{scheme.upper()}_PROXY"] = f"{parts.scheme}://{f'{LOGIN}@' if proxy.user else ''}{parts.netloc}"
    return variables | {"NO_PROXY": ",".join(list_no_proxy(inventory))}


def list_no_proxy(inventory: "Inventory") -> list[str]:
    """List the operator's entries, then those of the cluster: itself, the API, the addresses of the nodes as the
    inventory has them, Services and pods."""
    kubernetes, proxy = inventory.spec.kubernetes, inventory.spec.proxy
    names = [extract_name(resolve_endpoint(inventory)), *(host.node_address for host in inventory.hosts)]
    cluster_entries = ["localhost", "127.0.0.1", *filter(None, names)]
    cluster_entries += [".svc", f".{kubernetes.dns_domain}", str(kubernetes.pod_cidr), str(kubernetes.service_cidr)]
    return list(dict.fromkeys([*(proxy.no_proxy if proxy else ()), *cluster_entries]))


def fill_secrets(text: str, user: str, password_file: str) -> str:
    """Fill the secrets into a text. Raise ConfigError when the file cannot be used."""
    if not password_file:
        return text
    password = read_secret(password_file)
    login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return text.replace(PASSWORD, password).replace(LOGIN, login)


def build_authorization(spec: Spec) -> str:
    """Build the header with which containerd logs in at the mirror, or an empty string. Raise ConfigError when the file
    cannot be used."""
    if not isinstance(spec.source, Mirror) or not spec.source.user:
        return ""
    user, file = select_login(spec.source)
    return "Basic " + b64encode(f"{user}:{read_secret(file)}".encode()).decode()


def build_digests(
    inventory: "Inventory", host: "Host", objects: Mapping[tuple[str, str, str], str] = MappingProxyType({})
) -> dict[str, str]:
    """Build variables for the probes of a host: a random salt, and salted hashes of the expected files, of containerd's
    login and of the environment of daemons, and on a control plane of the content of `objects`, by kind, namespace and
    name.

    On a control plane, where the cluster's Secrets can be read, they have the receivers of alerts as well: lines of
    name, Secret, key and hash, with - in place of the hash for a Secret of the operator. On a host without Kubernetes
    these are lines of name and hash.
    """
    salt = random.token_hex(16)

    def digest(text: str) -> str:
        return hashlib.sha256(f"{salt}{text}".encode()).hexdigest()

    files = {
        path: fill_secrets(file.render_text(), file.user, file.password_file)
        for path, file in list_host_files(inventory).items()
    }
    file_digests = "".join(f"{path} {digest(text)}\n" for path, text in files.items())
    receivers = inventory.spec.alerts.receivers
    contents = read_secrets(receivers) if host.control_plane else {}
    places = (
        {name: locate_secret(name, receiver) for name, receiver in receivers.name_receivers().items()}
        if host.control_plane
        else {}
    )
    receiver_digests = [
        f"{name} {' '.join(place)} {digest(contents[name]) if name in contents else '-'}\n"
        for name, place in places.items()
        if place
    ]
    standalone_secrets = read_secrets(receivers) if host.standalone else {}
    standalone_digests = "".join(f"{name} {digest(content)}\n" for name, content in standalone_secrets.items())
    object_digests = "".join(f"{' '.join(place)} {digest(text)}\n" for place, text in objects.items())
    daemon = "".join(f"{line}\n" for line in sorted(files.get(ENVIRONMENT, "").splitlines()))
    return {
        "SALT": salt,
        "EGRESS": file_digests,
        "EGRESS_DAEMON": digest(daemon),
        "MIRROR_LOGIN": digest(build_authorization(inventory.spec)),
        **({"RECEIVERS": "".join(receiver_digests)} if receiver_digests else {}),
        **({"POD_EGRESS": object_digests} if object_digests and host.control_plane else {}),
        **({"STANDALONE_SECRETS": standalone_digests} if standalone_digests else {}),
    }
