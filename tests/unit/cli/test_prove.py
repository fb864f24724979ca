"""`prove` and `access`: what is printed and returned, before and after the hosts were asked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.forward import PortForwarder
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.errors import GpustackError
from gpustack.probes.kubernetes.nodes import NODES as KUBE_NODES
from gpustack.probes.proof import INGRESSES, NODES, SERVICES
from gpustack.proof import credential
from gpustack.proof.prove import Proof, Prover
from tests.worlds.programs.certificates import answer_proof
from tests.worlds.results import proofs
from tests.worlds.snapshots.proof_hosts import CALM, add_answers, build_snapshot, read_case

runner = CliRunner()
LOGIN = '{"admin-password":"aHVudGVyMg==","admin-user":"YWRtaW4="}'
NO_GPU = add_answers(Answer(NODES.id, CLUSTER, 0, '{"items":[]}'))


class Site:
    """Stand for hosts: their answers, the control plane's secrets, and connections that lead nowhere."""

    def __init__(self) -> None:
        self.snapshot: Snapshot = build_snapshot([*CALM, read_case(SERVICES, "monitoring")])
        self.certificate = Answer("kubeadm.kubeconfig", "kube1", 1, "", "no CA key")
        self.signed_answer = answer_proof("kube1", "kube.example.com")
        self.grafana = Answer("grafana.login", "kube1", 0, LOGIN)
        self.refuse = False
        self.doors: list[tuple[str, int]] = []

    def fetch_answers(self, host: Any, probes: Any, environment: Any) -> dict[str, Answer]:
        server = self.signed_answer["kubeadm.api_certificate"]
        return {"kubeadm.kubeconfig": self.certificate, server.probe: server, "grafana.login": self.grafana}

    def dial(self, address: str, port: int) -> Any:
        self.doors.append((address, port))
        raise ConnectionRefusedError(f"{address}:{port}: Administratively prohibited")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    site = Site()

    @contextmanager
    def open_forwarder(host: Any) -> Iterator[PortForwarder]:
        yield PortForwarder(site.dial)

    @contextmanager
    def change(hosts: Any, verb: str, hosts_to_lock: Any, report: Any) -> Iterator[Any]:
        class Run:
            folder, private, record = tmp_path, tmp_path, report
            lock = SimpleNamespace(holder="anna@desk")

            def find_stop_reason(self) -> str:
                return ""

            def keep_snapshot(self, answers_snapshot: Snapshot) -> None:
                pass

        run = Run()
        run.hosts = hosts  # type: ignore[attr-defined]
        yield run

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: site.snapshot.inventory)
    monkeypatch.setattr(session, "gather_all", lambda *_, **__: site.snapshot)
    monkeypatch.setattr(credential, "fetch_answers", site.fetch_answers)
    monkeypatch.setattr("gpustack.proof.connect.open_forwarder", open_forwarder)
    monkeypatch.setattr("gpustack.rollout.run.open_locked_run", change)
    return site


def expect_error(*words: str) -> GpustackError:
    error = runner.invoke(app, [*words]).exception
    assert isinstance(error, GpustackError), error
    return error


def test_no_gpu_is_nothing_to_prove(site: Site) -> None:
    site.snapshot = build_snapshot([*NO_GPU, Answer("gpu.devices", "h1", 0, "")])
    result = runner.invoke(app, ["prove"])
    assert result.exit_code == 0
    assert "no GPU: nothing to prove (0 NVIDIA devices on 2 hosts, 0 offered by nodes)" in result.stdout
    document = json.loads(runner.invoke(app, ["prove", "-o", "json"]).stdout)
    assert (document["proven"], document["gpus"], document["exit"]["code"]) == (False, [], 0)


def test_a_host_that_is_no_node_and_has_gpus_is_not_nothing(site: Site) -> None:
    site.snapshot = build_snapshot(NO_GPU)
    result = runner.invoke(app, ["prove"])
    assert result.exit_code == 8
    assert "h1: it has 2 NVIDIA devices, and is no node of the cluster" in " ".join(result.stdout.split())


def test_without_the_api_nothing_is_created(site: Site) -> None:
    site.snapshot = build_snapshot([])
    error = expect_error("prove")
    assert (error.reference, error.code) == ("proof-no-api", 4)


def test_without_a_certificate_nothing_is_created(site: Site) -> None:
    error = expect_error("prove")
    assert (error.reference, error.reason, error.code) == ("proof-no-certificate", "no CA key", 5)
    site.certificate = Answer("kubeadm.kubeconfig", "kube1", 0, "hello\n")
    assert expect_error("prove").reference == "proof-no-certificate"


