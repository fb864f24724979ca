"""`gpustack trust`: the key is shown, confirmed and written; what the host says is compared and never written."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask.transport import trust as transport
from gpustack.ask.transport.ssh import UnknownHostKey
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import GpustackError
from gpustack.report.explain.pages import read_error_pages
from tests.unit.ask.test_host_key import KEY, LINE, REFUSED_KEYS, encode

Trust = Callable[..., Result]


class Site:
    """A host that proves itself with KEY, and an ssh(1) that prints what the host sends."""

    def __init__(self, folder: Path) -> None:
        self.known_hosts, self.answer, self.status = (
            folder / "ssh" / "known_hosts",
            folder / "answer",
            folder / "status",
        )
        self.has_certificate, self.kind, self.encoded_key = True, "ssh-ed25519", KEY
        self.answer.write_text(LINE)
        self.status.write_text("0")

    def connect(self, host: Host) -> None:
        raise UnknownHostKey(host, host.name, self.kind, self.encoded_key, certified=self.has_certificate)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(tmp_path)
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh
[ "$1" != -G ] || exec /usr/bin/ssh -F /dev/null "$@"
printf '%s\\n' "$@" >{tmp_path}/words
cat {site.answer}
echo 'ssh: the last word' >&2
exit "$(cat {site.status})"
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(transport, "connect", site.connect)
    arguments = ("-o", f"UserKnownHostsFile={site.known_hosts}")
    host = Host("gpu1", "10.0.0.1", groups=frozenset({CONTROL_PLANE}), ssh_args=arguments)
    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: Inventory(Path("hosts.yml"), (host,), Spec()))
    return site


@pytest.fixture
def run(site: Site) -> Trust:
    return lambda *words: CliRunner().invoke(app, ["trust", "gpu1", "-q", "-i", "hosts.yml", *words])


def extract_error(result: Result) -> GpustackError:
    assert isinstance(result.exception, GpustackError), result.exception
    return result.exception


def test_a_certified_key_is_added(run: Trust, site: Site, tmp_path: Path) -> None:
    result = run("--yes")
    assert result.exception is None, result.output
    assert site.known_hosts.read_text() == f"10.0.0.1 ssh-ed25519 {KEY}\n"
    assert stat.S_IMODE(site.known_hosts.stat().st_mode) == 0o600
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:2] == ["-o", "StrictHostKeyChecking=yes"]
    assert words[-3:] == ["10.0.0.1", "cat", "/etc/ssh/ssh_host_ed25519_key.pub"]


@pytest.mark.parametrize("text", REFUSED_KEYS.values(), ids=REFUSED_KEYS)
def test_what_is_no_key_is_not_written(run: Trust, site: Site, text: str) -> None:
    site.answer.write_text(text)
    error = extract_error(run("--yes"))
    assert error.reference == "host-key-refused"
    assert error.reference in read_error_pages()
    assert not site.known_hosts.exists()


def test_a_key_other_than_that_of_the_connection_is_not_written(run: Trust, site: Site) -> None:
    site.answer.write_text(f"ssh-ed25519 {encode('ssh-ed25519')}\n")
    assert extract_error(run("--yes")).reference == "host-key-refused"
    site.kind, site.encoded_key = "ssh-dss", encode("ssh-dss")
    assert extract_error(run("--yes")).reference == "host-key-refused"
    assert not site.known_hosts.exists()


def test_an_endless_answer_ends(run: Trust, site: Site) -> None:
    site.answer.unlink()
    site.answer.symlink_to("/dev/zero")
    assert extract_error(run("--yes")).reference == "host-key-refused"


def test_a_certificate_that_ssh_does_not_trust_is_refused(run: Trust, site: Site) -> None:
    site.status.write_text("255")
    error = extract_error(run("--yes"))
    assert (error.reference, error.reason) == ("host-key-unverified", "ssh: the last word")
    assert not site.known_hosts.exists()


def test_a_key_without_a_certificate_needs_its_fingerprint(run: Trust, site: Site, tmp_path: Path) -> None:
    site.has_certificate = False
    error = extract_error(run("--yes"))
    assert error.reference == "host-key-unconfirmed"
    reason = error.reason.removeprefix("It is ").removesuffix(".")
    assert extract_error(run("--fingerprint", f"SHA256:{'a' * 43}")).reference == "host-key-unconfirmed"
    assert not site.known_hosts.exists()
    assert run("--fingerprint", reason).exception is None
    assert site.known_hosts.read_text() == f"10.0.0.1 ssh-ed25519 {KEY}\n"
    assert not (tmp_path / "words").exists(), "ssh is not asked"


def test_other_lines_stay_and_a_link_is_not_followed(run: Trust, site: Site, tmp_path: Path) -> None:
    site.known_hosts.parent.mkdir()
    site.known_hosts.write_text("gpu9 ssh-ed25519 AAAA")
    assert run("--yes").exception is None
    assert site.known_hosts.read_text() == f"gpu9 ssh-ed25519 AAAA\n10.0.0.1 ssh-ed25519 {KEY}\n"
    site.known_hosts.unlink()
    (tmp_path / "victim").write_text("mine\n")
    site.known_hosts.symlink_to(tmp_path / "victim")
    assert extract_error(run("--yes")).reference == "known-hosts-unwritable"
    assert (tmp_path / "victim").read_text() == "mine\n"
