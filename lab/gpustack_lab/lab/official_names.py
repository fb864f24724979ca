"""Official names for `lab up --fake-internet`: hosts find them on the bridge, with TLS by a throw-away CA.

Only lab hosts know these names so, by their /etc/hosts; the machine does not. To the product it is the internet: the
inventory names no mirror, only the key that this internet's packages are signed with.
"""

import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from gpustack.config.versions import KNOWN_SETS, read_version_set
from gpustack.events import Reporter
from gpustack_lab.lab import background, mirror
from gpustack_lab.lab.commands import run
from gpustack_lab.lab.state import Record, Source

PART, PORT = "internet", 443
DAYS = "30"
# By the name that clients connect to: the name that image references have. Docker Hub's differ.
REGISTRIES = {"registry-1.docker.io": "docker.io"} | {
    name: name for name in ("ghcr.io", "nvcr.io", "quay.io", "registry.k8s.io")
}


def list_names() -> list[str]:
    """List every host name that an installation from official sources asks for, of all version sets."""
    names = set(REGISTRIES)
    for versions in map(read_version_set, KNOWN_SETS):
        urls = [url for source in versions.apt.values() for url in (source.uri, source.key)]
        artefacts = (versions.flannel, versions.helm, versions.provisioner, *versions.charts.values())
        urls += [artefact.url for artefact in artefacts]
        names |= {urlsplit(url).netloc for url in urls}
    return sorted(names)


def locate_certificates(record: Record) -> Path:
    """Return the folder of ca.crt, server.crt and server.key."""
    return record.state / PART


def create_certificates(record: Record) -> None:
    """Create a CA, and a certificate of it for all names, once. The CA's own key is deleted."""
    directory = locate_certificates(record)
    if (directory / "server.crt").exists():
        return
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    ca, key = str(directory / "ca.crt"), directory / "ca.key"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days"]
    run([*words, DAYS, "-subj", f"/CN=gpustack lab {record.name}", "-keyout", str(key), "-out", ca])
    server_options = ["-keyout", str(directory / "server.key"), "-out", str(directory / "server.new")]
    alternative_names = "subjectAltName=" + ",".join(f"DNS:{name}" for name in list_names())
    extensions = ["-addext", alternative_names, "-addext", "basicConstraints=critical,CA:FALSE"]
    run([*words, DAYS, "-CA", ca, "-CAkey", str(key), "-subj", "/CN=internet", *extensions, *server_options])
    key.unlink()
    (directory / "server.new").rename(directory / "server.crt")


def install_names(record: Record, root: Path) -> None:
    """Let the host with this root find the names on the bridge, and trust the CA."""
    with (root / "etc/hosts").open("a") as file:
        file.writelines(f"{record.gateway} {name}\n" for name in list_names())
    ca_file = root / "usr/local/share/ca-certificates/gpustack-lab.crt"
    if not ca_file.exists():
        shutil.copyfile(locate_certificates(record) / "ca.crt", ca_file)
        run(["chroot", str(root), "update-ca-certificates"])


def start(record: Record, source: Source, report: Reporter) -> None:
    """Start the server. Raise LabError when it does not take connections."""
    if not background.is_running(record, PART):
        upstream = urlsplit(source.url).netloc
        command = [
            sys.executable,
            "-m",
            "gpustack_lab.lab.internet",
            record.gateway,
            upstream,
            str(locate_certificates(record)),
        ]
        background.start(record, PART, command)
    mirror.wait_for(record, PART, PORT, report)
