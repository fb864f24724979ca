"""gpustack, installed on a host from our wheel, makes that host a verified one-node cluster without an inventory."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from testinfra.host import Host

from gpustack import lab
from tests.lab import witness

pytestmark = [pytest.mark.lab, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
VENV = "/opt/gpustack"
METRICS = "/var/lib/node_exporter/gpustack.prom"
WATCHING = (ROOT / "docs" / "watching.md").read_text()


@pytest.fixture(scope="module")
def wheels(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The wheel with all it needs, for a Python version."""

    def collected(python: str) -> Path:
        out = tmp_path_factory.mktemp("wheels") / python
        levels = ("manylinux_2_17", "manylinux_2_28", "manylinux2014")
        platforms = [word for level in levels for word in ("--platform", f"{level}_x86_64")]
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", python, *platforms, *locked(python), "-d", str(out)]
        subprocess.run(command, check=True, timeout=600)
        (out / wheel.name).write_bytes(wheel.read_bytes())
        return out

    return collected


def locked(python: str) -> list[str]:
    """What the lock means for a Python version (pip judges markers by the Python that it runs on)."""
    text = (ROOT / "requirements" / "runtime.txt").read_text().replace("\\\n", " ")
    lines = [line.split("--hash")[0].strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    wanted = [Requirement(line) for line in lines if not line.startswith("#")]
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    return [f"{one.name}{one.specifier}" for one in wanted if one.marker is None or one.marker.evaluate(here)]


@pytest.mark.parametrize(("release", "python"), [("debian-12", "3.11"), ("debian-13", "3.13")])
def test_the_host_itself_becomes_a_cluster(
    release: str, python: str, make_lab: Callable[..., lab.Lab], wheels: Callable[[str], Path]
) -> None:
    made = make_lab(f"one-{release}", [release])
    host = witness.host(made, "host1")
    carry(made, wheels(python), "/tmp/wheels")
    carry(made, made.inventory / "group_vars" / "all" / "gpustack.yml", "/tmp/gpustack.yml")
    host.check_output("apt-get update -q && apt-get install -qy --no-install-recommends python3-venv")
    host.check_output(
        f"python3 -m venv {VENV} && {VENV}/bin/pip install -q --no-index --find-links /tmp/wheels gpustack-cluster"
    )
    host.check_output("install -D -m 0644 /tmp/gpustack.yml /etc/gpustack/gpustack.yml")
    assert host.run(f"{VENV}/bin/gpustack plan").rc == 1
    unnamed = host.run(f"{VENV}/bin/gpustack install --yes")
    assert unnamed.rc == 2
    assert "--this-host" in unnamed.stderr
    done = host.run(f"{VENV}/bin/gpustack install --yes --this-host")
    assert done.rc == 0, done.stderr[-4000:] + done.stdout[-4000:]
    again = host.run(f"{VENV}/bin/gpustack install --yes --this-host")
    assert again.rc == 0
    assert "nothing to do" in again.stdout
    assert host.run(f"{VENV}/bin/gpustack plan").rc == 0
    assert host.run(f"{VENV}/bin/gpustack verify").rc == 0
    nodes = host.check_output("kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers")
    assert " Ready " in nodes
    taints = host.check_output(
        "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o jsonpath='{.items[*].spec.taints}'"
    )
    assert not taints.strip()
    a_timer_asks_the_doctor(host)


def a_timer_asks_the_doctor(host: Host) -> None:
    """The units of docs/watching.md, for a host without an inventory."""
    for name, text in re.findall(r"# (/etc/systemd/system/\S+)\n(.*?)(?=\n# /etc|\n```)", WATCHING, re.DOTALL):
        unit = text.replace("User=operator\n", "").replace(
            "/usr/local/bin/gpustack doctor -q -i /home/operator/mycluster", f"{VENV}/bin/gpustack doctor -q"
        )
        host.check_output(f"cat >{name} <<'EOF'\n{unit}\nEOF")
    host.check_output("mkdir -p /var/lib/node_exporter && systemctl daemon-reload")
    host.check_output("systemctl enable -q --now gpustack-doctor.timer && systemctl start gpustack-doctor.service")
    assert host.check_output("systemctl show -P Result gpustack-doctor.service") == "success"
    assert host.check_output("systemctl is-active gpustack-doctor.timer") == "active"
    told = host.check_output(f"cat {METRICS}").splitlines()
    assert "gpustack_doctor_findings 0" in told
    host.check_output("sysctl -qw net.ipv4.ip_forward=0 && systemctl start gpustack-doctor.service")
    assert host.check_output("systemctl show -P Result gpustack-doctor.service") == "success"
    assert 'gpustack_finding{fault="host-ip-forward-off",' in host.check_output(f"cat {METRICS}")
    host.check_output("sysctl -qw net.ipv4.ip_forward=1")


def carry(made: lab.Lab, source: Path, target: str) -> None:
    command = ["scp", "-q", "-F", str(made.ssh_config), "-r", str(source), f"host1:{target}"]
    subprocess.run(command, check=True, timeout=120)
