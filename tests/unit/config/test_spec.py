"""The cluster spec: what is accepted, and what is reported of what is not."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from gpustack.config.resolution import build_apt_repositories, resolve_fingerprint
from gpustack.config.serve_image import select_image
from gpustack.config.spec import Spec, build_schema
from tests.unit.config.specs import SPEC_FILE, judge_spec, list_complaint_ids, list_complaints

MIRROR = {"mirror": "http://a", "fingerprint": "A" * 40}
FINGERPRINT = "0123 4567 89ab cdef 0123 4567 89ab cdef 0123 4567"


def test_an_empty_spec_means_defaults() -> None:
    for empty_document in (
        None,
        {},
        {"kubernetes": None, "kube_proxy": {"conntrack": None}},
        {"monitoring": {"access": None, "retention": None}},
    ):
        _, spec, wrong = judge_spec(empty_document)
        assert (spec, wrong) == (Spec(), [])


def test_a_mirror_and_its_fingerprint_as_gpg_prints_it() -> None:
    _, spec, wrong = judge_spec({"source": {"mirror": "http://10.0.0.5:8480", "fingerprint": FINGERPRINT}})
    assert wrong == []
    assert spec.source.fingerprint == FINGERPRINT.replace(" ", "").upper()  # type: ignore[union-attr]


def test_another_key_is_trusted_for_the_official_packages_when_the_spec_says_so() -> None:
    assert resolve_fingerprint(Spec(), "kubernetes").startswith("DE15B144")
    _, spec, wrong = judge_spec({"fingerprints": {"kubernetes": FINGERPRINT}})
    assert wrong == []
    assert resolve_fingerprint(spec, "kubernetes") == FINGERPRINT.replace(" ", "").upper()
    assert build_apt_repositories(spec)["kubernetes"]["fingerprint"] == FINGERPRINT.replace(" ", "").upper()
    assert resolve_fingerprint(spec, "containerd").startswith("9DC85822")


def test_a_key_beside_a_mirrors_own_would_have_no_effect() -> None:
    (complaint,) = list_complaints({"source": MIRROR, "fingerprints": {"containerd": "B" * 40}})
    assert (complaint.key, complaint.actual) == ("gpustack.fingerprints", "containerd")
    assert "source.fingerprint" in complaint.rule


@pytest.mark.parametrize(("text", "meant"), [(False, "off"), ("off", "off"), ("keep", "keep")])
def test_off_in_yaml_is_false(text: Any, meant: str) -> None:
    _, spec, wrong = judge_spec({"swap": text})
    assert (spec.swap, wrong) == (meant, [])


@pytest.mark.parametrize(
    ("spec", "key", "nearest"),
    [
        ({"kubernets": {}}, "gpustack.kubernets", "kubernetes"),
        ({"kubernets": None}, "gpustack.kubernets", "kubernetes"),
        ({"flannel": {"prot": 1}}, "gpustack.flannel.prot", "port"),
        ({"kubelet": {"failCGroupV1": False}}, "gpustack.kubelet.failCGroupV1", "failCgroupV1"),
        ({"kube_proxy": {"conntrack": {"maxPerCore": 1}}}, "gpustack.kube_proxy.conntrack.maxPerCore", "max_per_core"),
        ({"source": {**MIRROR, "fingerprnt": ""}}, "gpustack.source.fingerprnt", "fingerprint"),
        ({"monitoring": {"retension": "1d"}}, "gpustack.monitoring.retension", "retention"),
        ({"monitoring": {"persistence": {"sise": "1Gi"}}}, "gpustack.monitoring.persistence.sise", "size"),
        ({"gpu": {"driver": {"versoin": "1"}}}, "gpustack.gpu.driver.versoin", "version"),
        ({"alerts": {"recievers": {}}}, "gpustack.alerts.recievers", "receivers"),
        ({"zzz": 1}, "gpustack.zzz", ""),
    ],
)  # fmt: skip
def test_unknown_keys_get_the_nearest_spelling(spec: Any, key: str, nearest: str) -> None:
    (complaint,) = list_complaints(spec)
    assert (complaint.file, complaint.key, complaint.reference, complaint.nearest) == (
        SPEC_FILE,
        key,
        "config-unknown-key",
        nearest,
    )
    assert (f"did you mean {nearest}?" in str(complaint)) is bool(nearest)


@pytest.mark.parametrize(
    ("spec", "key", "actual", "rule"),
    [
        ({"flannel": {"port": "x"}}, "flannel.port", "'x'", "a whole number"),
        ({"flannel": {"port": 70000}}, "flannel.port", "70000", "65535 or less"),
        ({"flannel": []}, "flannel", "[]", "a mapping"),
        ({"kubernetes": {"version": 1.36}}, "kubernetes.version", "1.36", "a number needs quotes"),
        ({"kubernetes": {"cert_sans": "a.b"}}, "kubernetes.cert_sans", "'a.b'", "a list such as [gpus.example.com]"),
        ({"firewall": {"sources": "10.0.0.1"}}, "firewall.sources", "'10.0.0.1'", "a list such as [192.0.2.0/24]"),
        ({"kubernetes": {"pod_cidr": "10.244.0.1/16"}}, "kubernetes.pod_cidr", "10.244.0.1/16", "no bit set"),
        ({"kubernetes": {"pod_cidr": "10.244.0.0/24"}}, "kubernetes.pod_cidr", "/24", "every node takes a /24"),
        ({"kubernetes": {"service_cidr": "10.0.0.0/8"}}, "kubernetes.service_cidr", "10.0.0.0/8", "as 10.0.0.0/12"),
        ({"kubernetes": {"endpoint": "kube:70000"}}, "kubernetes.endpoint", "'kube:70000'", "1 to 65535"),
        ({"kubernetes": {"endpoint": "kube"}}, "kubernetes.endpoint", "'kube'", "name:port"),
        ({"containerd": {"version": "1.7.29"}}, "containerd.version", "'1.7.29'", "2.x"),
        ({"firewall": {"manage": "perhaps"}}, "firewall.manage", "'perhaps'", "true or false"),
        ({"swap": True}, "swap", "true", "'off' or 'keep'"),
        ({"versions": "2020-01"}, "versions", "'2020-01'", "one of 2026-11"),
        ({"source": "offical"}, "source", "'offical'", "'official', or a mapping"),
        ({"source": {"mirror": "ftp://x"}}, "source.mirror", "'ftp://x'", "http(s)://HOST:PORT"),
        ({"source": {"mirror": "http://x/path", "fingerprint": "A" * 40}}, "source.mirror", "path", "no path"),
        ({"source": {"mirror": "http://x"}}, "source.fingerprint", "nothing", "a value"),
        ({"storage": {"provisioner": "nfs"}}, "storage.provisioner", "'nfs'", "'local-path' or 'none'"),
        ({"storage": {"path": "var/lib"}}, "storage.path", "'var/lib'", "a path that begins with /"),
        ({"monitoring": {"enabled": "perhaps"}}, "monitoring.enabled", "'perhaps'", "true or false"),
        ({"monitoring": {"release": "Mon_1"}}, "monitoring.release", "'Mon_1'", "small letters, digits and dashes"),
        ({"monitoring": {"namespace": "m" * 27}}, "monitoring.namespace", "m" * 27, "at most 26 small letters"),
        ({"monitoring": {"retention": "10"}}, "monitoring.retention", "'10'", "as 30d"),
        ({"monitoring": {"retention": 10}}, "monitoring.retention", "10", "a text such as 30d (a number needs quotes)"),
        ({"monitoring": {"retention_size": "15GiB"}}, "monitoring.retention_size", "'15GiB'", "as 15GB"),
        ({"monitoring": {"memory": "400M"}}, "monitoring.memory", "'400M'", "as 20Gi"),
        ({"monitoring": {"node_exporter_port": 80}}, "monitoring.node_exporter_port", "80", "1024 or more"),
        ({"monitoring": {"persistence": True}}, "monitoring.persistence", "true", "a mapping"),
        ({"monitoring": {"persistence": {"size": "0Gi"}}}, "monitoring.persistence.size", "'0Gi'", "as 20Gi"),
        ({"monitoring": {"access": {"type": "lb"}}}, "monitoring.access.type", "'lb'", "'node-port'"),
        ({"monitoring": {"access": {"node_port": 80}}}, "monitoring.access.node_port", "80", "30000 or more"),
        ({"dashboards": {"folder": ""}}, "dashboards.folder", "''", "at least 1 character"),
        ({"alerts": {"receivers": {"info": [{"type": "fax"}]}}}, "alerts.receivers.info.0.type", "'fax'", "'webhook'"),
        (
            {"alerts": {"receivers": {"default": [{"type": "email", "smarthost": "mail"}]}}},
            "alerts.receivers.default.0.smarthost",
            "'mail'",
            "name:port",
        ),
        ({"alerts": {"runbooks": "wiki"}}, "alerts.runbooks", "'wiki'", "as https://wiki.example.com/alerts"),
        ({"gpu": {"stack": "mixed"}}, "gpu.stack", "'mixed'", "'operator' or 'host'"),
        ({"gpu": {"driver": {"mode": "yes"}}}, "gpu.driver.mode", "'yes'", "'auto'"),
        ({"gpu": {"driver": {"version": "595"}}}, "gpu.driver.version", "'595'", "full version"),
        ({"gpu": {"metrics": {"listen": ":70000"}}}, "gpu.metrics.listen", "':70000'", "1 to 65535"),
        ({"gpu": {"driver": {"version": 595.91}}}, "gpu.driver.version", "595.91", "a number needs quotes"),
        ({"gpu": {"metrics": {"interval": "15"}}}, "gpu.metrics.interval", "'15'", "as 30d"),
        ({"gpu": {"metrics": {"counters": "DCGM_FI_DEV_SM_CLOCK"}}}, "gpu.metrics.counters", "DCGM", "a list"),
        ({"gpu": {"metrics": {"counters": ["gpu_temp"]}}}, "gpu.metrics.counters.0", "'gpu_temp'", "DCGM"),
        ({"gpu": {"sharing": {"mode": "mig"}}}, "gpu.sharing.mode", "'mig'", "'time-slicing'"),
        ({"gpu": {"sharing": {"replicas": 1}}}, "gpu.sharing.replicas", "1", "2 or more"),
        ({"cluster_name": "Big_One"}, "cluster_name", "'Big_One'", "small letters, digits and dashes"),
        ({7: 1}, "7", "7", "a text as key"),
        ([1], "", "[1]", "a mapping, or nothing"),
        ([], "", "[]", "a mapping, or nothing"),
        ("", "", "''", "a mapping, or nothing"),
        (False, "", "false", "a mapping, or nothing"),
        (0, "", "0", "a mapping, or nothing"),
    ],
)  # fmt: skip
def test_wrong_values_are_reported_in_the_operators_words(spec: Any, key: str, actual: str, rule: str) -> None:
    complaint = list_complaints(spec)[0]
    assert complaint.key == ".".join(part for part in ("gpustack", key) if part)
    assert actual in complaint.actual
    assert rule in complaint.rule
    assert "found" not in complaint.rule
    assert complaint.file == SPEC_FILE


@pytest.mark.parametrize("version", ["595.84", "595.91.07"])
def test_a_driver_version_has_two_parts_or_three(version: str) -> None:
    assert list_complaints({"gpu": {"driver": {"version": version}}}) == []


@pytest.mark.parametrize("version", ["1.34.1", "1.20.0", "1.99.0", "2.0.0", "1.36", "latest", ""])
def test_unsupported_kubernetes_is_refused(version: str) -> None:
    (complaint,) = list_complaints({"kubernetes": {"version": version}})
    assert complaint.key == "gpustack.kubernetes.version"
    assert complaint.actual == repr(version)
    assert "1.36" in complaint.rule


@pytest.mark.parametrize("version", ["1.36.4", "v1.36.4", "1.35.0"])
def test_supported_kubernetes_is_accepted(version: str) -> None:
    assert judge_spec({"kubernetes": {"version": version}})[1].kubernetes.version == version.removeprefix("v")


@pytest.mark.parametrize(
    ("kubernetes", "key"),
    [
        ({"pod_cidr": "10.96.0.0/16"}, "pod_cidr"),
        ({"service_cidr": "10.244.4.0/24"}, "pod_cidr"),
        ({"pod_cidr": "192.0.0.0/16"}, "pod_cidr"),
        ({"service_cidr": "192.0.2.0/24"}, "service_cidr"),
    ],
)
def test_overlapping_networks_are_refused(kubernetes: Any, key: str) -> None:
    (complaint,) = list_complaints({"kubernetes": kubernetes})
    assert (complaint.key, complaint.reference) == (f"gpustack.kubernetes.{key}", "config-networks-overlap")


def test_hosts_inside_a_network_are_named() -> None:
    (complaint,) = list_complaints(None, h2={"gpustack_node_ip": "10.244.7.7"})
    assert "10.244.7.7 of h2" in complaint.actual


def test_all_mistakes_and_contradictions_are_reported_at_once() -> None:
    spec = {
        "kubernets": {},
        "kubernetes": {"pod_cidr": "10.96.0.0/16", "version": "1.30.1", "odd": 1},
        "flannel": {"port": "x"},
        "swap": "perhaps",
    }
    assert sorted(list_complaint_ids(spec, h1={"gpustack_node_ip": "here"}, h2={"ansible_port": "ssh"})) == [
        ("ansible_port", "config-invalid"),
        ("gpustack.flannel.port", "config-invalid"),
        ("gpustack.kubernetes.odd", "config-unknown-key"),
        ("gpustack.kubernetes.pod_cidr", "config-networks-overlap"),
        ("gpustack.kubernetes.version", "config-invalid"),
        ("gpustack.kubernets", "config-unknown-key"),
        ("gpustack.swap", "config-invalid"),
        ("gpustack_node_ip", "config-invalid"),
    ]


def test_a_wrong_network_is_not_also_compared() -> None:
    assert list_complaint_ids({"kubernetes": {"pod_cidr": "x", "service_cidr": "10.244.0.0/16"}}) == [
        ("gpustack.kubernetes.pod_cidr", "config-invalid")
    ]


def test_every_field_says_what_it_is() -> None:
    def list_descriptions(node: Any) -> Any:
        for name, field in node.get("properties", {}).items():
            yield name, field.get("description", "")

    schema = build_schema()
    fields = [pair for node in schema["$defs"].values() for pair in list_descriptions(node)]
    assert len(fields) > 30
    assert [name for name, text in fields if not text] == []
    assert schema["properties"]["gpustack"]["$ref"] == "#/$defs/Spec"
    assert "failCgroupV1" in schema["$defs"]["Kubelet"]["properties"]


def test_the_defaults_keep_the_rules() -> None:
    assert Spec.model_validate(Spec().model_dump(mode="json", by_alias=True)) == Spec()
    assert Spec().kubernetes.pod_cidr == IPv4Network("10.244.0.0/16")


@pytest.mark.parametrize(
    "image",
    [
        "registry.example.com/gpustack:0.1.0",
        "10.0.0.5:5000/team/gpu_tools/gpustack:1",
        "localhost:5000/gpustack@sha256:" + "0" * 64,
        "registry.example.com/gpustack:1@sha256:" + "a" * 64,
    ],
)
def test_an_image_of_serve_is_accepted(image: str) -> None:
    _, spec, wrong = judge_spec({"serve": {"enabled": True, "image": image}})
    assert (select_image(spec), wrong) == (image, [])


@pytest.mark.parametrize(
    "image",
    [
        "gpustack:1",
        "gpustack/gpustack:1",  # containerd would take Docker Hub, where the name is another's
        "registry.example.com/gpustack",
        "registry.example.com:5000/gpustack",
        "https://registry.example.com/gpustack:1",
        "registry.example.com/Gpustack:1",
        "registry.example.com/gpustack@sha256:0",
        "registry.example.com/gpustack:1\nother",
    ],
)
def test_an_image_of_serve_has_its_registry_and_a_tag(image: str) -> None:
    (complaint,) = list_complaints({"serve": {"enabled": True, "image": image}})
    assert (complaint.key, complaint.reference) == ("gpustack.serve.image", "config-invalid")
    assert "REGISTRY/PATH:TAG" in complaint.rule


def test_the_daily_diagnostic_needs_the_monitoring_and_an_hour() -> None:
    on: dict[str, Any] = {"care": {"enabled": True, "hour": 23}}
    assert list_complaint_ids(on) == []
    without_monitoring = {"monitoring": {"enabled": False}}
    assert list_complaint_ids({**on, **without_monitoring}) == [("gpustack.monitoring.enabled", "config-invalid")]
    assert list_complaint_ids(without_monitoring) == []
    for hour in (24, -1, "3", True):
        assert list_complaint_ids({"care": {"hour": hour}}) == [("gpustack.care.hour", "config-invalid")]


def test_serve_needs_an_image_but_from_a_bundle_and_the_monitoring() -> None:
    lab = {"source": {**MIRROR, "simulated": "allowed"}}
    on: dict[str, Any] = {"serve": {"enabled": True}}
    assert (
        list_complaint_ids(on)
        == list_complaint_ids({**on, "source": MIRROR})
        == [("gpustack.serve.image", "config-invalid")]
    )
    assert list_complaint_ids({"serve": {"enabled": False}}) == list_complaint_ids({**on, **lab}) == []
    assert select_image(judge_spec(lab)[1]).startswith("docker.io/library/gpustack:")
    disabled_spec = {"monitoring": {"enabled": False}}
    assert list_complaint_ids({**on, **lab, **disabled_spec}) == [("gpustack.monitoring.enabled", "config-invalid")]
