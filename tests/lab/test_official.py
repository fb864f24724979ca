"""The official road: no mirror in the inventory, official names with TLS. A cluster comes about, and what goes wrong on
the way is reported per host with what to do, and repaired by the next install.

The lab plays the internet (`--fake-internet`). host1 and host2 become a cluster; each of the others gets a fault of its
own, all in one run.
"""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpustack.bundle import keys
from gpustack_lab import lab
from gpustack_lab.lab.internet import Request
from tests.lab import roads, witness
from tests.lab.conftest import Run

LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.filterwarnings(LEAKS)]

CLUSTER = ["host1", "host2"]
CA = "/usr/local/share/ca-certificates/gpustack-lab.crt"
FORGET_NAMES = "sed -i /download.docker.com/d /etc/hosts && : >/etc/resolv.conf"
PAGE = "gpustack explain download-failed"
KEY = "/linux/debian/gpg"
# What is done to each host, and what install must say of it: where, why, and what to do.
FAULTS = {
    "host3": ("a key that is not there", ("https://download.docker.com/linux/debian/gpg", "404", "source of the spec")),
    "host4": ("another key", ("expected the key", "and no other", "fingerprints of the spec")),
    "host5": ("a package that is not there", ("containerd.io", "404", "download.docker.com", PAGE)),
    "host6": ("a changed package", ("containerd.io", "Hash Sum mismatch", PAGE)),
    "host7": ("a changed index", ("download.docker.com", "BADSIG", PAGE)),
    "host8": ("a name that does not resolve", ("Could not resolve host: download.docker.com", "getent hosts")),
    "host9": ("a CA that is not trusted", ("certificate of pkgs.k8s.io is not trusted", "proxy.ca_file")),
    "host10": ("a server that says nothing", ("download.docker.com", "too slow", "source.mirror")),
}
SLOW = "host11"
SLOWLY = 2_000_000  # bytes in a second
Spoilt = tuple[Path, dict[str, Any]]
HOSTS = [*CLUSTER, *FAULTS, SLOW]


