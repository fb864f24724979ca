"""`kubeconfig`: from the first control plane that answers, to stdout or a file of one's own, never over another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.ask.snapshot import Reach
from gpustack.ask.transport import execute as transport
from gpustack.ask.transport.refusal import HostRefused
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.cli.kubeconfig import kubeconfig
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import GpustackError, RolloutError, UnreachableError, UsageError

runner = CliRunner()
PLANES = tuple(Host(name, name, groups=frozenset({CONTROL_PLANE})) for name in ("one", "two"))
TEXT = "apiVersion: v1\nkind: Config\nusers: []\n"


class Hosts:
    """What stands for `transport.run`: an answer or a refusal by host; the scripts that were sent are kept."""

    def __init__(self) -> None:
        self.scripts: list[str] = []
        self.answers: dict[str, tuple[str, str, int] | Reach] = {"one": (TEXT, "", 0), "two": (TEXT, "", 0)}

    def run(self, host: Host, script: str, *, last: str) -> Iterator[str]:
        self.scripts.append(script)
        answer = self.answers[host.name]
        if isinstance(answer, Reach):
            raise HostRefused(answer)
        marker = script.partition("\n")[0].removeprefix("M=")
        out, err, rc = answer
        yield from [f"{marker} kubeadm.kubeconfig 1.00", *out.split("\n"), f"{marker} . {rc} 2.00", last]
        yield from [f"{marker} !kubeadm.kubeconfig", *err.split("\n"), last]


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hosts:
    made = Hosts()
    monkeypatch.setattr(transport, "run", made.run)
    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: Inventory(None, PLANES, Spec()))
    monkeypatch.chdir(tmp_path)
    return made


def failed(*words: str) -> GpustackError:
    error = runner.invoke(app, ["kubeconfig", *words]).exception
    assert isinstance(error, GpustackError)
    return error


def test_to_stdout_or_to_a_private_file(hosts: Hosts, tmp_path: Path) -> None:
    assert runner.invoke(app, ["kubeconfig"]).stdout == TEXT
    result = runner.invoke(app, ["kubeconfig", "--out", "config"])
    assert (result.exit_code, result.stdout) == (0, "config\n")
    assert (tmp_path / "config").read_text() == TEXT
    assert (tmp_path / "config").stat().st_mode & 0o777 == 0o600


def test_never_over_a_file_that_is_there(hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("mine")
    assert isinstance(failed("--out", "config"), UsageError)
    assert (tmp_path / "config").read_text() == "mine"
    assert hosts.scripts == []


def test_the_certificate_is_for_who_asks_and_no_admin_conf_is_read_out(hosts: Hosts) -> None:
    runner.invoke(app, ["kubeconfig", "--user", "ann@desk", "--group", "readers", "--days", "2"])
    (script,) = hosts.scripts
    assert {"CLIENT=ann@desk; export CLIENT", "GROUP=readers; export GROUP", "VALIDITY=48h; export VALIDITY"} <= set(
        script.splitlines()
    )
    assert "cat /etc/kubernetes" not in script


def test_it_is_for_a_day_by_default(hosts: Hosts) -> None:
    """A certificate cannot be called back."""
    runner.invoke(app, ["kubeconfig"])
    assert "VALIDITY=24h; export VALIDITY" in hosts.scripts[0].splitlines()


def test_its_key_is_not_printed_on_a_terminal(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError) as raised:
        kubeconfig(out=None, user="ann", group="readers", days=1)
    assert (raised.value.reference, hosts.scripts) == ("kubeconfig-terminal", [])
    kubeconfig(out=tmp_path / "config", user="ann", group="readers", days=1)
    assert (tmp_path / "config").read_text() == TEXT


@pytest.mark.parametrize("name", ["a b", "$(id)", "-x", "ann\n", "a,b"])
def test_odd_names_are_refused_before_anybody_is_asked(hosts: Hosts, name: str) -> None:
    assert failed("--user", name).reference == "kubeconfig-name"
    assert hosts.scripts == []


def test_the_next_control_plane_is_asked_when_one_is_down(hosts: Hosts) -> None:
    hosts.answers["one"] = Reach("one", "host-ssh-unreachable", "no answer", "ssh one true")
    assert runner.invoke(app, ["kubeconfig"]).stdout == TEXT
    hosts.answers["two"] = Reach("two", "host-ssh-login", "not let in")
    error = failed()
    assert isinstance(error, UnreachableError)
    assert (error.reference, error.why) == ("host-ssh-unreachable", "one: no answer\ntwo: not let in")


@pytest.mark.parametrize(
    ("answer", "why"), [(("", "no CA key", 1), "no CA key"), (("hello", "", 0), "what came is no kubeconfig")]
)
def test_what_is_no_kubeconfig_is_an_error(hosts: Hosts, answer: tuple[str, str, int], why: str) -> None:
    hosts.answers["one"] = answer
    error = failed("--out", "config")
    assert isinstance(error, RolloutError)
    assert error.why == why
    assert not Path("config").exists()
