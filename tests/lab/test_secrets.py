"""Canaries: a marked secret in every place where one can be, and afterwards nothing holds it but the files that are
documented (docs/secrets.md), for root alone. Also after a kill -9 in the middle.

The tests of this file stand in the order of the story and share one lab.
"""

import os
import re
import secrets as random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest
import yaml

from gpustack_lab import lab
from tests.lab import roads, witness
from tests.lab.conftest import GPUSTACK, Run
from tests.lab.http_proxy import create_certificate, run_door, run_proxy
from tests.lab.hunt import Hunt, Watch, locate_root, read_journal

LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.filterwarnings(LEAKS)]

MARKS = {
    name: f"canary{name}{random.token_hex(8)}" for name in ("become", "vault", "variable", "proxy", "mirror", "foreign")
}
# No secret by its key, and so let through: it stands in evidence, in Helm's Secret and in what the chart makes of it.
VALUE = f"canaryvalue{random.token_hex(8)}"
REGISTRIES = ("docker.io", "ghcr.io", "nvcr.io", "quay.io", "registry.k8s.io")
HOSTS = ("host1", "host2")
MIRROR = "mirror.lab.example"  # a login goes to no mirror without TLS, and a certificate is for a name
# Where a secret may be on a host, as docs/secrets.md says; all for root alone. modprobe is that of containerd.service.
DOCUMENTED_PLACES = {
    ("/etc/apt/auth.conf.d/gpustack-proxy.conf", "proxy"),
    ("/etc/gpustack-cluster/proxy.env", "proxy"),
    ("/etc/apt/auth.conf.d/gpustack-mirror.conf", "mirror"),
    *((f"/etc/containerd/certs.d/{name}/hosts.toml", "mirror") for name in REGISTRIES),
    *((f"environ of {name}", "proxy") for name in ("containerd", "containerd-shim", "kubelet", "modprobe")),
    ("/etc/kubernetes/admin.conf", "key"),
    ("/root/.kube/config", "key"),
    # Put there by the test, as an operator might have.
    ("/etc/apt/sources.list.d/old.sources", "foreign"),
    ("/etc/containerd/certs.d/old.example/hosts.toml", "foreign"),
}
TREES = ("etc", "home", "opt", "root", "run", "srv", "tmp", "usr/local", "var", "dev/shm")
# Images and the blocks of etcd, where Kubernetes keeps its own secrets, and old ones until they are overwritten.
NETWORKS = "/run/netns/"  # no files: names of networks, and reading them is an error
JOURNALS = ("/var/log/journal/", "/run/log/journal/")
SPARED_PATHS = ("/var/lib/containerd/", "/run/containerd/io.containerd.runtime", "/var/lib/etcd/", NETWORKS, *JOURNALS)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The certificate of the mirror, as PEM, and the file with its key."""
    return create_certificate(MIRROR, tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab], certificate: tuple[str, Path]) -> lab.Lab:
    made_lab = make_lab("secrets", ["debian-12", "debian-13"], monitored=True)
    for name in HOSTS:
        host = witness.connect_host(made_lab, name)
        host.run_expect([0], "useradd -m -s /bin/bash asked && echo 'asked ALL=(ALL) ALL' >/etc/sudoers.d/asked")
        shadow = pipe_text(["openssl", "passwd", "-6", "-stdin"], MARKS["become"])
        host.check_output(f"usermod -p '{shadow.strip()}' asked")
        keys = "/home/asked/.ssh"
        host.check_output(f"install -d -m 700 -o asked {keys} && install -o asked ~ops/.ssh/authorized_keys {keys}")
        old = f"https://me:{MARKS['foreign']}@download.docker.com/linux/old"
        source = f"Types: deb\nURIs: {old}\nSuites: stable\nComponents: main\nEnabled: no\n"
        write(made_lab, name, "/etc/apt/sources.list.d/old.sources", source)
        header = f"authorization = 'Bearer {MARKS['foreign']}'"
        toml = f"server = 'https://old.example'\n[host.'https://old.example'.header]\n{header}\n"
        write(made_lab, name, "/etc/containerd/certs.d/old.example/hosts.toml", toml)
        trusted_file = f"/usr/local/share/ca-certificates/{MIRROR}.crt"
        write(made_lab, name, trusted_file, certificate[0])
        names_command = f"echo {made_lab.record.gateway} {MIRROR} >>/etc/hosts"
        host.check_output(f"chmod 644 {trusted_file} && update-ca-certificates && {names_command}")
    return made_lab


def pipe_text(command: list[str], text: str) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout


def write(running_lab: lab.Lab, host: str, path: str, text: str) -> None:
    script = f"umask 077; mkdir -p {Path(path).parent}; cat >{path}"
    process = running_lab.exec(host, ["sudo", "sh", "-c", script], text=text)
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that gpustack and Ansible write on this machine is below it, beside memory-backed folders."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def inputs(two: lab.Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The operator's inputs: passwords in files, and an inventory with a vaulted file."""
    folder = tmp_path_factory.mktemp("inputs")
    for name in ("vault", "proxy", "mirror"):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(f"{MARKS[name]}\n")
    gateway = two.record.gateway
    assert two.record.source
    inventory = roads.copy_inventory(
        two,
        folder / "inventory",
        list(HOSTS),
        proxy={"http": f"http://{gateway}:3128", "user": "kube", "password_file": str(folder / "proxy")},
        source={
            "mirror": f"https://{MIRROR}:8481",
            "fingerprint": two.record.source.fingerprint,
            "simulated": "allowed",
            "user": "kube",
            "password_file": str(folder / "mirror"),
        },
    )
    roads.change(inventory / "hosts.yml", lambda values: values["all"]["vars"].update(ansible_user="asked"))
    (inventory / "values").mkdir(exist_ok=True)
    values = {"prometheus": {"prometheusSpec": {"externalLabels": {"site": VALUE}}}}
    (inventory / "values" / "monitoring.yaml").write_text(yaml.safe_dump(values))
    vault_file = inventory / "group_vars" / "all" / "vault.yml"
    secret_variables = {"ansible_become_password": MARKS["become"], "of_somebody": MARKS["variable"]}
    vault_file.write_text(yaml.safe_dump(secret_variables))
    vault = Path(GPUSTACK[0]).with_name("ansible-vault")
    words = (str(vault), "encrypt", "--vault-password-file", str(folder / "vault"), str(vault_file))
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture(scope="module")
def env(home: Path, inputs: Path) -> dict[str, str]:
    places = {"HOME": "", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "TMPDIR": "tmp"}
    for name in places.values():
        (home / name).mkdir(exist_ok=True)
    paths = {key: str(home / name) for key, name in places.items()}
    return paths | {"ANSIBLE_VAULT_PASSWORD_FILE": str(inputs / "vault")}


