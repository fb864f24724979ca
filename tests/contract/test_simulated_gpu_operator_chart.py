"""The simulated chart gpu-operator: lint, names of the objects, the ClusterPolicy of given values, refused keys."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "lab" / "gpustack_lab" / "simulated" / "charts" / "gpu-operator"
REAL = ROOT.parent / "shared" / "data"
NAMESPACE = "gpu-operator"
NFD = "gpu-operator-node-feature-discovery"


@cache
def find_helm() -> Path:
    """Find the Helm of the bundle. Skip the test on a machine without it."""
    paths = sorted(Path.home().glob(".cache/gpustack/parts/helm/*/out/helm"))
    if not paths:
        pytest.skip("no helm in the bundle's cache; gpustack bundle build --from modules makes it")
    return paths[-1]


def run_helm(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(find_helm()), *argv], capture_output=True, text=True, timeout=60, check=False)


def render_chart(*sets: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Render the objects of the chart, by kind and name."""
    flags = [flag for setting in sets for flag in ("--set", setting)]
    process = run_helm("template", "gpu-operator", str(CHART), "-n", NAMESPACE, "--include-crds", *flags)
    assert process.returncode == 0, process.stderr
    objects = [manifest for manifest in yaml.safe_load_all(process.stdout) if manifest]
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in objects}


def render_policy(*sets: str) -> dict[str, Any]:
    spec = render_chart(*sets)["ClusterPolicy", "cluster-policy"]["spec"]
    assert isinstance(spec, dict)
    return spec


def test_helm_lint_finds_nothing() -> None:
    process = run_helm("lint", str(CHART))
    assert process.returncode == 0, process.stdout + process.stderr
    assert "[ERROR]" not in process.stdout


def test_the_chart_says_that_it_is_simulated() -> None:
    document = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (document["name"], document["version"]) == ("gpu-operator", "v26.7.0")
    assert document["description"].startswith("SIMULATED")


def test_objects_have_the_real_names() -> None:
    objects = render_chart()
    assert {
        ("CustomResourceDefinition", "clusterpolicies.nvidia.com"), ("ClusterPolicy", "cluster-policy"),
        ("Deployment", "gpu-operator"), ("Deployment", f"{NFD}-master"), ("Deployment", f"{NFD}-gc"),
        ("DaemonSet", f"{NFD}-worker"), ("ConfigMap", f"{NFD}-worker-conf"),
    } <= set(objects)  # fmt: skip
    labels = objects["Deployment", "gpu-operator"]["spec"]["template"]["metadata"]["labels"]
    assert labels["app"] == "gpu-operator"


def test_feature_discovery_can_be_left_out() -> None:
    assert not [name for _, name in render_chart("nfd.enabled=false") if "feature-discovery" in name]


def test_worker_lists_gpus_by_vendor() -> None:
    config = render_chart()["ConfigMap", f"{NFD}-worker-conf"]["data"]["nfd-worker.conf"]
    assert yaml.safe_load(config)["sources"]["pci"] == {
        "deviceClassWhitelist": ["02", "0200", "0207", "0300", "0302"],
        "deviceLabelFields": ["vendor"],
    }


def test_defaults_have_the_traps_of_the_real_chart() -> None:
    spec = render_policy()
    assert spec["dcgmExporter"]["serviceMonitor"]["enabled"] is True
    assert [toleration["key"] for toleration in spec["daemonsets"]["tolerations"]] == ["nvidia.com/gpu"]
    assert spec["driver"]["enabled"] is True


def test_counters_become_a_config_map() -> None:
    sets = (
        "dcgmExporter.config.name=counters",
        "dcgmExporter.config.create=true",
        "dcgmExporter.config.data=DCGM_FI_X",
    )
    assert render_chart(*sets)["ConfigMap", "counters"]["data"] == {"dcgm-metrics.csv": "DCGM_FI_X\n"}
    assert render_policy(*sets)["dcgmExporter"]["config"] == {"name": "counters"}


