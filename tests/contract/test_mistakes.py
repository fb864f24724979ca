"""The mistakes that scripts of this kind make, and what keeps us from each.

Numbers are those of a review of one widespread setup script. Where a mistake shows only on a host, the lab tests of the
named step hold it.
"""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from gpustack.config.chart_keys import judged
from gpustack.config.shipped import playbooks, values
from gpustack.config.spec import Spec
from gpustack.config.versions import KNOWN_SETS, version_set
from gpustack.probes.dcgm import EXPORTER
from gpustack.steps import STEPS
from gpustack.steps.gpu_metrics import OURS

SHELL = {".sh", ".yml", ".j2"}


def texts() -> dict[str, str]:
    """Everything that runs on hosts, without comments."""
    found = {}
    for path in sorted(playbooks().rglob("*")):
        if path.is_file() and path.suffix in SHELL:
            lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
            found[str(path.relative_to(playbooks()))] = "\n".join(lines)
    return found


def expect_nowhere(pattern: str, but: str = "") -> None:
    found = {name: text for name, text in texts().items() if name != but}
    hits = [f"{name}: {match[0]}" for name, text in found.items() for match in re.finditer(pattern, text)]
    assert hits == []


def checks(step: str) -> set[str]:
    (found,) = (one for one in STEPS if one.id == step)
    return {check.__name__ for check in found.checks}


@pytest.mark.parametrize("version", ["1.31.14", "1.34.11", "1.36"])
def test_1_a_kubernetes_that_has_ended_is_refused(version: str) -> None:
    with pytest.raises(ValidationError):
        Spec.model_validate({"kubernetes": {"version": version}})


def test_2_nothing_is_appended_to_a_file_on_each_run() -> None:
    expect_nowhere(r"tee\s+-a|>>\s*/etc")
    assert {"modules", "modules_at_boot", "sysctls", "sysctls_at_boot", "sysctls_overridden"} <= checks("prereqs")


def test_3_keys_are_compared_and_packages_pinned() -> None:
    expect_nowhere(r"apt-key|trusted=yes|allow[-_]unauthenticated|--allow-insecure")
    for source in version_set(KNOWN_SETS[-1]).apt.values():
        wanted = [key["fingerprint"] for key in source.keys.values()] or [source.fingerprint]
        assert [fingerprint for fingerprint in wanted if not re.fullmatch("[0-9A-F]{40}", fingerprint)] == []
    kubernetes = "".join(text for name, text in texts().items() if name.startswith("roles/kubernetes"))
    assert re.search(r"kube(let|adm).*version|version.*kube(let|adm)", kubernetes, re.DOTALL)


def test_4_the_runtime_s_configuration_is_never_made_from_its_defaults() -> None:
    expect_nowhere(r"containerd config default")
    expect_nowhere(r"sed -i[^\n]*SystemdCgroup")


def test_5_the_running_daemon_is_asked_for_cri_and_the_plugin_folder() -> None:
    assert {"cri", "cgroups"} <= checks("containerd")


def test_6_swap_is_judged_by_the_kernel_and_by_what_would_bring_it_back() -> None:
    assert [name for name in checks("prereqs") if "swap" in name]


def test_7_no_outside_address_is_asked_whether_there_is_a_network() -> None:
    expect_nowhere(r"8\.8\.8\.8|1\.1\.1\.1|\bping\s")


def test_8_kubeadm_gets_a_file_and_nobody_the_break_glass_credential() -> None:
    expect_nowhere(r"kubeadm init(?![^\n]*--config)(?! phase)")
    expect_nowhere(r"super-admin", but="roles/control_plane/files/reset.sh")  # which removes it


def test_9_dns_is_waited_for_after_there_is_a_pod_network() -> None:
    order = [step.id for step in STEPS]
    assert "dns" in checks("flannel")
    assert order.index("flannel") > order.index("control-plane")


def test_10_flannel_is_pinned_and_follows_the_spec() -> None:
    expect_nowhere(r"releases/latest|/master/|/main/")
    flannel = "".join(text for name, text in texts().items() if name.startswith("roles/flannel"))
    assert "sha256" in flannel
    assert "10.244" not in flannel


def test_11_taints_are_removed_on_a_cluster_of_one_host_only() -> None:
    expect_nowhere(r"taint nodes? --all")


def test_12_firewall_rules_are_never_inserted_blindly_or_stored_from_the_live_set() -> None:
    expect_nowhere(
        r"netfilter-persistent save|iptables-save\s*>|iptables -F(?!\s+GPUSTACK)|iptables --flush(?!\s+GPUSTACK)"
    )


def test_13_nothing_is_piped_into_a_shell() -> None:
    expect_nowhere(r"(curl|wget)[^\n]*\|\s*(sudo\s+)?(ba)?sh\b")
    for path in filter(Path.is_file, Path(__file__).parents[2].glob("scripts/*")):
        assert not re.search(r"(curl|wget)[^\n]*\|\s*(sudo\s+)?(ba)?sh\b", path.read_text())


def test_14_a_value_that_the_chart_does_not_know_is_told() -> None:
    chart = version_set(KNOWN_SETS[-1]).charts["gpu-operator"]
    (wrong,) = judged("", f"gpu-operator-{chart.version}", {"operator": {"defaultRuntime": "containerd"}})
    assert wrong.reference == "values-key-unknown"


def test_15_charts_are_pinned_and_the_release_itself_is_compared() -> None:
    charts = version_set(KNOWN_SETS[-1]).charts.values()
    assert all(chart.version and re.fullmatch("[0-9a-f]{64}", chart.sha256["all"]) for chart in charts)
    expect_nowhere(r"helm['\"]? (repo|list|ls)\b")
    assert all("chart" in checks(step) for step in ("monitoring", "gpu-operator"))


def test_16_our_monitor_has_another_name_than_the_operator_s() -> None:
    assert OURS != EXPORTER == "nvidia-dcgm-exporter"
    assert {"monitor", "series"} <= checks("gpu-metrics")


def test_17_the_data_source_is_found_and_no_password_is_known() -> None:
    expect_nowhere(r"/api/datasources|admin-password|prom-operator")
    shipped = "".join(path.read_text() for path in values().glob("*.yaml"))
    assert not re.search(r"adminPassword|additionalDataSources|prom-operator", shipped)
    assert "data_source" in checks("monitoring")


def test_18_what_dashboards_and_rules_name_is_exported() -> None:
    exported = set(re.findall(r"(?m)^(DCGM_\w+),", (values() / "dcgm" / "counters.csv").read_text()))
    texts = {
        path.name: path.read_text() for kind in ("dashboards/*.json", "rules/*.yaml") for path in values().glob(kind)
    }
    named = {(name, field) for name, text in texts.items() for field in re.findall(r"DCGM_FI_\w+", text)}
    assert named
    assert sorted((name, field) for name, field in named if field not in exported) == []


def test_19_what_others_run_is_not_deleted_and_no_error_is_swallowed() -> None:
    ours = "roles/gpu_plugin/files/bring.sh"
    expect_nowhere(r"delete\s+(daemonset|ds)\b|\bnetstat\b|ignore_errors", but=ours)
    assert "get daemonsets -l app.kubernetes.io/managed-by=gpustack" in texts()[ours]
    # There the next task fails instead, with the words of what is no_log.
    expect_nowhere(r"failed_when: false", but="roles/workers/tasks/main.yml")
    assert "port" in checks("monitoring")
