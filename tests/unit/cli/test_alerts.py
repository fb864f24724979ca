"""`alerts test`: what is printed and returned, before and after an alert was sent."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.transport.forward import PortForwarder
from gpustack.ask.transport.refusal import HostRefused
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.command import Command
from gpustack.config.spec import Spec
from gpustack.errors import GpustackError
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.proof import INGRESSES, SERVICES
from gpustack.proof.delivery import Arrival, Delivery, Trial
from tests.worlds.snapshots.proof_hosts import build_snapshot, read_case

runner = CliRunner()
RECEIVERS = {"default": [{"type": "webhook", "secret_file": "/nowhere/hook"}], "info": []}
ARRIVAL = Arrival("default-webhook", "webhook", "delivered")
DELIVERY = Delivery("any", "delivered", "", (ARRIVAL,), 1.1)


def build_services() -> Answer:
    """Build Services with Alertmanager in the place of Prometheus."""
    answer = read_case(SERVICES, "monitoring")
    return replace(
        answer, stdout=answer.stdout.replace("stack-prometheus", "stack-alertmanager").replace("9090", "9093")
    )


class Site:
    def __init__(self) -> None:
        self.dialled_addresses: list[tuple[str, int]] = []
        self.trials: list[Trial] = []
        self.refuse: Exception | None = None
        self.result = DELIVERY
        self.set_spec({"alerts": {"receivers": RECEIVERS}})

    def set_spec(self, spec: dict[str, Any]) -> None:
        snapshot = build_snapshot(
            [build_services(), read_case(INGRESSES, "grafana"), read_case(NODES, "control-plane")]
        )
        self.snapshot: Snapshot = replace(
            snapshot, inventory=replace(snapshot.inventory, spec=Spec.model_validate(spec))
        )

    def dial(self, address: str, port: int) -> Any:
        self.dialled_addresses.append((address, port))
        if self.refuse:
            raise self.refuse

        class Far:
            def close(self) -> None:
                pass

        return Far()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site()

    @contextmanager
    def open_forwarder(host: Any) -> Iterator[PortForwarder]:
        if isinstance(site.refuse, HostRefused):
            raise site.refuse
        forwarder = PortForwarder(site.dial)
        yield forwarder
        forwarder.close()

    def run_test(self: Trial) -> Delivery:
        site.trials.append(self)
        return replace(site.result, severity=self.severity)

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: site.snapshot.inventory)
    monkeypatch.setattr(session, "gather_all", lambda *_, **__: site.snapshot)
    monkeypatch.setattr("gpustack.proof.connect.open_forwarder", open_forwarder)
    monkeypatch.setattr(Trial, "run_test", run_test)
    return site


def expect_error(*words: str) -> GpustackError:
    error = runner.invoke(app, ["alerts", "test", *words]).exception
    assert isinstance(error, GpustackError), error
    return error


def test_a_delivered_alert_ends_with_0(site: Site) -> None:
    result = runner.invoke(app, ["alerts", "test", "--timeout", "20"])
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "critical: delivered to default-webhook by webhook in 1.1 s",
            "warning: delivered to default-webhook by webhook in 1.1 s",
            "info: to nobody, by the spec",
        ],
    )
    assert site.dialled_addresses == [("10.96.7.1", 9093)]
    assert [trial.severity for trial in site.trials] == ["critical", "warning"]
    trial = site.trials[0]
    assert (trial.limit, trial.cluster, trial.alertmanager.web.name) == (20, "gpustack", "Alertmanager")


def test_one_severity_can_be_tested_alone(site: Site) -> None:
    result = runner.invoke(app, ["alerts", "test", "-q", "--severity", "warning"])
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    error = expect_error("--severity", "info")
    assert (error.reference, error.message) == ("alerts-no-receiver", "Alerts of severity info have no receiver.")


@pytest.mark.parametrize(
    ("delivery", "code", "words"),
    [
        (Delivery("", "failed", "it is kept back"), 1, "explain alerts-not-delivered"),
        (Delivery("", "unknown", "it hung up", unresolved_reason="gone"), 8, "was not resolved: gone"),
        (Delivery("", "unknown", "interrupted", stop_reason="interrupted"), 130, "next: gpustack alerts test"),
    ],
)
def test_an_undelivered_alert_has_its_exit_status(site: Site, delivery: Delivery, code: int, words: str) -> None:
    site.result = delivery
    result = runner.invoke(app, ["alerts", "test", "-q"])
    assert result.exit_code == code
    assert delivery.reason in result.stdout
    assert words in result.stdout
    document = json.loads(runner.invoke(app, ["alerts", "test", "-q", "-o", "json"]).stdout)
    assert (document["outcome"], document["exit"]["code"]) == (delivery.outcome, code)
    assert document["severities"][0]["reason"] == delivery.reason
    assert len(site.trials) == (2 if delivery.stop_reason else 4)


@pytest.mark.parametrize(
    "spec",
    [{}, {"monitoring": {"enabled": False}, "alerts": {"receivers": RECEIVERS}}],
    ids=["nobody", "no monitoring"],
)
def test_without_a_receiver_nothing_is_asked(site: Site, monkeypatch: pytest.MonkeyPatch, spec: dict[str, Any]) -> None:
    site.set_spec(spec)
    monkeypatch.setattr(session, "gather_all", lambda *_, **__: pytest.fail("hosts were asked"))
    error = expect_error()
    assert (error.reference, error.code) == ("alerts-no-receiver", 2)
    assert error.hint == "gpustack explain alerts-no-receiver"


def test_an_unreachable_alertmanager_is_an_error(site: Site) -> None:
    site.refuse = ConnectionRefusedError("10.96.7.1:9093: Connect failed")
    error = expect_error()
    assert (error.reference, error.code, error.hint) == ("part-not-running", 4, "gpustack doctor")
    site.refuse = ConnectionRefusedError("10.96.7.1:9093: Administratively prohibited")
    error = expect_error()
    assert (error.reference, error.code) == ("forwarding-refused", 5)
    site.refuse = HostRefused(Reach("kube1", "host-ssh-unreachable", "no route to host", hint=Command("ping", "kube1")))
    error = expect_error()
    assert (error.reference, error.code) == ("host-ssh-unreachable", 4)
    assert site.trials == []


def test_a_missing_alertmanager_is_an_error(site: Site) -> None:
    site.snapshot = replace(build_snapshot([]), inventory=site.snapshot.inventory)
    assert expect_error().reference == "proof-no-api"
    empty = [
        replace(build_services(), stdout='{"items":[]}'),
        read_case(INGRESSES, "grafana"),
        read_case(NODES, "control-plane"),
    ]
    site.snapshot = replace(build_snapshot(empty), inventory=site.snapshot.inventory)
    assert (expect_error().reference, expect_error().code) == ("access-no-service", 2)