def test_sharing_becomes_a_config_map() -> None:
    sets = (
        "devicePlugin.config.name=sharing", "devicePlugin.config.create=true", "devicePlugin.config.default=none",
        "devicePlugin.config.data.none=version: v1",
    )  # fmt: skip
    assert render_chart(*sets)["ConfigMap", "sharing"]["data"] == {"none": "version: v1"}
    assert render_policy(*sets)["devicePlugin"]["config"] == {"name": "sharing", "default": "none"}


@pytest.mark.parametrize("owner", ["devicePlugin", "dcgmExporter"])
def test_a_config_map_without_its_data_fails(owner: str) -> None:
    process = run_helm("template", "gpu-operator", str(CHART), "--set", f"{owner}.config.create=true")
    assert process.returncode != 0
    assert f"{owner}.config.create needs" in process.stderr


@pytest.mark.parametrize(
    "key",
    [
        "dcgmExporter.serviceMonitor.metricRelabelings", "driver.useOpenKernelModules", "operator.defaultRuntime",
        "cdi.default", "dcgmexporter.enabled", "node-feature-discovery.worker.toleration",
    ],
)  # fmt: skip
def test_other_keys_are_refused(key: str) -> None:
    process = run_helm("template", "gpu-operator", str(CHART), "--set", f"{key}=x")
    assert process.returncode != 0
    assert "additional" in process.stderr.lower()


def test_product_values_are_understood() -> None:
    own_values = ROOT / "values" / "gpu-operator.yaml"
    process = run_helm("template", "gpu-operator", str(CHART), "-f", str(own_values))
    assert process.returncode == 0, process.stderr


def test_policy_has_only_fields_of_the_crd() -> None:
    schema = render_chart()["CustomResourceDefinition", "clusterpolicies.nvidia.com"]["spec"]["versions"][0]["schema"]
    assert not find_unknown(render_policy(), schema["openAPIV3Schema"]["properties"]["spec"])


@pytest.mark.skipif(not REAL.is_dir(), reason="the real charts' files are not here")
def test_keys_and_fields_are_the_real_ones() -> None:
    real = yaml.safe_load((REAL / "charts" / "gpu-operator" / "values.yaml").read_text())
    # Commented out in the real values, read by its templates.
    known_keys = {
        "hostPaths.kubeletRootDir", "dcgmExporter.imagePullSecrets", "dcgmExporter.args", "dcgmExporter.config",
        "validator.version", "validator.driver", "validator.toolkit", "validator.cuda",
        "operator.version", "nodeStatusExporter.version",
    }  # fmt: skip
    default_values = yaml.safe_load((CHART / "values.yaml").read_text())
    foreign = {".".join(path) for path in list_paths(default_values) if not has(real, path)}
    assert {
        foreign_key for foreign_key in foreign if not any(f"{foreign_key}.".startswith(f"{key}.") for key in known_keys)
    } == set()
    crd = yaml.safe_load((REAL / "crds" / "nvidia.com_clusterpolicies.yaml").read_text())
    assert not find_unknown(
        render_policy(), crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    )


def list_paths(values: dict[str, Any], parents: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    unknown_keys = set()
    for key, value in values.items():
        path = (*parents, key)
        unknown_keys |= list_paths(value, path) if isinstance(value, dict) and value else {path}
    return unknown_keys


def has(values: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def find_unknown(value: Any, schema: dict[str, Any], path: str = "spec") -> list[str]:
    """Find the fields that the API would prune."""
    if isinstance(value, list):
        return [path_below for item in value for path_below in find_unknown(item, schema.get("items", {}), f"{path}[]")]
    if not isinstance(value, dict) or "additionalProperties" in schema:
        return []
    properties = schema.get("properties", {})
    return [
        unknown_key
        for key, inner in value.items()
        for unknown_key in (
            find_unknown(inner, properties[key], f"{path}.{key}") if key in properties else [f"{path}.{key}"]
        )
    ]