@pytest.mark.long
def test_an_sshd_that_forwards_nothing_is_reported(site: Site) -> None:
    site.certificate = site.signed_answer["kubeadm.kubeconfig"]
    error = expect_error("prove")
    assert (error.reference, error.message) == (
        "forwarding-refused",
        "kube1 lets no connection through; nothing was created.",
    )
    assert site.doors == [("kube1", 6443)]


def test_a_certificate_that_does_not_name_the_endpoint_is_reported(site: Site) -> None:
    site.signed_answer = answer_proof("kube.example.com")
    site.certificate = site.signed_answer["kubeadm.kubeconfig"]
    error = expect_error("prove")
    assert (error.reference, error.reason) == ("proof-no-certificate", "it is for kube.example.com, and not for kube1")
    assert site.doors == []


@pytest.mark.parametrize(
    ("proof", "code"),
    [(proofs.make_good_proof(), 0), (proofs.make_mixed_proof(), 1), (proofs.make_interrupted_proof(), 130)],
)
def test_what_was_proven_is_printed_and_returned(
    site: Site, monkeypatch: pytest.MonkeyPatch, proof: Proof, code: int
) -> None:
    provers: list[Prover] = []
    monkeypatch.setattr("gpustack.proof.connect.connect_api", lambda *_: None)

    def prove(self: Prover, skipped_hosts: object) -> Proof:
        provers.append(self)
        return proof

    monkeypatch.setattr(Prover, "prove", prove)
    result = runner.invoke(app, ["prove", "--timeout", "60", "-q"])
    assert result.exit_code == code
    assert "GPUs on 2 nodes" in result.stdout
    (prover,) = provers
    assert (prover.timeout, [place.node for place in prover.places]) == (60, ["gpu1"])
    assert (prover.namespace, prover.author) == ("gpu-operator", "anna@desk")
    assert str(prover.prometheus).startswith("Prometheus was not reached: 10.96.7.1:9090: Administratively")
    assert str(prover.grafana).startswith("Grafana was not reached: 10.96.7.2:80: Administratively")
    assert "hunter2" not in result.stdout + result.stderr


def make_reachable(site: Site) -> None:
    site.snapshot = build_snapshot([read_case(SERVICES, "monitoring"), read_case(INGRESSES, "grafana"),
                           read_case(KUBE_NODES, "control-plane")])  # fmt: skip


def test_an_address_of_the_cluster_is_printed(site: Site) -> None:
    make_reachable(site)
    result = runner.invoke(app, ["access", "grafana"])
    assert result.exit_code == 0
    assert result.stdout == "https://grafana.example.com/\nhttp://10.78.0.11:30300\n"
    assert "--show-password" in result.stderr
    assert "hunter2" not in result.stdout + result.stderr
    assert site.doors == []


def test_the_password_is_shown_only_when_asked_for(site: Site) -> None:
    make_reachable(site)
    result = runner.invoke(app, ["access", "grafana", "--show-password"])
    assert result.stdout.startswith("user      admin\npassword  hunter2\nhttps://")
    site.grafana = Answer("grafana.login", "kube1", 1, "", "secrets is forbidden")
    error = expect_error("access", "grafana", "--show-password")
    assert (error.reference, error.reason) == ("access-no-login", "secrets is forbidden")


def test_a_port_that_cannot_be_forwarded_is_an_error(site: Site) -> None:
    make_reachable(site)
    assert expect_error("access", "prometheus").reference == "forwarding-refused"
    assert site.doors == [("10.96.7.1", 9090)]
    assert expect_error("access", "grafana", "--forward").reference == "forwarding-refused"


def test_a_service_that_is_not_installed_is_an_error(site: Site) -> None:
    make_reachable(site)
    error = expect_error("access", "alertmanager")
    assert (error.reference, error.code) == ("access-no-service", 2)
    site.snapshot = build_snapshot([])
    assert expect_error("access", "grafana").reference == "proof-no-api"


def test_a_port_is_forwarded_until_ctrl_c(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    make_reachable(site)

    class Far:
        def close(self) -> None:
            pass

    def press_ctrl_c(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(site, "dial", lambda address, port: Far())
    monkeypatch.setattr("gpustack.cli.commands.access.time.sleep", press_ctrl_c)
    opened_addresses: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened_addresses.append)
    result = runner.invoke(app, ["access", "prometheus", "--open"])
    assert result.exit_code == 0
    assert result.stdout.startswith("http://127.0.0.1:")
    assert opened_addresses == [result.stdout.strip()]
    assert "forwarded to monitoring/monitoring-prometheus; Ctrl-C ends it" in result.stderr
