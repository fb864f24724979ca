from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.view import View
from gpustack.probes.host.system import HOSTNAME
from gpustack.probes.standalone.units import ALERTMANAGER, DROP_IN, PROGRAMS
from gpustack.steps.standalone.files import File, build_monitoring, build_variables
from gpustack.steps.standalone.monitoring import STEP, build_installation
from gpustack.steps.standalone.rules import derive_rules
from tests.contract.promtool import run_promtool
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.judge import list_failures
from tests.worlds.snapshots.standalone import (
    build_installed_answers,
    build_snapshot,
    format_programs,
    judge,
    read_answers,
)


def build_view(spec: dict[str, Any] | None = None) -> View:
    return View(build_snapshot(read_answers(), spec), "w1")


def build_texts(spec: dict[str, Any] | None = None) -> dict[str, File]:
    files = [file for part in build_monitoring(build_view(spec)) for file in part.files]
    return {file.path.rpartition("/")[2].partition("-")[0]: file for file in files}


def test_a_prepared_host_passes() -> None:
    assert list_failures(judge(STEP)) == {}


def test_a_fresh_host_is_for_install() -> None:
    fresh = place_answers(
        "w1",
        read_case("standalone.programs", "nothing"),
        make_answer("standalone.watching", "== ready\n== rules\n== up\n== end\n"),
    )
    failures = list_failures(judge(STEP, fresh))
    assert set(failures) == {"packages-installed", "commands", "ready", "rules-loaded", "targets-scraped"}


def test_units_of_others_are_for_the_operator() -> None:
    text = build_installed_answers()["standalone.programs", "w1"].stdout.replace(
        "prometheus loaded active enabled yes", "prometheus loaded active enabled no"
    )
    assert list_failures(judge(STEP, place_answers("w1", make_answer("standalone.programs", text)))) == {
        "units-owned": ("prometheus", "operator")
    }


def test_a_job_that_is_not_scraped_is_a_fault_while_prometheus_runs() -> None:
    (result,) = (
        judgement.result for judgement in judge(STEP, down_target="dcgm-exporter").values() if judgement.result
    )
    assert (result.fault, result.actual) == ("standalone-not-scraped", "not dcgm-exporter")


def test_rules_of_another_release_are_for_install() -> None:
    text = build_installed_answers()["standalone.watching", "w1"].stdout.replace("/rules-", "/rules-0")
    assert set(list_failures(judge(STEP, place_answers("w1", make_answer("standalone.watching", text))))) == {
        "rules-loaded"
    }


@pytest.mark.parametrize(
    ("receiver", "actual"),
    [
        ({"type": "slack", "channel": "#a", "secret": "a/b"}, "default-slack: a Secret of a cluster"),
        ({"type": "webhook", "secret_file": "x"}, "default-webhook: Alertmanager of this system is older than 0.26"),
    ],
)
def test_receivers_without_a_file_are_for_the_operator(receiver: dict[str, str], actual: str) -> None:
    spec = {"alerts": {"receivers": {"default": [receiver]}}}
    assert list_failures(judge(STEP, spec=spec)) == {"receivers": (actual, "operator")}


@pytest.mark.parametrize(
    ("version", "missing"),
    [("0.26.0+ds-1", "default-msteams: Alertmanager of this system is older than 0.28"), ("0.28.1+ds-4", "")],
)
def test_teams_needs_the_alertmanager_that_knows_it(version: str, missing: str) -> None:
    receivers = {"default": [{"type": "msteams", "secret_file": "x"}]}
    text = read_case("standalone.programs", "nothing").stdout.replace(
        "== packages\n", f"== packages\nprometheus-alertmanager install installed {version}\n"
    )
    answers = place_answers("w1", make_answer("standalone.programs", text))
    failures = list_failures(judge(STEP, answers, {"alerts": {"receivers": receivers}}))
    assert failures.get("receivers", ("", ""))[0] == missing


def test_secrets_that_differ_are_for_install() -> None:
    text = build_installed_answers()["standalone.programs", "w1"].stdout.replace(
        "== secrets\n", "== secrets\ndefault-slack other\n"
    )
    failures = list_failures(judge(STEP, place_answers("w1", make_answer("standalone.programs", text))))
    assert failures == {"secrets": ("not default-slack", "install")}


def test_rules_that_need_kubernetes_are_left_out_and_all_others_are_as_in_a_cluster() -> None:
    rules = [rule for group in derive_rules(build_view())["groups"] for rule in group["rules"]]
    alerts = {rule["alert"] for rule in rules if "alert" in rule}
    assert {"GpuXidCritical", "GpuEccUncorrected", "GpuMetricsAbsent", "GpuLost", "GpuHwThermalSlowdown"} <= alerts
    assert not {"GpuPodsPending", "GpuAllocationHigh", "KubeletCertificateExpiring", "GpuOperandNotReady"} & alerts
    assert not any("kube_" in rule["expr"] or "{host}" in rule["expr"] for rule in rules)


def test_prometheus_takes_the_rules() -> None:
    assert run_promtool("check", "rules", stdin=build_texts()["rules"].text) == ""


def test_a_host_whose_exporter_is_silent_gets_the_alert_of_it(tmp_path: Path) -> None:
    """Prometheus' own evaluation of the derived rules."""
    rules = build_texts()["rules"].text
    host = build_view()[HOSTNAME]
    case = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "30s",
        "tests": [
            {
                "interval": "30s",
                "input_series": [{"series": f'up{{job="dcgm-exporter",node="{host}"}}', "values": "0x60"}],
                "alert_rule_test": [
                    {
                        "eval_time": "10m",
                        "alertname": "GpuMetricsAbsent",
                        "exp_alerts": [
                            {
                                "exp_labels": {"severity": "critical", "node": host},
                                "exp_annotations": read_annotations("GpuMetricsAbsent", host),
                            }
                        ],
                    }
                ],
            }
        ],
    }
    (tmp_path / "rules.yaml").write_text(rules)
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(case))
    assert run_promtool("test", "rules", tmp_path / "case.yaml") == ""


