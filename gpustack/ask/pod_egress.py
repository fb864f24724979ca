"""Proxy, CAs and package sources for pods that leave the cluster: NVIDIA's driver container and Alertmanager.

Helm values have no secret: the login of a proxy is in a Secret, which the roles write and the pod's environment names.
The certificates and the sources are in ConfigMaps. All are compared like the files on hosts, by salted hashes
(gpustack/ask/egress.py).
"""

from base64 import b64encode
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from gpustack.ask.egress import LOGIN, fill_secrets, list_authority_files, list_proxy_variables, select_login
from gpustack.config.certificate_file import read_certificates
from gpustack.config.package_sources import read_package_sources
from gpustack.config.spec import Spec
from gpustack.files.json_text import dump_json

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory


@dataclass(frozen=True)
class Consumer:
    """Describe who leaves the cluster: the beginning of the names of its objects, and their namespace."""

    prefix: str
    namespace: str

    @property
    def login_name(self) -> str:
        return f"{self.prefix}-proxy"

    @property
    def authority_name(self) -> str:
        return f"{self.prefix}-ca"

    @property
    def sources_name(self) -> str:
        return f"{self.prefix}-sources"


@dataclass(frozen=True)
class Entry:
    """Describe a key of an object. `text` has marks in place of secrets; it is empty for the certificates of
    `certificate_file` and the package sources of `sources_file`."""

    kind: Literal["Secret", "ConfigMap"]
    name: str
    key: str
    text: str = ""
    user: str = ""
    password_file: str = ""
    certificate_file: str = ""
    sources_file: str = ""

    def render_text(self) -> str:
        if self.sources_file:
            return read_package_sources(self.sources_file)
        return read_certificates(self.certificate_file) if self.certificate_file else self.text


def list_consumers(spec: Spec) -> dict[str, Consumer]:
    """List the consumers by the step that installs them."""
    return {
        "gpu-operator": Consumer("gpustack-driver", spec.gpu.namespace),
        "monitoring": Consumer("gpustack-alertmanager", spec.monitoring.namespace),
    }


def list_pod_variables(inventory: "Inventory") -> dict[str, str]:
    """List the variables of the proxy in both spellings: Go reads the one, apt the other. The values have marks in
    place of a login."""
    variables = list_proxy_variables(inventory)
    return variables | {name.lower(): value for name, value in variables.items()}


def has_login(spec: Spec) -> bool:
    return bool(spec.proxy and spec.proxy.user)


def list_authorities(spec: Spec) -> dict[str, str]:
    """List the files with CAs by the name that they get."""
    return {PurePath(file.path).name: file.certificate_file for file in list_authority_files(spec)}


def list_entries(inventory: "Inventory", consumer: Consumer) -> list[Entry]:
    """List what the objects of a consumer hold, as far as the spec asks for it."""
    entries = []
    if inventory.spec.proxy and has_login(inventory.spec):
        login = select_login(inventory.spec.proxy)
        variables = list_pod_variables(inventory).items()
        entries += [Entry("Secret", consumer.login_name, key, text, *login) for key, text in variables if LOGIN in text]
    authorities = list_authorities(inventory.spec).items()
    entries += [Entry("ConfigMap", consumer.authority_name, key, certificate_file=path) for key, path in authorities]
    path = inventory.spec.gpu.driver.repo_config
    if path and consumer == list_consumers(inventory.spec)["gpu-operator"]:
        # The operator puts a file of this name beside the sources of the image.
        entries.append(Entry("ConfigMap", consumer.sources_name, PurePath(path).name, sources_file=path))
    return entries


def list_object_names(inventory: "Inventory", consumer: Consumer) -> list[str]:
    return list(dict.fromkeys(entry.name for entry in list_entries(inventory, consumer)))


def build_object_texts(inventory: "Inventory") -> dict[tuple[str, str, str], str]:
    """Build the content of each object, secrets and all, by kind, namespace and name: lines of a key and a value, as
    pod-egress.sh reads and writes them. Raise ConfigError when a file cannot be used."""
    texts: dict[tuple[str, str, str], list[str]] = {}
    for consumer in list_consumers(inventory.spec).values():
        for entry in list_entries(inventory, consumer):
            text = fill_secrets(entry.render_text(), entry.user, entry.password_file)
            value = b64encode(text.encode()).decode() if entry.kind == "Secret" else dump_json(text)
            texts.setdefault((entry.kind, consumer.namespace, entry.name), []).append(f"{entry.key} {value}")
    return {place: "\n".join(sorted(lines)) for place, lines in texts.items()}
