"""The role's trust.sh and the probe beside it, run on a directory of the test: a host trusts the CAs of the spec, and
containerd restarts where it is older."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.egress import AUTHORITIES, ENVIRONMENT, UNITS
from gpustack.config.resources import locate_playbooks
from gpustack.probes.host.egress import EGRESS
from gpustack.steps.containerd.step import STEP as CONTAINERD
from gpustack.steps.prereqs.step import STEP as PREREQS
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import judge
from tests.worlds.snapshots.judge import list_failures

ROLES = locate_playbooks() / "roles"
SCRIPT, RESET, DAEMON = (
    ROLES / "prereqs" / "files" / "trust.sh",
    ROLES / "prereqs" / "files" / "reset.sh",
    ROLES / "containerd" / "files" / "daemon.sh",
)
LOCAL, BUNDLE = "usr/local/share/ca-certificates", "etc/ssl/certs/ca-certificates.crt"
# As update-ca-certificates of Debian 13 does it (ca-certificates 20250419, sbin/update-ca-certificates): the bundle is
# always written anew, a file that is new gets a link, and only --fresh removes the link of a file that is gone.
UPDATE = """#!/bin/sh
cd ROOT/etc/ssl/certs
[ "${1-}" != --fresh ] || find . -type l ! -exec test -e {} \\; -delete
cat ROOT/distribution.pem >ca-certificates.crt.new
for file in ROOT/usr/local/share/ca-certificates/*.crt; do
  [ -e "$file" ] || continue
  ln -sf "$file" "$(basename "$file" .crt).pem"
  sed -e '$a\\' "$file" >>ca-certificates.crt.new
done
mv ca-certificates.crt.new ca-certificates.crt
echo updated >>ROOT/log
"""
SYSTEMCTL = '#!/bin/sh\necho "systemctl $*" >>ROOT/log\n'


def build_pem(body: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{body}\nAA==\n-----END CERTIFICATE-----\n"


class Root:
    """A host's files that programs for CAs read and write, in a directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for folder in (LOCAL, "etc/ssl/certs", "bin"):
            (path / folder).mkdir(parents=True)
        (path / "distribution.pem").write_text(build_pem("DISTRIBUTION"))
        for name, text in (("update-ca-certificates", UPDATE), ("systemctl", SYSTEMCTL)):
            (path / "bin" / name).write_text(text.replace("ROOT", str(path)))
            (path / "bin" / name).chmod(0o755)
        self.call("update-ca-certificates")

    def call(self, script: str) -> subprocess.CompletedProcess[str]:
        for folder in ("/usr/local/share/ca-certificates", "/etc/ssl/certs", "/etc/systemd", "/etc/gpustack-cluster"):
            script = script.replace(folder, f"{self.path}{folder}")
        script = script.replace("\nPATH=", f"\nPATH={self.path}/bin:")
        env = {"PATH": f"{self.path}/bin:{os.environ['PATH']}", "SALT": "", "EGRESS": ""}
        (self.path / "log").write_text("")
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, timeout=20, check=False)

    def play(self) -> list[str]:
        process = self.call(SCRIPT.read_text())
        assert process.returncode == 0, process.stderr
        return process.stdout.splitlines()

    def write_authority(self, body: str) -> Path:
        path = self.path / LOCAL / "gpustack-proxy.crt"
        path.write_text(build_pem(body))
        os.utime(path, (1, 1))
        return path

    def read_log(self) -> list[str]:
        return (self.path / "log").read_text().splitlines()


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "root")


def test_a_host_without_a_ca_of_the_spec_is_left_alone(root: Root) -> None:
    assert (root.play(), root.read_log()) == ([], [])


def test_a_new_ca_is_trusted_once_and_its_file_is_as_old_as_the_trust(root: Root) -> None:
    path = root.write_authority("NEW")
    assert root.play() == [f"changed: trusted: {path}"]
    assert "NEW" in (root.path / BUNDLE).read_text()
    assert path.stat().st_mtime > 1
    assert (root.play(), root.read_log()) == ([], [])


def test_a_ca_that_changed_is_trusted_in_place_of_the_former(root: Root) -> None:
    root.write_authority("FORMER")
    root.play()
    path = root.write_authority("NEW")
    assert root.play() == [f"changed: trusted: {path}"]
    assert "FORMER" not in (root.path / BUNDLE).read_text()


def test_a_file_that_the_host_does_not_take_fails(root: Root) -> None:
    """A file whose name is in ca-certificates.conf with an exclamation mark, or a hook that ends the program."""
    root.write_authority("NEW")
    (root.path / "bin" / "update-ca-certificates").write_text("#!/bin/sh\n")
    process = root.call(SCRIPT.read_text())
    assert process.returncode == 1
    assert "is not in" in process.stderr


@pytest.mark.parametrize("script", [SCRIPT, RESET], ids=["left the spec", "reset"])
def test_a_ca_that_is_gone_is_no_longer_trusted(root: Root, script: Path) -> None:
    root.write_authority("NEW")
    root.play()
    (root.path / LOCAL / "gpustack-proxy.crt").unlink()
    nothing_agreed = "is_agreed() { return 1; }; drop() { :; }; drop_empty() { :; }\n"
    process = root.call(nothing_agreed + script.read_text())
    assert process.returncode == 0, process.stderr
    assert "changed: no longer trusted: gpustack-proxy" in process.stdout
    assert "NEW" not in (root.path / BUNDLE).read_text()
    assert list((root.path / "etc/ssl/certs").glob("*.pem")) == []
    assert root.read_log() == ["updated", *(["systemctl try-restart containerd"] if script == SCRIPT else [])]


@pytest.mark.parametrize(("has_variables", "restarts"), [(True, 1), (False, 0)])
def test_containerd_is_not_restarted_without_the_variables_that_its_unit_names(
    root: Root, has_variables: bool, restarts: int
) -> None:
    """The proxy left the spec with its CA: seen in the lab, where containerd did not start again."""
    root.write_authority("NEW")
    root.play()
    (root.path / LOCAL / "gpustack-proxy.crt").unlink()
    for name, exists in ((UNITS["containerd"], True), (ENVIRONMENT, has_variables)):
        path = root.path / name.removeprefix("/")
        path.parent.mkdir(parents=True)
        if exists:
            path.touch()
    assert root.play() == ["changed: no longer trusted: gpustack-proxy"]
    assert root.read_log()[1:] == ["systemctl try-restart containerd"] * restarts


def test_the_probe_says_whether_a_ca_is_trusted(root: Root) -> None:
    """The hash of the content is that of an empty salt here."""
    path = root.write_authority("NEW")
    digest = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
    script = f"EGRESS='{path} {digest}'\n{EGRESS.question.script}"  # type: ignore[union-attr]
    owner = path.owner()
    assert root.call(script).stdout == f"{path} untrusted 644 {owner} 1\n"
    root.play()
    assert root.call(script).stdout == f"{path} same 644 {owner} {int(path.stat().st_mtime)}\n"
    path.write_text(build_pem("OTHER"))
    assert root.call(script).stdout.startswith(f"{path} other 644 ")


def test_an_untrusted_ca_is_drift() -> None:
    proxy = {"http": "http://p:3128", "ca_file": "/nowhere/ca.crt"}
    recorded_lines = read_case("egress.files", "proxied").stdout
    lines = f"{recorded_lines.rstrip()}\n{AUTHORITIES['proxy']} untrusted 644 root 1795237000\n"
    failures = list_failures(judge(PREREQS, place_answers("h1", make_answer("egress.files", lines)), {"proxy": proxy}))
    assert failures["egress"][0].endswith(f"{AUTHORITIES['proxy']} not in /etc/ssl/certs/ca-certificates.crt")
    assert failures["egress"][1] == "install"


@pytest.mark.parametrize(("later", "expected"), [(60, ("60 s before", "install")), (0, None), (-60, None)])
def test_a_containerd_older_than_a_ca_is_drift(later: int, expected: tuple[str, str] | None) -> None:
    units = read_case("units.services", "prepared-debian-12")
    start_time = int(units.stdout.split("ActiveEnterTimestamp=@")[1].split()[0])
    line = f"{AUTHORITIES['source']} same 644 root {start_time + later}\n"
    answers = place_answers("h1", units, make_answer("egress.files", line))
    assert list_failures(judge(CONTAINERD, answers)).get("authorities") == expected


def test_the_role_restarts_a_containerd_that_is_older(root: Root) -> None:
    """The daemon of the test started in 1970."""
    path = root.write_authority("NEW")
    os.utime(path, None)
    (root.path / "bin" / "systemctl").write_text('#!/bin/sh\n[ "$1" != show ] || echo Thu 1970-01-01 00:00:00 UTC\n')
    output = root.call(DAEMON.read_text()).stdout
    assert f"restart: {path} is newer than the running containerd" in output.splitlines()
