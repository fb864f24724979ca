"""GPUs without an operator: a lab host with two simulated GPUs, `gpu.stack: host`, witnessed past our own probes."""

import json
from collections.abc import Callable

import pytest

from gpustack_lab import lab
from tests.lab import roads, witness
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]

IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04"
KUBE = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
SHARED_GPUS = {"mode": "time-slicing", "replicas": 4}


@pytest.fixture(scope="module")
def stack_hosts(make_lab: Callable[..., lab.Lab], gpustack: Run) -> lab.Lab:
    stack_lab = make_lab("host-stack", ["debian-13"], gpus="2")
    roads.set_spec(stack_lab, gpu={"stack": "host"})
    gpustack("install", "-i", stack_lab.inventory, "--yes", limit=1200)
    return stack_lab


def count_allocatable(running_lab: lab.Lab) -> int:
    (node,) = json.loads(witness.connect_host(running_lab, "host1").check_output(f"{KUBE} get nodes -o json"))["items"]
    return int(node["status"]["allocatable"].get("nvidia.com/gpu", "0"))


def list_uuids(running_lab: lab.Lab) -> set[str]:
    lines = witness.connect_host(running_lab, "host1").check_output("nvidia-smi -L").splitlines()
    return {line.split("UUID: ")[1].rstrip(")") for line in lines}


def test_a_pod_has_the_gpu_that_it_asked_for_and_no_other(stack_hosts: lab.Lab) -> None:
    host = witness.connect_host(stack_hosts, "host1")
    assert count_allocatable(stack_hosts) == 2
    container = {"name": "c", "image": IMAGE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    listing_container = {**container, "command": ["sh", "-c", "ls /dev | grep -c ^nvidia[0-9]"]}
    for name, container_spec in (("kernel", container), ("devices", listing_container)):
        spec = {"containers": [container_spec], "restartPolicy": "Never"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        host.check_output(f"echo '{json.dumps(pod)}' | {KUBE} apply -f -")
        wait_command = f"{KUBE} wait --for=jsonpath='{{.status.phase}}'=Succeeded --timeout=90s pod/{name}"
        assert host.run(wait_command).rc == 0, host.run(f"{KUBE} describe pod {name}; {KUBE} logs {name}").stdout
    assert "Test PASSED" in host.check_output(f"{KUBE} logs kernel")
    assert host.check_output(f"{KUBE} logs devices").strip() == "1"
    host.check_output(f"{KUBE} delete pod kernel devices --wait=false")


def test_the_exporter_tells_of_each_gpu(stack_hosts: lab.Lab) -> None:
    path = "/api/v1/namespaces/gpu-operator/services/nvidia-dcgm-exporter:gpu-metrics/proxy/metrics"
    text = witness.connect_host(stack_hosts, "host1").check_output(f"{KUBE} get --raw {path}")
    assert list_uuids(stack_hosts) == {uuid for uuid in list_uuids(stack_hosts) if f'UUID="{uuid}"' in text}
    assert "DCGM_FI_DEV_GPU_TEMP" in text


def test_containerd_keeps_its_file_and_its_default(stack_hosts: lab.Lab) -> None:
    host = witness.connect_host(stack_hosts, "host1")
    assert not host.file("/etc/containerd/conf.d/99-nvidia.toml").exists
    assert host.run("grep -q '^#' /etc/containerd/config.toml").rc == 0
    assert '"defaultRuntimeName":"runc"' in host.check_output("crictl info | tr -d '[:space:]'")


def test_the_second_installation_does_nothing(stack_hosts: lab.Lab, gpustack: Run) -> None:
    assert "nothing to do" in gpustack("install", "-i", stack_hosts.inventory, "--yes").stdout.lower()


def test_drift_is_fixed(stack_hosts: lab.Lab, gpustack: Run) -> None:
    host = witness.connect_host(stack_hosts, "host1")
    host.check_output("rm /etc/containerd/conf.d/gpustack-nvidia.toml && systemctl restart containerd")
    host.check_output(f"{KUBE} -n gpu-operator delete daemonset gpustack-dcgm-exporter")
    host.check_output("apt-mark -qq unhold nvidia-container-toolkit")
    gpustack("install", "-i", stack_hosts.inventory, "--yes")
    assert "nvidia-container-runtime" in host.check_output("crictl info")
    assert "nvidia-container-toolkit" in host.check_output("apt-mark showhold")
    gpustack("verify", "-i", stack_hosts.inventory)


def test_time_slicing_comes_and_goes(stack_hosts: lab.Lab, gpustack: Run) -> None:
    roads.set_spec(stack_hosts, gpu={"stack": "host", "sharing": SHARED_GPUS})
    gpustack("install", "-i", stack_hosts.inventory, "--yes")
    assert count_allocatable(stack_hosts) == 8
    roads.set_spec(stack_hosts, gpu={"stack": "host"})
    gpustack("install", "-i", stack_hosts.inventory, "--yes")
    assert count_allocatable(stack_hosts) == 2
    output = witness.connect_host(stack_hosts, "host1").check_output(f"{KUBE} -n gpu-operator get daemonsets -o name")
    assert "time-slicing" not in output


def test_the_operator_is_not_put_beside_it(stack_hosts: lab.Lab, gpustack: Run) -> None:
    roads.set_spec(stack_hosts, gpu={"stack": "operator"})
    process = gpustack("plan", "-i", stack_hosts.inventory, code=None)
    assert "DaemonSets of gpu.stack host" in process.stdout
    assert "kubectl -n gpu-operator delete daemonset" in process.stdout
    roads.set_spec(stack_hosts, gpu={"stack": "host"})


def test_reset_leaves_nothing_of_it(stack_hosts: lab.Lab, gpustack: Run) -> None:
    gpustack("reset", "-i", stack_hosts.inventory, "--yes", "--packages")
    host = witness.connect_host(stack_hosts, "host1")
    for path in ("/etc/containerd/conf.d/gpustack-nvidia.toml", "/etc/apt/sources.list.d/gpustack-toolkit.sources"):
        assert not host.file(path).exists
    assert not host.package("nvidia-container-toolkit").is_installed