@pytest.fixture(scope="module")
def hunt(two: lab.Lab, certificate: tuple[str, Path]) -> Iterator[Hunt]:
    """Watches from before the first command to the end; the proxy and the mirror's door are there meanwhile."""
    hunt, record = Hunt(dict(MARKS)), two.record
    upstream = (record.gateway, 8480)
    with (
        run_proxy(record.gateway, "kube", MARKS["proxy"], {MIRROR: record.gateway}, {}),
        run_door(record.gateway, 8481, "kube", MARKS["mirror"], upstream, certificate[1]),
        Watch(hunt, hunt.pattern),
    ):
        yield hunt


def search_everywhere(hunt: Hunt, two: lab.Lab, home: Path) -> list[tuple[str, str]]:
    """Search wherever something may have been left, and return what is found and not documented."""
    hunt.search_trees([home], prefix=home)
    leaks = [path for base in ("/dev/shm", "/run", "/tmp", "/var/tmp") for path in Path(base).glob("*gpustack-run*")]
    leaks += [path for base in ("/tmp", "/var/tmp") for path in Path(base).glob("ansible*")]
    hunt.search_trees(leaks)
    for name in HOSTS:
        root = locate_root(two, name)
        hunt.search_trees([root / tree for tree in TREES], prefix=root, excluded_paths=SPARED_PATHS)
        hunt.search_journal(name, read_journal(two, name))
    hunt.search_programs()
    hunt.match_content("console", b"".join(path.read_bytes() for path in two.record.state.glob("console/*")))
    return sorted(set(hunt.places) - DOCUMENTED_PLACES)


def test_a_typed_password_is_shown_nowhere(hunt: Hunt, inputs: Path, env: dict[str, str]) -> None:
    (inputs / "inventory" / "group_vars" / "all" / "vault.yml").rename(inputs / "vault.yml")
    words = [*GPUSTACK, "plan", "-K", "-v", "-i", str(inputs / "inventory")]
    child = pexpect.spawn(words[0], words[1:], timeout=300, env=os.environ | env)
    child.expect("sudo password: ")
    child.sendline(MARKS["become"])
    child.expect(pexpect.EOF)
    child.close()
    (inputs / "vault.yml").rename(inputs / "inventory" / "group_vars" / "all" / "vault.yml")
    assert child.exitstatus == 1, child.before
    hunt.match_content("output of plan -K", child.before)
    assert sorted(hunt.places - DOCUMENTED_PLACES) == []


def test_nothing_is_left_when_it_is_killed(
    hunt: Hunt, two: lab.Lab, home: Path, inputs: Path, env: dict[str, str]
) -> None:
    words = [*GPUSTACK, "install", "--yes", "-i", str(inputs / "inventory")]
    with (home / "killed.log").open("w") as log:
        child = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=os.environ | env)
        witness.wait_until("the mirror's login is on host1", lambda: has_login(two), limit=600)
        child.kill()
        child.wait()
    time.sleep(3)  # Ansible ends with it within a second; what runs on hosts is through in its own time
    assert search_everywhere(hunt, two, home) == []


def has_login(two: lab.Lab) -> bool:
    return (locate_root(two, "host1") / "etc/apt/auth.conf.d/gpustack-mirror.conf").exists()


