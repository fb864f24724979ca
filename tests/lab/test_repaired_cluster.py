"""The next install repairs what broke off or drifted in the cluster; what is not ours is refused and left alone. The
tests of this file stand in the order of the story and share one lab."""

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpustack_lab import lab
from tests.lab import witness
from tests.lab.conftest import Run
from tests.lab.killed import kill_program

pytestmark = [pytest.mark.lab, pytest.mark.slow]
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("repaired", ["debian-13", "debian-12"])


def list_plays(process: "subprocess.CompletedProcess[str]") -> dict[str, list[str]]:
    return {play["step"]: play["host_names"] for play in json.loads(process.stdout)["playbook_runs"]}


def install(two: lab.Lab, gpustack: Run, code: int = 0) -> "subprocess.CompletedProcess[str]":
    return gpustack("install", "-i", two.inventory, "--yes", "-o", "json", limit=900, code=code)


def test_an_initialisation_that_was_broken_off_is_taken_up_again(two: lab.Lab, gpustack: Run) -> None:
    with ThreadPoolExecutor() as pool:
        killing = pool.submit(kill_program, two, "kubeadm", "/etc/kubernetes/manifests/etcd.yaml")
        gpustack("install", "-i", two.inventory, "--yes", limit=900, code=5)
        assert killing.result().returncode == 0
    host = witness.connect_host(two, "host1")
    authority = host.file("/etc/kubernetes/pki/ca.crt").content
    assert host.file("/etc/kubernetes/gpustack-kubeadm.yaml.unfinished").exists
    assert "interrupted" in gpustack("plan", "-i", two.inventory, code=1).stdout
    install(two, gpustack)
    assert host.file("/etc/kubernetes/pki/ca.crt").content == authority
    assert host.file("/etc/kubernetes/gpustack-kubeadm.yaml").mode == 0o600
    assert not host.file("/etc/kubernetes/gpustack-kubeadm.yaml.unfinished").exists
    assert host.check_output(f"{KUBECTL} -n kube-system get secret -o name | grep -c bootstrap-token || :") == "0"


def test_small_drift_is_fixed_by_the_steps_it_belongs_to(two: lab.Lab, gpustack: Run) -> None:
    host1, host2 = witness.connect_host(two, "host1"), witness.connect_host(two, "host2")
    host1.check_output("chmod 644 /etc/kubernetes/admin.conf")
    host2.check_output(f"systemctl stop kubelet && install -m 600 /dev/null {BOOTSTRAP}")
    assert list_plays(install(two, gpustack)) == {"control-plane": ["host1"], "workers": ["host2"]}
    assert host1.file("/etc/kubernetes/admin.conf").mode == 0o600
    assert host2.service("kubelet").is_running
    assert not host2.file(BOOTSTRAP).exists


def test_a_join_that_was_broken_off_is_done_again(two: lab.Lab, gpustack: Run) -> None:
    host1, host2 = witness.connect_host(two, "host1"), witness.connect_host(two, "host2")
    host2.check_output("kubeadm reset -f && rm -f /etc/cni/net.d/*")
    host2.check_output("mkdir -p /etc/kubernetes/pki && echo stale >/etc/kubernetes/pki/ca.crt")
    endpoint = host1.check_output("awk '$1 == \"server:\" {print $2}' /etc/kubernetes/kubelet.conf")
    host2.check_output(f"printf 'clusters:\\n- cluster:\\n    server: {endpoint}\\n' >{BOOTSTRAP}")
    host1.check_output(f"{KUBECTL} delete node host2")
    assert list_plays(install(two, gpustack)) == {"workers": ["host2"]}
    assert host2.file("/etc/kubernetes/pki/ca.crt").content == host1.file("/etc/kubernetes/pki/ca.crt").content
    assert host1.check_output("kubeadm token list --kubeconfig /etc/kubernetes/admin.conf") == ""
    assert not host2.file("/run/gpustack-join.yaml").exists
    journal = "journalctl -q -o cat | grep -cE '[a-z0-9]{6}[.][a-z0-9]{16}' || :"
    assert [host.check_output(journal) for host in (host1, host2)] == ["0", "0"]


def test_credentials_that_are_lost_are_made_anew_for_the_same_node(two: lab.Lab, gpustack: Run) -> None:
    host1, host2 = witness.connect_host(two, "host1"), witness.connect_host(two, "host2")
    node = f"{KUBECTL} get node host2 -o 'jsonpath={{.metadata.uid}}'"
    before = host1.check_output(node)
    host2.check_output("rm /etc/kubernetes/kubelet.conf")
    assert host2.service("kubelet").is_running
    assert list_plays(install(two, gpustack)) == {"workers": ["host2"]}
    assert host1.check_output(node) == before


def test_flannels_settings_come_back_and_what_others_set_stays(two: lab.Lab, gpustack: Run) -> None:
    host = witness.connect_host(two, "host1")
    flannel = f"{KUBECTL} -n kube-flannel"
    host.check_output(f"{flannel} set env daemonset/kube-flannel-ds -c kube-flannel SITE=theirs")
    conf = host.check_output(f"{flannel} get configmap kube-flannel-cfg -o 'jsonpath={{.data.net-conf\\.json}}'")
    patch = json.dumps({"data": {"net-conf.json": conf.replace("8472", "4789")}})
    host.check_output(f"{flannel} patch configmap kube-flannel-cfg -p '{patch}'")
    assert list_plays(install(two, gpustack)) == {"flannel": ["host1"]}
    assert (
        host.check_output(f"{flannel} get configmap kube-flannel-cfg -o 'jsonpath={{.data.net-conf\\.json}}'") == conf
    )
    container = "jsonpath={.spec.template.spec.containers[0]}"
    document = json.loads(host.check_output(f"{flannel} get daemonset kube-flannel-ds -o '{container}'"))
    assert {"name": "SITE", "value": "theirs"} in document["env"]
    assert "--iface=$(HOST_IP)" in document["args"]


def test_a_host_of_another_cluster_is_refused_and_left_as_it_is(two: lab.Lab, gpustack: Run) -> None:
    host2 = witness.connect_host(two, "host2")
    host2.check_output("sed -i.kept 's#server: .*#server: https://192.0.2.9:6443#' /etc/kubernetes/kubelet.conf")
    before = host2.check_output("find /etc/kubernetes /var/lib/kubelet/config.yaml -type f -printf '%p %T@\\n' | sort")
    result = gpustack("install", "-i", two.inventory, "--yes", limit=900, code=5)
    assert "192.0.2.9" in result.stdout + result.stderr
    assert "--limit host2 --foreign" in result.stdout + result.stderr
    after = host2.check_output("find /etc/kubernetes /var/lib/kubelet/config.yaml -type f -printf '%p %T@\\n' | sort")
    assert after == before
    host2.check_output("mv /etc/kubernetes/kubelet.conf.kept /etc/kubernetes/kubelet.conf")
    gpustack("verify", "-i", two.inventory)