def test_the_results_of_the_diagnostic_are_the_times_of_files(tmp_path: Path) -> None:
    """Prometheus' own evaluation of the derived rules. node_exporter 1.5.0 of Debian 12 printed these series of empty
    files; its later versions print the whole path, too."""
    host = build_view()[HOSTNAME]
    times = {"passed": 60, "failed": 120, "skipped": 0, "unknown": 0, "since": 30}
    series = 'node_textfile_mtime_seconds{{file="/var/lib/prometheus/node-exporter/gpu-care-{}.prom",node="{}"}}'
    probes: dict[str, list[tuple[str, float]]] = {
        "gpustack:node_care_result:info": [(f'gpustack:node_care_result:info{{node="{host}",result="failed"}}', 1)],
        "gpustack:node_care_age:seconds": [(f'gpustack:node_care_age:seconds{{node="{host}"}}', 540.0)],
        "count by (alertname) (ALERTS{alertname=~'GpuCare.+'})": [('{alertname="GpuCareFailed"}', 1)],
    }
    case = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": series.format(name, host), "values": f"{time}x20"} for name, time in times.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": expr,
                        "eval_time": "10m",
                        "exp_samples": [{"labels": labels, "value": value} for labels, value in samples],
                    }
                    for expr, samples in probes.items()
                ],
            }
        ],
    }
    (tmp_path / "rules.yaml").write_text(build_texts()["rules"].text)
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(case))
    assert run_promtool("test", "rules", tmp_path / "case.yaml") == ""


def read_annotations(alert: str, host: str) -> dict[str, str]:
    rules = (rule for group in derive_rules(build_view())["groups"] for rule in group["rules"])
    (annotations,) = (rule["annotations"] for rule in rules if rule.get("alert") == alert)
    return {name: text.replace("{{ $labels.node }}", host) for name, text in annotations.items()}


def test_an_old_prometheus_gets_rules_that_it_can_read() -> None:
    edits = (("ID=debian", "ID=ubuntu"), ('VERSION_ID="12"', 'VERSION_ID="22.04"'))
    world = read_answers() | place_answers("w1", read_case("system.os", "prepared-debian-12", *edits))
    rules = [rule for group in derive_rules(View(build_snapshot(world), "w1"))["groups"] for rule in group["rules"]]
    assert not any("keep_firing_for" in rule for rule in rules)


def test_everything_listens_on_loopback_and_every_file_is_in_a_command() -> None:
    """A file that a configuration names is in the command by the digest of that configuration."""
    for component in build_monitoring(build_view()):
        assert "--web.listen-address=127.0.0.1:" in component.command
    part = build_variables(build_installation(build_view()))
    used_texts = " ".join(command["command"] for command in part["commands"])
    used_texts += "".join(build_texts()[name].text for name in ("prometheus", "alertmanager"))
    assert [file["path"] for file in part["files"] if file["path"] not in used_texts] == []


PROXY = {"http": "http://p:3128"}
LOGIN = {"user": "kube", "password_file": "/p"}


def build_outside(version: str, proxy: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the configuration of an Alertmanager of this version, and the drop-in of its unit."""
    programs = format_programs([]).replace("0.25.0-1", version)
    answers = {**read_answers(), **place_answers("w1", make_answer("standalone.programs", programs))}
    view = View(build_snapshot(answers, {"proxy": proxy}), "w1")
    assert view[PROGRAMS].packages[ALERTMANAGER].version == version
    (file,) = (file for part in build_monitoring(view) for file in part.files if "/alertmanager-" in file.path)
    drop_ins = {entry["path"]: entry["text"] for entry in build_variables(build_installation(view))["drop_ins"]}
    return yaml.safe_load(file.text), drop_ins[DROP_IN.format(ALERTMANAGER)]


def test_receivers_are_reached_through_the_proxy() -> None:
    config, drop_in = build_outside("0.28.1+ds-4", PROXY)
    assert config["global"] == {"http_config": {"proxy_from_environment": True}}
    assert "EnvironmentFile=/etc/gpustack-cluster/proxy.env\n" in drop_in
    assert "global" not in yaml.safe_load(build_texts()["alertmanager"].text)


def test_an_older_alertmanager_gets_the_address_of_the_proxy() -> None:
    config, _ = build_outside("0.25.0+ds-1", PROXY)
    assert config["global"] == {"http_config": {"proxy_url": "http://p:3128"}}


def test_an_older_alertmanager_has_no_login_for_the_proxy() -> None:
    """The configuration can be read by everybody on the host."""
    receivers = {"default": [{"type": "slack", "channel": "#a", "secret_file": "x"}]}
    spec = {"alerts": {"receivers": receivers}, "proxy": {**PROXY, **LOGIN}}
    failures = list_failures(judge(STEP, place_answers("w1", read_case("standalone.programs", "nothing")), spec))
    assert failures["receivers"][0].endswith("default-slack: Alertmanager of this system is older than 0.26")


@pytest.mark.parametrize(
    ("word", "expected"), [("other", ("a different one", "install")), ("none", ("none", "install"))]
)
def test_an_alertmanager_with_another_proxy_is_drift(word: str, expected: tuple[str, str]) -> None:
    answers = place_answers("w1", make_answer("egress.daemons", f"prometheus-alertmanager {word}\n"))
    assert list_failures(judge(STEP, answers, {"proxy": PROXY})) == {"proxy": expected}