def test_an_installation_leaves_nothing(
    hunt: Hunt, two: lab.Lab, home: Path, inputs: Path, env: dict[str, str], gpustack: Run
) -> None:
    token: list[str] = []
    end = threading.Event()
    catcher = threading.Thread(target=read_token, args=(two, token, end), daemon=True)
    catcher.start()
    try:
        result = gpustack("install", "--yes", "-v", "-i", inputs / "inventory", limit=1200, **env)
    finally:
        end.set()
        catcher.join()
    assert token, "no join token was seen"
    hunt.marks = {**hunt.marks, "token": token[0].partition(".")[2], "key": read_key(two)}
    hunt.match_content("output of install", (result.stdout + result.stderr).encode())
    assert search_everywhere(hunt, two, home) == []


def read_token(two: lab.Lab, token: list[str], end: threading.Event) -> None:
    """Read the join token from the file that is in memory for as long as a join takes."""
    file = locate_root(two, "host2") / "run/gpustack-join.yaml"
    while not token and not end.wait(0.05):
        try:
            text = file.read_text()
        except FileNotFoundError:
            continue
        token += re.findall(r"token: \"?([a-z0-9]{6}\.[a-z0-9]{16})", text)


def read_key(two: lab.Lab) -> str:
    """Read the first words of the base64 of the administrator's key, as in the file."""
    text = (locate_root(two, "host1") / "etc/kubernetes/admin.conf").read_text()
    return str(yaml.safe_load(text)["users"][0]["user"]["client-key-data"])[100:180]


def test_looking_leaves_nothing(
    hunt: Hunt, two: lab.Lab, home: Path, inputs: Path, env: dict[str, str], gpustack: Run
) -> None:
    inventory = inputs / "inventory"
    for words in (
        ["verify", "-v"],
        ["plan", "-o", "json", "-v"],
        ["snapshot", "--out", home / "snapshot.jsonl"],
        ["install", "--yes", "--force", "-o", "json", "-v"],
        ["plan", "--diff"],
        ["kubeconfig", "--out", home / "kubeconfig"],
    ):
        result = gpustack(words[0], "-i", inventory, *words[1:], limit=900, **env)
        hunt.match_content(f"output of {words[0]}", (result.stdout + result.stderr).encode())
    # That is somebody's own certificate and key: for its owner alone, and not the administrator's.
    assert (home / "kubeconfig").stat().st_mode & 0o777 == 0o600
    assert search_everywhere(hunt, two, home) == []
    text = (home / "snapshot.jsonl").read_text()
    assert "download.docker.com/linux/old" in text, "the probe that reads the foreign login was not asked"
    assert "REDACTED@download.docker.com" in text
    print(f"hunted {len(hunt.marks)} secrets in {hunt.files} files, {hunt.lines} lines, {hunt.processes} processes")


def test_values_of_a_release_are_in_no_journal(two: lab.Lab) -> None:
    """Ansible's modules log what they are given, unless `no_log` is set: groups of the host that are not root read
    journals, and so does what ships logs."""
    command = "/usr/local/lib/gpustack/helm --kubeconfig /etc/kubernetes/admin.conf -n monitoring get values monitoring"
    assert VALUE in witness.connect_host(two, "host1").check_output(command), "the canary did not arrive"
    hunt = Hunt({"value": VALUE})
    for name in HOSTS:
        hunt.search_journal(name, read_journal(two, name))
    assert hunt.lines > 0
    assert hunt.places == set()


def test_the_documented_files_are_for_root_alone(hunt: Hunt, two: lab.Lab) -> None:
    places = {place for place, _ in hunt.places & DOCUMENTED_PLACES if place.startswith("/")}
    assert {place for place, _ in DOCUMENTED_PLACES if place.startswith("/")} == places, "a canary did not arrive"
    for name in HOSTS:
        root = locate_root(two, name)
        modes = {place: (root / place[1:]).stat() for place in places if (root / place[1:]).exists()}
        assert [
            f"{place} {mode.st_mode:o}" for place, mode in modes.items() if mode.st_mode & 0o077 or mode.st_uid
        ] == []


def test_the_hunt_finds_what_is_there(tmp_path: Path) -> None:
    """The hunt finds every way of hiding a secret, so that nothing found means nothing there."""
    mark = MARKS["proxy"]
    hiding = (mark, f"x{mark}", pipe_text(["base64", "-w0"], f"Zkube:{mark}!"))
    for number, hidden_text in enumerate(hiding):
        (tmp_path / str(number)).write_text(hidden_text)
    hunt = Hunt(dict(MARKS))
    with Watch(hunt, hunt.pattern):
        subprocess.run(["sh", "-c", f"sleep 3; : {mark}"], check=True, env={"SECRET": mark})
    hunt.search_trees([tmp_path], prefix=tmp_path)
    places = {place for place, name in hunt.places if name == "proxy"}
    assert {"/0", "/1", "/2"} <= places
    assert any(place.startswith("cmdline") for place in places)
    assert any(place.startswith("environ") for place in places)
