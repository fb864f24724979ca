"""An HTTP proxy wants a login and reads along, with certificates of a CA that no host knows. No name resolves on the
host and nothing is reached directly, so whatever arrives came through the proxy. The host names the proxy, without a
login and without exceptions, for all its users: a program that takes it from there is refused, also for the API. A
wrong login is refused before anything changes; then a cluster comes about, the login changes, and the proxy goes
away."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpustack_lab import lab
from gpustack_lab.lab import official_names
from tests.lab import roads, witness
from tests.lab.conftest import Run
from tests.lab.http_proxy import Proxy, run_proxy
from tests.lab.interception import Authority

LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.filterwarnings(LEAKS)]

USER, PASSWORD = "kube", 'pass/with:odd#signs%$"x'
OUTSIDE_ADDRESS = ("127.0.0.1", 8443)  # where the official names are, for the proxy alone
OWN_FILES = (
    "/etc/apt/apt.conf.d/99gpustack-proxy /etc/apt/auth.conf.d/gpustack-proxy.conf /etc/gpustack-cluster/proxy.env"
)
AUTHORITY, BUNDLE = "/usr/local/share/ca-certificates/gpustack-proxy.crt", "/etc/ssl/certs/ca-certificates.crt"
UNITS = "/etc/systemd/system/containerd.service.d /etc/systemd/system/kubelet.service.d"


@pytest.fixture(scope="module")
def one_host(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    """A host that knows no names: neither those of the lab's internet nor those of the Debian archive."""
    proxied_lab = make_lab("proxied", ["debian-12"], internet=True)
    gateway = proxied_lab.record.gateway
    forget = f"sed -i '/^{gateway} /d' /etc/hosts && echo nameserver {gateway} >/etc/resolv.conf"
    host = witness.connect_host(proxied_lab, "host1")
    host.check_output(forget)
    names = [f"{scheme}_proxy" for scheme in ("http", "https", "all")]
    lines = [f"{name}=http://{gateway}:3128" for name in (*names, *map(str.upper, names))]
    host.check_output("printf '%s\\n' {} >>/etc/environment".format(" ".join(lines)))
    # As Ubuntu's sudo has it (debian/etc/pam/sudo of its source package); Debian's reads no /etc/environment.
    host.check_output("sed -i '1a session required pam_env.so readenv=1 user_readenv=0' /etc/pam.d/sudo")
    return proxied_lab


@pytest.fixture(scope="module")
def way_out(one_host: lab.Lab, authority: Authority) -> Iterator[Proxy]:
    known_addresses = dict.fromkeys(official_names.list_names(), OUTSIDE_ADDRESS[0])
    ports = {443: OUTSIDE_ADDRESS[1]}
    with (
        roads.run_internet(one_host, None, *OUTSIDE_ADDRESS),
        run_proxy(one_host.record.gateway, USER, PASSWORD, known_addresses, ports) as running,
    ):
        running.authority = authority
        yield running


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "proxy"
    path.touch(mode=0o600)
    path.write_text(f"{PASSWORD}\n")
    return path


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The CA of a proxy that reads along."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def inventory(one_host: lab.Lab, secret: Path, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = {
        "http": f"http://{one_host.record.gateway}:3128",
        "no_proxy": [".example.com", one_host.record.gateway],
        "user": USER,
        "password_file": str(secret),
        "ca_file": str(authority.certificate_file),
    }
    return roads.copy_inventory(one_host, tmp_path_factory.mktemp("proxied") / "inventory", ["host1"], proxy=values)


# All that gpustack writes has its name; the lab's own files are there before.
OF_GPUSTACK = "find /etc /usr/local /var/lib -path '*gpustack*' | sort"


def test_a_wrong_login_is_refused_before_anything_changes(
    one_host: lab.Lab, way_out: Proxy, inventory: Path, gpustack: Run
) -> None:
    host = witness.connect_host(one_host, "host1")
    files_before = host.check_output(OF_GPUSTACK)
    way_out.expect(USER, "another word")
    try:
        result = gpustack("install", "-i", inventory, "--yes", code=5)
    finally:
        way_out.expect(USER, PASSWORD)
    output = " ".join((result.stdout + result.stderr).split())
    for words in (
        "https://pkgs.k8s.io/",
        "the proxy wants another login (407)",
        "proxy.password_file of the spec",
        "gpustack explain download-failed",
        "Nothing was changed on ",
    ):
        assert words in output
    assert PASSWORD[:9] not in output
    assert host.check_output(OF_GPUSTACK) == files_before


@pytest.fixture(scope="module")
def installed_host(one_host: lab.Lab, way_out: Proxy, inventory: Path, gpustack: Run) -> lab.Lab:
    gpustack("install", "-i", inventory, "--yes", limit=1200)
    return one_host


def test_everything_came_through_the_proxy(
    installed_host: lab.Lab, way_out: Proxy, inventory: Path, gpustack: Run
) -> None:
    gpustack("verify", "-i", inventory)
    hosts = {re.sub(r"^https?://|[:/].*", "", target) for target in way_out.served_targets}
    expected_names = {"pkgs.k8s.io", "download.docker.com", "raw.githubusercontent.com", "registry.k8s.io", "ghcr.io"}
    assert expected_names <= hosts
    assert any(
        (target.endswith(".deb") and "debian.org" in target) or "/debian/" in target
        for target in way_out.served_targets
    )


