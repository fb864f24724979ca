"""Sections that say where packages, images and files come from: a mirror, or the official sources through a proxy."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from gpustack.config.addresses import validate_direct_host, validate_port
from gpustack.config.form import Form
from gpustack.config.sections.section import Section


def normalize_fingerprint(text: object) -> object:
    return text.replace(" ", "").upper() if isinstance(text, str) else text


Fingerprint = Annotated[
    str,
    Form(r"[0-9A-F]{40}", "40 hexadecimal digits, in quotes", "0123 4567 89AB CDEF 0123 4567 89AB CDEF 0123 4567"),
    BeforeValidator(normalize_fingerprint),
]
User = Annotated[str, Form(r"[A-Za-z0-9._@+-]+", "letters, digits, dots, dashes, _, @ and +", "kube")]
CaFile = Annotated[
    str | None,
    Field(
        description="a file on this machine with the CA's certificate, as PEM: every host trusts it",
        examples=["~/ca.crt"],
    ),
]
ProxyUrl = Annotated[
    str,
    Form(r"https?://[^/\s:@]+:[0-9]{1,5}", "http(s)://HOST:PORT, with no login and no path", "http://10.0.0.5:3128"),
    AfterValidator(validate_port),
]
MirrorUrl = Annotated[
    str,
    Form(r"https?://[^/\s@]+", "http(s)://HOST:PORT, with no login and no path", "http://10.0.0.5:8480"),
    AfterValidator(validate_port),
]
DirectHost = Annotated[
    str,
    Form(r"[A-Za-z0-9.:/*-]+", "a name, a .domain, an address or a network", "10.0.0.0/8"),
    AfterValidator(validate_direct_host),
]


class Mirror(Section):
    """Describe one address that serves packages, images and files under the official paths, and signs with its own
    key."""

    mirror: Annotated[MirrorUrl, Field(description="http(s)://HOST:PORT, no path", examples=["http://10.0.0.5:8480"])]
    fingerprint: Annotated[
        Fingerprint,
        Field(
            description="fingerprint of the key that signs the mirror's packages",
            examples=["0123456789ABCDEF0123456789ABCDEF01234567"],
        ),
    ]
    simulated: Annotated[
        Literal["refused", "allowed"],
        Field(
            description="allowed accepts a mirror with simulated GPU software, such as a bundle", examples=["refused"]
        ),
    ] = "refused"
    user: Annotated[
        User | None, Field(description="login at a mirror with https; requires password_file", examples=["kube"])
    ] = None
    password_file: Annotated[
        str | None,
        Field(description="a file on this machine, mode 0600, with the password", examples=["~/mirror-password"]),
    ] = None
    ca_file: CaFile = None


class Proxy(Section):
    """Describe an HTTP proxy between hosts and the internet: for apt, containerd, the kubelet and gpustack's
    downloads."""

    http: Annotated[
        ProxyUrl | None,
        Field(description="proxy for http://, as http://HOST:PORT", examples=["http://proxy.example.com:3128"]),
    ] = None
    https: Annotated[
        ProxyUrl | None,
        Field(description="proxy for https://; default: that of http", examples=["http://proxy.example.com:3128"]),
    ] = None
    no_proxy: Annotated[
        tuple[DirectHost, ...],
        Field(
            description="hosts that are reached directly: names, .domains, networks; the cluster's own are added",
            examples=["[.example.com, 10.0.0.0/8]"],
        ),
    ] = ()
    user: Annotated[User | None, Field(description="login at the proxy; requires password_file", examples=["kube"])] = (
        None
    )
    password_file: Annotated[
        str | None,
        Field(description="a file on this machine, mode 0600, with the password", examples=["~/proxy-password"]),
    ] = None
    ca_file: CaFile = None


class Fingerprints(Section):
    """Hold the keys that sign the official package repositories. Set it for a fork, or a vendor's new key."""

    kubernetes: Annotated[
        Fingerprint | None, Field(description="key of pkgs.k8s.io; default: that of the version set")
    ] = None
    containerd: Annotated[
        Fingerprint | None, Field(description="key of download.docker.com; default: that of the version set")
    ] = None
    nvidia: Annotated[
        Fingerprint | None,
        Field(description="keys of NVIDIA's CUDA repository; default: those of the version set, by system"),
    ] = None
    toolkit: Annotated[
        Fingerprint | None, Field(description="key of NVIDIA's container toolkit; default: that of the version set")
    ] = None
