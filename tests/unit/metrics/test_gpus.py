import pytest

from gpustack.metrics.gpus import Gpu, Owner, extract_gpu, extract_owner

# As exporters label them: https://github.com/NVIDIA/dcgm-exporter/blob/main/README.md, and what Prometheus adds.
RAW = {"gpu": "0", "UUID": "GPU-604ac76c", "device": "nvidia0", "modelName": "NVIDIA T4", "Hostname": "gpu1"}
TARGET = {"job": "nvidia-dcgm-exporter", "instance": "10.244.1.7:9400", "endpoint": "gpu-metrics"}
EXPORTER = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x7k2p", "container": "nvidia-dcgm-exporter"}
WORKLOAD = {"namespace": "team-a", "pod": "train-0", "container": "main"}
EXPORTED_LABELS = {f"exported_{key}": value for key, value in WORKLOAD.items()}


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        (RAW, None),
        (RAW | WORKLOAD, Owner("team-a", "train-0", "main")),
        (RAW | TARGET | EXPORTER, None),
        (RAW | TARGET | EXPORTER | EXPORTED_LABELS, Owner("team-a", "train-0", "main")),
        (RAW | TARGET | WORKLOAD, Owner("team-a", "train-0", "main")),
        (RAW | TARGET | EXPORTER | {"container": "exporter"}, None),
        (RAW | {"pod": "", "namespace": "", "container": ""}, None),
    ],
    ids=["free", "used", "free-scraped", "used-scraped", "used-honor-labels", "free-honor-labels", "old-exporter"],
)
def test_the_owner_of_a_gpu_is_read_from_its_labels(labels: dict[str, str], owner: Owner | None) -> None:
    assert extract_owner(labels) == owner


@pytest.mark.parametrize("host", ["Hostname", "hostname", "node"])
def test_the_node_is_found_under_each_of_its_names(host: str) -> None:
    labels = {key: value for key, value in RAW.items() if key != "Hostname"} | {host: "gpu1"} | TARGET
    assert extract_gpu(labels) == Gpu("gpu1", "0", "GPU-604ac76c", model="NVIDIA T4")


def test_without_a_host_label_the_target_stands_for_the_node() -> None:
    labels = {"gpu": "0", "UUID": "GPU-a", **TARGET}
    assert extract_gpu(labels) == Gpu("10.244.1.7:9400", "0", "GPU-a")


# The first two are recorded: tests/recorded/exporter-pages/t4-pod-as-host and a30-mig-beside-rtx2000-pod-as-host.
@pytest.mark.parametrize(
    "host",
    [{"Hostname": "nvidia-dcgm-exporter-xpn6b"}, {"hostname": "dcgm-exporter-wwwjh"}, {"hostname": "localhost"}],
)
def test_a_host_label_that_names_no_node_is_not_the_node(host: dict[str, str]) -> None:
    gpu = {"gpu": "0", "UUID": "GPU-a"}
    assert extract_gpu(gpu | host | TARGET) == Gpu("10.244.1.7:9400", "0", "GPU-a")
    assert extract_gpu(gpu | host | TARGET | {"node": "gpu1"}) == Gpu("gpu1", "0", "GPU-a")
    assert extract_gpu(gpu | host) == Gpu(next(iter(host.values())), "0", "GPU-a")


def test_a_mig_instance_is_not_its_gpu() -> None:
    whole_gpu, part = extract_gpu(RAW), extract_gpu(RAW | {"GPU_I_ID": "7", "GPU_I_PROFILE": "1g.10gb"})
    assert whole_gpu
    assert part
    assert whole_gpu.key != part.key
    assert part.profile == "1g.10gb"


def test_a_new_exporter_does_not_make_another_gpu() -> None:
    """Instance, pod and driver label change; the GPU does not."""
    gpu = extract_gpu(RAW | TARGET | EXPORTER)
    two = extract_gpu(RAW | TARGET | {"instance": "10.244.1.9:9400", "pod": "nvidia-dcgm-exporter-zzzzz"})
    assert gpu == two


@pytest.mark.parametrize("labels", [{}, {"nvswitch": "2", "nvlink": "3", "gpu_uuid": "GPU-a"}, {"cpu": "0"}])
def test_switches_and_processors_are_no_gpus(labels: dict[str, str]) -> None:
    assert extract_gpu(labels) is None