def test_programs_of_a_play_could_see_the_proxy_of_the_host(installed_host: lab.Lab) -> None:
    """The proxy of /etc/environment reaches what sudo starts; the tests beside it would prove nothing otherwise."""
    host = witness.connect_host(installed_host, "host1")
    assert "https_proxy=http://" in host.check_output("su ops -c 'sudo env'")


def test_the_cluster_itself_is_reached_directly(installed_host: lab.Lab, way_out: Proxy) -> None:
    own_addresses = (installed_host.hosts[0].address, "10.96.", "10.244.", "127.0.0.1", "localhost", ".svc")
    assert [
        target
        for target in way_out.served_targets + way_out.refused_targets
        if any(name in target for name in own_addresses)
    ] == []


def test_it_reaches_apt_containerd_and_the_kubelet(installed_host: lab.Lab) -> None:
    host = witness.connect_host(installed_host, "host1")
    for unit in ("containerd", "kubelet"):
        value = host.check_output(f"tr '\\0' '\\n' </proc/$(systemctl show -p MainPID --value {unit})/environ")
        assert f"HTTPS_PROXY=http://{USER}:" in value
        assert ".example.com" in value.partition("NO_PROXY=")[2]
    assert "http://" in host.check_output("apt-config dump Acquire::https::Proxy")


def test_hosts_trust_the_ca_of_the_proxy(installed_host: lab.Lab, authority: Authority) -> None:
    """OpenSSL of the host accepts the CA by the bundle alone, and containerd started after that."""
    host = witness.connect_host(installed_host, "host1")
    assert host.check_output(f"cat {AUTHORITY}").strip() == authority.certificate_file.read_text().strip()
    assert host.run(f"openssl verify -no-CApath -CAfile {BUNDLE} {AUTHORITY}").rc == 0
    assert AUTHORITY in host.check_output("cat /var/lib/gpustack-cluster/owned.json")
    start_time = host.check_output("TZ=UTC systemctl show -p ActiveEnterTimestamp --value containerd")
    assert int(host.check_output(f"date -d '{start_time}' +%s")) >= int(host.check_output(f"stat -c %Y {AUTHORITY}"))


def test_static_pods_and_others_do_not_see_it(installed_host: lab.Lab) -> None:
    host = witness.connect_host(installed_host, "host1")
    assert host.run("grep -riE 'proxy.*3128|pass/with' /etc/kubernetes /var/lib/kubelet/config.yaml").stdout == ""
    assert host.check_output(f"stat -c %a $(grep -rlE '{USER}' {OWN_FILES})").split() == ["600", "600"]
    assert PASSWORD[:9] not in host.check_output("su ops -c 'apt-config dump'")


def test_a_login_that_changed_is_drift(
    installed_host: lab.Lab, way_out: Proxy, inventory: Path, secret: Path, gpustack: Run
) -> None:
    secret.write_text("renewed-word\n")
    try:
        output = gpustack("plan", "-i", inventory, code=1).stdout
        text = " ".join(output.split())
        assert "/etc/gpustack-cluster/proxy.env with different content" in text
        assert "renewed-word" not in text
        start_time = witness.connect_host(installed_host, "host1").check_output(
            "systemctl show -p MainPID --value containerd"
        )
        way_out.expect(USER, "renewed-word")
        gpustack("install", "-i", inventory, "--yes")
        assert (
            witness.connect_host(installed_host, "host1").check_output("systemctl show -p MainPID --value containerd")
            != start_time
        )
    finally:
        way_out.expect(USER, PASSWORD)
        secret.write_text(f"{PASSWORD}\n")


def test_a_wrong_login_is_reported(installed_host: lab.Lab, way_out: Proxy, inventory: Path, gpustack: Run) -> None:
    """The spec's login, which the test before this one left behind, is not what the host has."""
    gpustack("install", "-i", inventory, "--yes")
    host = witness.connect_host(installed_host, "host1")
    host.check_output("rm /etc/apt/keyrings/gpustack-kubernetes.gpg")
    way_out.expect(USER, "not this")
    result = gpustack("install", "-i", inventory, "--only", "kubernetes", "--yes", code=5)
    output = " ".join((result.stdout + result.stderr).split())
    assert "pkgs.k8s.io" in output
    assert "proxy.password_file of the spec" in output
    way_out.expect(USER, PASSWORD)
    gpustack("install", "-i", inventory, "--yes")


def test_without_a_proxy_in_the_spec_all_of_it_goes(
    installed_host: lab.Lab, authority: Authority, gpustack: Run
) -> None:
    host = witness.connect_host(installed_host, "host1")
    output = gpustack("plan", "-i", installed_host.inventory, code=1).stdout
    assert "left over" in " ".join(output.split())
    gpustack("install", "-i", installed_host.inventory, "--yes", "--only", "prereqs,containerd,kubernetes")
    assert host.run(f"ls {OWN_FILES}; find {UNITS} -name '*gpustack*'").stdout == ""
    assert host.run(f"ls {AUTHORITY} /etc/ssl/certs/gpustack-proxy.pem").stdout == ""
    assert authority.certificate_file.read_text().split()[2] not in host.check_output(f"cat {BUNDLE}")
    for unit in ("containerd", "kubelet"):
        assert "_PROXY" not in host.check_output(f"cat /proc/$(systemctl show -p MainPID --value {unit})/environ")