@pytest.fixture(scope="module")
def many(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("official", ["debian-12", "debian-13", *["debian-12"] * (len(HOSTS) - 2)], internet=True)


@pytest.fixture(scope="module")
def cluster(many: lab.Lab, gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = roads.copy_inventory(many, tmp_path_factory.mktemp("cluster") / "inventory", CLUSTER)
    assert "mirror" not in (folder / "group_vars" / "all" / "gpustack.yml").read_text()
    gpustack("install", "-i", folder, "--yes", limit=1200)
    return folder


def test_official_sources_make_a_cluster(many: lab.Lab, cluster: Path, gpustack: Run, tmp_path: Path) -> None:
    assert json.loads(gpustack("verify", "-i", cluster, "-o", "json").stdout)["converged"] is True
    gpustack("kubeconfig", "-i", cluster, "--out", tmp_path / "config")
    assert sorted(witness.list_ready(witness.connect_api(tmp_path / "config"))) == CLUSTER
    host = witness.connect_host(many, "host1")
    sources = host.check_output("cat /etc/apt/sources.list.d/gpustack-*.sources")
    assert "https://pkgs.k8s.io/core:/stable:/v1.36/deb/" in sources
    assert "https://download.docker.com/linux/debian" in sources
    assert host.check_output("find /etc/containerd/certs.d -type f") == ""
    assert "registry.k8s.io/pause:3.10.2" in host.check_output("crictl images -o json")


def test_only_lab_hosts_know_the_names_so(many: lab.Lab) -> None:
    addresses = witness.connect_host(many, "host1").check_output("getent hosts pkgs.k8s.io").split()[0]
    assert addresses == many.record.gateway
    mine = subprocess.run(["getent", "hosts", "pkgs.k8s.io"], capture_output=True, text=True, check=False)
    assert many.record.gateway not in mine.stdout
    process = subprocess.run(["grep", "-r", "-l", many.name, "/etc/ssl/certs"], capture_output=True, check=False)
    assert process.stdout == b""


def test_a_changed_manifest_is_refused(many: lab.Lab, cluster: Path, gpustack: Run) -> None:
    host = witness.connect_host(many, "host1")
    host.check_output("rm /etc/kubernetes/gpustack-flannel/kube-flannel.yml")
    host.check_output(
        "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-flannel delete daemonset kube-flannel-ds"
    )

    def is_spoilt(request: Request, name: str, path: str) -> bool:
        if name == "raw.githubusercontent.com":
            request.forward(name, lambda body: body.replace(b"kube-flannel", b"rude-flannel", 1))
        return name == "raw.githubusercontent.com"

    with roads.run_internet(many, is_spoilt):
        result = gpustack("install", "-i", cluster, "--only", "flannel", "--yes", code=5)
    (failure,) = list_failures(result.stdout + result.stderr, "host1")
    assert "https://raw.githubusercontent.com/flannel-io/flannel/v0.28.9/" in failure
    assert "expected SHA-256 e875824b" in failure
    assert "source of the spec" in failure
    assert not host.file("/etc/kubernetes/gpustack-flannel/kube-flannel.yml").exists
    gpustack("install", "-i", cluster, "--yes")


def test_a_key_that_ended_is_taken_over_under_its_fingerprint(
    many: lab.Lab, cluster: Path, gpustack: Run, tmp_path: Path
) -> None:
    """The key of pkgs.k8s.io ends on 2026-12-29; its owner prolongs it, and the hosts have the old one."""
    assert many.record.source
    print_of, home, keyring = (
        many.record.source.fingerprint,
        tmp_path / "key",
        "/etc/apt/keyrings/gpustack-kubernetes.gpg",
    )
    shutil.copytree(keys.locate_key_dir(), home, ignore=shutil.ignore_patterns("S.*"))
    gpg = ["gpg", "--homedir", str(home), "--batch", "--passphrase", "", "--pinentry-mode", "loopback"]
    subprocess.run([*gpg, "--quick-set-expire", print_of, "seconds=1"], check=True, capture_output=True)
    old = subprocess.run([*gpg, "--export", print_of], check=True, capture_output=True).stdout
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=True)
    time.sleep(2)
    host = witness.connect_host(many, "host1")
    host.check_output(f"echo {base64.b64encode(old).decode()} | base64 -d >{keyring}")
    update = "apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/gpustack-kubernetes.sources"
    update += " -o Dir::Etc::sourceparts=- -o APT::Update::Error-Mode=any -o APT::Get::List-Cleanup=0"
    assert "EXPKEYSIG" in host.run(update).stderr
    result = gpustack("plan", "-i", cluster, "--only", "kubernetes", code=1)
    assert f"{print_of}, expired on " in " ".join(result.stdout.split())
    gpustack("install", "-i", cluster, "--only", "kubernetes", "--yes")
    assert host.check_output(f"gpg --show-keys --with-colons {keyring}").count(print_of) == 1
    host.check_output(update)
    gpustack("plan", "-i", cluster, "--only", "kubernetes")


DOCKER = """Types: deb
URIs: https://download.docker.com/linux/debian
Suites: bookworm
Components: stable
Signed-By: /etc/apt/keyrings/docker.asc
"""


def test_dockers_own_source_stands_for_ours(many: lab.Lab, cluster: Path, gpustack: Run) -> None:
    """Somebody follows Docker's guide on a host of the cluster: apt would read no source with both."""
    host = witness.connect_host(many, "host1")
    host.check_output("curl -fsSL https://download.docker.com/linux/debian/gpg -o /etc/apt/keyrings/docker.asc")
    host.check_output(f"printf %s '{DOCKER}' >/etc/apt/sources.list.d/docker.sources")
    assert "Conflicting values set for option Signed-By" in host.run("apt-get indextargets").stderr
    gpustack("install", "-i", cluster, "--only", "containerd", "--yes")
    assert not host.file("/etc/apt/sources.list.d/gpustack-containerd.sources").exists
    host.check_output("apt-get indextargets && apt-cache policy containerd.io | grep -q download.docker.com")
    gpustack("plan", "-i", cluster, "--only", "containerd")
    host.check_output("rm /etc/apt/sources.list.d/docker.sources /etc/apt/keyrings/docker.asc")
    gpustack("install", "-i", cluster, "--only", "containerd", "--yes")
    assert host.file("/etc/apt/sources.list.d/gpustack-containerd.sources").exists


def list_failures(text: str, host: str) -> list[str]:
    """List what a person reads of a failure on a host, without line breaks."""
    parts = text.split("\n\n")
    return [" ".join(part.split()) for part in parts if f"failed on {host}" in part.partition("\n")[0]]


@pytest.fixture(scope="module")
def spoilt(many: lab.Lab, gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> Spoilt:
    """The inventory of the other hosts, and what an install says that meets a fault on each of them."""
    folder = roads.copy_inventory(many, tmp_path_factory.mktemp("spoilt") / "inventory", [*FAULTS, SLOW])
    gpustack("install", "-i", folder, "--only", "prereqs", "--yes", limit=900)
    witness.connect_host(many, "host8").check_output(f"cp -a /etc/hosts /etc/resolv.conf /root && {FORGET_NAMES}")
    witness.connect_host(many, "host9").check_output(f"mv {CA} /root && update-ca-certificates --fresh")
    addresses = {host.address: host.name for host in many.hosts}

    def is_spoilt(request: Request, name: str, path: str) -> bool:
        host, key, deb = addresses[request.client_address[0]], path == KEY, path.endswith(".deb")
        if name != "download.docker.com":
            return False
        if (host == "host3" and key) or (host == "host5" and deb):
            request.reply(404, b"it is not there")
        elif host == "host4" and key:
            request.reply(200, create_key(tmp_path_factory.mktemp("gpg"), "1y"))
        elif host == "host6" and deb:
            request.forward(name, lambda body: body[:-1] + bytes([body[-1] ^ 1]))
        elif host == "host7" and path.endswith("InRelease"):
            request.forward(name, lambda body: body.replace(b"Codename: bookworm", b"Codename: bookwurm", 1))
        elif host == "host10" and key:
            time.sleep(100)
        elif host == SLOW and deb:
            request.forward(name, pace=SLOWLY)
        else:
            return False
        return True

    with roads.run_internet(many, is_spoilt):
        result = gpustack("install", "-i", folder, "--only", "containerd", "--yes", "-o", "json", limit=900, code=None)
    assert result.returncode != 0
    return folder, json.loads(result.stdout)


@pytest.mark.parametrize("host", FAULTS, ids=lambda host: FAULTS[host][0].replace(" ", "-"))
def test_what_is_wrong_on_the_way_is_reported(spoilt: Spoilt, host: str) -> None:
    (playbook_run,) = spoilt[1]["playbook_runs"]
    (value,) = [failure["reason"] for failure in playbook_run["failures"] if failure["host"] == host]
    assert [words for words in FAULTS[host][1] if words not in value] == [], value


def test_a_slow_server_is_waited_for(spoilt: Spoilt, many: lab.Lab) -> None:
    (playbook_run,) = spoilt[1]["playbook_runs"]
    assert SLOW not in playbook_run["failed_hosts"]
    assert witness.connect_host(many, SLOW).package("containerd.io").is_installed


def test_an_expired_key_is_reported(spoilt: Spoilt, many: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    old = create_key(tmp_path, "seconds=1")
    time.sleep(2)
    assert many.record.source
    prints = {"kubernetes": many.record.source.fingerprint, "containerd": read_fingerprint(tmp_path)}
    folder = roads.copy_inventory(many, tmp_path / "inventory", ["host3"], fingerprints=prints)

    def is_spoilt(request: Request, name: str, path: str) -> bool:
        if path == KEY:
            request.reply(200, old)
        return path == KEY

    with roads.run_internet(many, is_spoilt):
        result = gpustack("install", "-i", folder, "--only", "containerd", "--yes", code=None)
    (failure,) = list_failures(result.stdout + result.stderr, "host3")
    assert f"actual expired:{prints['containerd']}" in failure


def create_key(home: Path, expires: str) -> bytes:
    gpg = ["gpg", "--homedir", str(home), "--batch", "--passphrase", "", "--pinentry-mode", "loopback"]
    subprocess.run(
        [*gpg, "--quick-generate-key", "somebody", "ed25519", "sign", expires], check=True, capture_output=True
    )
    stdout = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True).stdout
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=True)
    return stdout


def read_fingerprint(home: Path) -> str:
    process = subprocess.run(
        ["gpg", "--homedir", str(home), "--with-colons", "--list-keys"], check=True, capture_output=True, text=True
    )
    return next(line.split(":")[9] for line in process.stdout.splitlines() if line.startswith("fpr"))


def test_the_next_install_fixes_all(spoilt: Spoilt, many: lab.Lab, gpustack: Run) -> None:
    witness.connect_host(many, "host8").check_output("cp -a /root/hosts /root/resolv.conf /etc")
    witness.connect_host(many, "host9").check_output(f"mv /root/gpustack-lab.crt {CA} && update-ca-certificates")
    gpustack("install", "-i", spoilt[0], "--only", "containerd", "--yes", limit=900)
    gpustack("plan", "-i", spoilt[0], "--only", "containerd")
