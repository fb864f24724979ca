"""gpustack, installed on a host from our wheel, makes that host a verified one-node cluster without an inventory."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from testinfra.host import Host

from gpustack_lab import lab
from tests.lab import carried, witness
from tests.lab.carried import ROOT, VENV

pytestmark = [pytest.mark.lab, pytest.mark.slow]

METRICS = "/var/lib/node_exporter/gpustack.prom"
WATCHING = (ROOT / "docs" / "watching.md").read_text()


@pytest.mark.parametrize(("release", "python"), [("debian-12", "3.11"), ("debian-13", "3.13")])
def test_the_host_itself_becomes_a_cluster(
    release: str, python: str, make_lab: Callable[..., lab.Lab], wheel: Path, tmp_path: Path
) -> None:
    lab = make_lab(f"one-{release}", [release])
    host = witness.connect_host(lab, "host1")
    carried.install(lab, "host1", python, wheel, tmp_path)
    carried.copy_folder(lab, "host1", lab.inventory / "group_vars" / "all" / "gpustack.yml", "/tmp/gpustack.yml")
    host.check_output("install -D -m 0644 /tmp/gpustack.yml /etc/gpustack-cluster/gpustack.yml")
    assert host.run(f"{VENV}/bin/gpustack plan").rc == 1
    refusal = host.run(f"{VENV}/bin/gpustack install --yes")
    assert refusal.rc == 2
    assert "--this-host" in refusal.stderr
    process = host.run(f"{VENV}/bin/gpustack install --yes --this-host")
    assert process.rc == 0, process.stderr[-4000:] + process.stdout[-4000:]
    second_process = host.run(f"{VENV}/bin/gpustack install --yes --this-host")
    assert second_process.rc == 0
    assert "nothing to do" in second_process.stdout
    assert host.run(f"{VENV}/bin/gpustack plan").rc == 0
    assert host.run(f"{VENV}/bin/gpustack verify").rc == 0
    nodes = host.check_output("kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers")
    assert " Ready " in nodes
    taints = host.check_output(
        "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o jsonpath='{.items[*].spec.taints}'"
    )
    assert not taints.strip()
    assert_timer_runs_doctor(host)


def assert_timer_runs_doctor(host: Host) -> None:
    """Assert that the units of docs/watching.md run the doctor on a host without an inventory."""
    for name, text in re.findall(r"# (/etc/systemd/system/\S+)\n(.*?)(?=\n# /etc|\n```)", WATCHING, re.DOTALL):
        unit = text.replace("User=operator\n", "").replace(
            "/usr/local/bin/gpustack doctor -q -i /home/operator/mycluster", f"{VENV}/bin/gpustack doctor -q"
        )
        host.check_output(f"cat >{name} <<'EOF'\n{unit}\nEOF")
    host.check_output("mkdir -p /var/lib/node_exporter && systemctl daemon-reload")
    host.check_output("systemctl enable -q --now gpustack-doctor.timer && systemctl start gpustack-doctor.service")
    assert host.check_output("systemctl show -P Result gpustack-doctor.service") == "success"
    assert host.check_output("systemctl is-active gpustack-doctor.timer") == "active"
    value = host.check_output(f"cat {METRICS}").splitlines()
    assert "gpustack_doctor_findings 0.0" in value
    host.check_output("sysctl -qw net.ipv4.ip_forward=0 && systemctl start gpustack-doctor.service")
    assert host.check_output("systemctl show -P Result gpustack-doctor.service") == "success"
    assert ',fault="host-ip-forward-off",' in host.check_output(f"cat {METRICS}")
    host.check_output("sysctl -qw net.ipv4.ip_forward=1")
