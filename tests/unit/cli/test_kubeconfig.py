"""`kubeconfig`: from the first control plane that answers, to stdout or a file of one's own, never over another one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from gpustack.ask.snapshot import Reach
from gpustack.ask.transport import execute as transport
from gpustack.ask.transport.refusal import HostRefused
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.cli.commands.kubeconfig import kubeconfig
from gpustack.cli.option_groups import Session
from gpustack.command import Command
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import GpustackError, RolloutError, UnreachableError, UsageError
from gpustack.proof.certificate import Request
from tests.worlds.programs.certificates import Authority, share_authority

runner = CliRunner()
PLANES = tuple(Host(name, name, groups=frozenset({CONTROL_PLANE})) for name in ("one", "two"))
REQUEST = Request("ann", "kubeadm:cluster-admins", 24)
TEXT = share_authority().print_kubeconfig(REQUEST)
NAMES = share_authority().sign_server("one", "kube.example.com", "10.96.0.1")


class Hosts:
    """Stand for `transport.run`: an answer or a refusal by host; the scripts that were sent are kept."""

    def __init__(self) -> None:
        self.scripts: list[str] = []
        self.answers: dict[str, tuple[str, str, int] | Reach] = {"one": (TEXT, "", 0), "two": (TEXT, "", 0)}
        self.names = NAMES

    def run(self, host: Host, script: str, *, last: str) -> Iterator[str]:
        self.scripts.append(script)
        answer = self.answers[host.name]
        if isinstance(answer, Reach):
            raise HostRefused(answer)
        marker = script.partition("\n")[0].removeprefix("M=")
        stdout, err, rc = answer
        yield from [f"{marker} kubeadm.kubeconfig 1.00", *stdout.split("\n"), f"{marker} . {rc} 2.00"]
        api = "kubeadm.api_certificate"
        yield from [f"{marker} {api} 1.00", *self.names.split("\n"), f"{marker} . {0 if self.names else 1} 2.00", last]
        yield from [f"{marker} !kubeadm.kubeconfig", *err.split("\n"), f"{marker} !{api}", last]


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hosts:
    fake_hosts = Hosts()
    monkeypatch.setattr(transport, "run_script", fake_hosts.run)
    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: Inventory(None, PLANES, Spec()))
    monkeypatch.chdir(tmp_path)
    return fake_hosts


def expect_error(*words: str) -> GpustackError:
    error = runner.invoke(app, ["kubeconfig", *words]).exception
    assert isinstance(error, GpustackError)
    return error


def parse_values(text: str) -> dict[str, str]:
    document = yaml.safe_load(text)
    return {**document["clusters"][0]["cluster"], **document["users"][0]["user"]}


def test_kubeconfig_goes_to_stdout_or_to_a_private_file(hosts: Hosts, tmp_path: Path) -> None:
    kubeconfig = runner.invoke(app, ["kubeconfig", "--user", "ann"]).stdout
    assert parse_values(kubeconfig) == {**parse_values(TEXT), "server": "https://one:6443"}
    result = runner.invoke(app, ["kubeconfig", "--user", "ann", "--out", "config"])
    assert (result.exit_code, result.stdout) == (0, "config\n")
    assert (tmp_path / "config").read_text() == kubeconfig
    assert (tmp_path / "config").stat().st_mode & 0o777 == 0o600


def test_an_existing_file_is_overwritten_by_force_alone(hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("mine")
    assert expect_error("--out", "config").reference == "output-exists"
    assert (tmp_path / "config").read_text() == "mine"
    (tmp_path / "link").symlink_to("nowhere")
    assert expect_error("--out", "link").reference == "kubeconfig-unwritable"
    assert hosts.scripts == []
    result = runner.invoke(app, ["kubeconfig", "--user", "ann", "--out", "config", "--force"])
    assert (result.exit_code, result.stdout) == (0, "config\n")
    assert "client-certificate-data" in (tmp_path / "config").read_text()


def test_an_error_leaves_the_file_that_force_would_overwrite(hosts: Hosts, tmp_path: Path) -> None:
    hosts.names = share_authority().sign_server("kube.example.com")
    (tmp_path / "config").write_text("mine")
    assert isinstance(expect_error("--user", "ann", "--out", "config", "--force"), GpustackError)
    assert (tmp_path / "config").read_text() == "mine"


@pytest.mark.parametrize("target", ["no/such/folder/x", "file/x", "f" * 300, "."])
def test_where_no_file_can_be_made_nothing_is_signed(hosts: Hosts, tmp_path: Path, target: str) -> None:
    (tmp_path / "file").touch()
    assert expect_error("--out", target).reference == "kubeconfig-unwritable"
    assert hosts.scripts == []


def test_on_a_full_disk_no_file_is_left(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fill_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fill_disk)
    error = expect_error("--user", "ann", "--out", "config")
    assert (error.reference, error.reason) == ("kubeconfig-unwritable", "No space left on device")
    assert not (tmp_path / "config").exists()


def test_another_server_has_to_be_in_the_certificate_of_the_api(hosts: Hosts) -> None:
    words = ["kubeconfig", "--user", "ann", "--server"]
    assert parse_values(runner.invoke(app, [*words, "https://kube.example.com:443"]).stdout)["server"] == (
        "https://kube.example.com:443"
    )
    error = expect_error(*words[1:], "https://evil.example:6443")
    assert (error.reference, error.reason) == (
        "kubeconfig-server", "it is for 10.96.0.1, kube.example.com, one, and not for evil.example"
    )  # fmt: skip
    count = len(hosts.scripts)
    assert expect_error(*words[1:], "http://one:6443").reference == "kubeconfig-server"
    assert len(hosts.scripts) == count


@pytest.mark.parametrize("names", ["", "hello", Authority().sign_server("one")])
def test_without_a_certificate_of_the_api_there_is_no_server(hosts: Hosts, names: str) -> None:
    hosts.names = names
    assert expect_error("--user", "ann").reference == "kubeconfig-server"


def test_the_endpoint_of_the_inventory_has_to_be_in_it_too(hosts: Hosts) -> None:
    hosts.names = share_authority().sign_server("kube.example.com")
    error = expect_error("--user", "ann")
    assert error.reason == "it is for kube.example.com, and not for one"


def test_the_certificate_is_for_who_asks_and_no_admin_conf_is_read_out(hosts: Hosts) -> None:
    runner.invoke(app, ["kubeconfig", "--user", "ann@desk", "--group", "readers", "--for", "2d"])
    (script,) = hosts.scripts
    assert {"CLIENT=ann@desk; export CLIENT", "GROUP=readers; export GROUP", "VALIDITY=48h; export VALIDITY"} <= set(
        script.splitlines()
    )
    assert re.findall(r"cat (/etc/kubernetes[^\s']*)", script) == ["/etc/kubernetes/pki/apiserver.crt"]


@pytest.mark.parametrize("validity", ["0", "30m", "90m", "3651d", "9999999999d"])
def test_no_time_beyond_that_of_the_ca_is_asked_for(hosts: Hosts, validity: str) -> None:
    result = runner.invoke(app, ["kubeconfig", "--user", "ann", "--for", validity])
    assert (result.exit_code, hosts.scripts) == (2, [])


def test_it_is_for_a_day_by_default(hosts: Hosts) -> None:
    """A certificate cannot be called back."""
    runner.invoke(app, ["kubeconfig"])
    assert "VALIDITY=24h; export VALIDITY" in hosts.scripts[0].splitlines()


def test_its_key_is_not_printed_on_a_terminal(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError) as excinfo:
        kubeconfig(path=None, user="ann", session=Session())
    assert (excinfo.value.reference, hosts.scripts) == ("kubeconfig-terminal", [])
    kubeconfig(path=tmp_path / "config", user="ann", session=Session())
    assert parse_values((tmp_path / "config").read_text())["server"] == "https://one:6443"


@pytest.mark.parametrize("name", ["a b", "$(id)", "-x", "ann\n", "a,b"])
def test_odd_names_are_refused_before_anybody_is_asked(hosts: Hosts, name: str) -> None:
    assert expect_error("--user", name).reference == "kubeconfig-name"
    assert hosts.scripts == []


def test_the_next_control_plane_is_asked_when_one_is_down(hosts: Hosts) -> None:
    hosts.answers["one"] = Reach("one", "host-ssh-unreachable", "no answer", Command("ssh", "one", "true"))
    assert parse_values(runner.invoke(app, ["kubeconfig", "--user", "ann"]).stdout)["server"] == "https://one:6443"
    hosts.answers["two"] = Reach("two", "host-ssh-login", "not let in")
    error = expect_error()
    assert isinstance(error, UnreachableError)
    assert (error.reference, error.reason) == ("host-ssh-unreachable", "one: no answer\ntwo: not let in")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (("", "no CA key", 1), "no CA key"),
        (("hello", "", 0), "it does not have one CA, one client certificate and one key"),
        ((f"{TEXT}{'x' * 300000}", "", 0), "what came is too long for a kubeconfig"),
    ],
)
def test_what_is_no_kubeconfig_is_an_error(hosts: Hosts, answer: tuple[str, str, int], reason: str) -> None:
    hosts.answers["one"] = answer
    error = expect_error("--out", "config")
    assert isinstance(error, RolloutError)
    assert error.reason == reason
    assert not Path("config").exists()


def test_a_program_in_the_document_of_a_control_plane_is_not_handed_on(hosts: Hosts) -> None:
    hosts.answers["one"] = (f"{TEXT}    exec:\n      command: sh\n      args: [-c, 'id >/tmp/x']\n", "", 0)
    text = runner.invoke(app, ["kubeconfig", "--user", "ann"]).stdout
    assert "exec" not in text
    assert parse_values(text) == {**parse_values(TEXT), "server": "https://one:6443"}
    hosts.answers["one"] = ("apiVersion: v1\nusers: [{user: {exec: {command: sh, args: [-c, id]}}}]\n", "", 0)
    assert expect_error("--user", "ann").reference == "kubeconfig-refused"


def test_a_certificate_for_another_user_is_not_handed_on(hosts: Hosts) -> None:
    error = expect_error("--user", "bob", "--out", "config")
    assert (error.reference, error.reason) == (
        "kubeconfig-refused", "the client certificate is not for the user bob in the group kubeadm:cluster-admins"
    )  # fmt: skip
    assert not Path("config").exists()
