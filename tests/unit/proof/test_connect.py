"""A command reaches the monitoring through a control plane, or on the only host without Kubernetes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.forward import PortForwarder
from gpustack.config.host import STANDALONE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import GpustackError, UnreachableError, UsageError
from gpustack.events import ignore_event
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.proof import INGRESSES, SERVICES
from gpustack.proof import connect
from tests.worlds.snapshots.proof_hosts import build_snapshot, read_case

ANSWERS = [read_case(SERVICES, "monitoring"), read_case(INGRESSES, "grafana"), read_case(NODES, "control-plane")]
ALONE = Host("gpu1", "192.0.2.1", groups=frozenset({STANDALONE}))


class Site:
    """Hosts that answer as `snapshot`; `doors` are the forwarded addresses, and the host that forwarded them."""

    def __init__(self) -> None:
        self.snapshot = build_snapshot(ANSWERS)
        self.doors: list[tuple[str, str, int]] = []

    def gather(self, *_: object, **__: object) -> Snapshot:
        return self.snapshot

    @contextmanager
    def open_forwarder(self, host: Host) -> Iterator[PortForwarder]:
        def dial(address: str, port: int) -> Any:
            self.doors.append((host.name, address, port))
            return Channel()

        with closing(PortForwarder(dial)) as forwarder:
            yield forwarder


class Channel:
    def close(self) -> None:
        pass


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site()
    monkeypatch.setattr(connect, "gather", site.gather)
    monkeypatch.setattr(connect, "open_forwarder", site.open_forwarder)
    return site


def test_the_prometheus_of_a_cluster_is_reached_through_its_control_plane(site: Site) -> None:
    with connect.open_prometheus(site.snapshot.inventory, ignore_event) as prometheus:
        assert prometheus.access.url.startswith("http://127.0.0.1:")
    assert site.doors == [("kube1", "10.96.7.1", 9090)]


def test_the_prometheus_of_a_host_without_kubernetes_is_on_its_loopback(site: Site) -> None:
    with connect.open_prometheus(Inventory(Path("hosts.yml"), (ALONE,), Spec()), ignore_event) as prometheus:
        assert prometheus.access.url.startswith("http://127.0.0.1:")
    assert site.doors == [("gpu1", "127.0.0.1", 9090)]


def test_an_exporter_comes_with_the_names_of_the_nodes(site: Site) -> None:
    site.snapshot = build_snapshot([read_case(SERVICES, "two-hosts"), *ANSWERS[1:]])
    with connect.open_exporter(site.snapshot.inventory, ignore_event) as (address, _, node_names):
        assert (address, node_names) == ("127.0.0.1", frozenset({"k1", "k2"}))
    with connect.open_exporter(Inventory(Path("hosts.yml"), (ALONE,), Spec()), ignore_event) as (_, _, node_names):
        assert node_names == frozenset()
    assert [number for *_, number in site.doors] == [9400, 9400]


def refuse(inventory: Inventory, part: Any) -> GpustackError:
    with pytest.raises(GpustackError) as excinfo, connect.open_part(part, inventory, ignore_event):
        raise AssertionError
    return excinfo.value


def test_without_an_answer_nothing_is_forwarded(site: Site) -> None:
    site.snapshot = build_snapshot([], lost_hosts={"kube1": "no route", "h1": "no route"})
    error = refuse(site.snapshot.inventory, "prometheus")
    assert isinstance(error, UnreachableError)
    assert (error.reference, error.reason) == ("host-ssh-unreachable", "kube1: no route\nh1: no route")
    site.snapshot = build_snapshot([])
    assert refuse(site.snapshot.inventory, "prometheus").reference == "proof-no-api"
    assert site.doors == []


def test_a_host_without_kubernetes_has_no_grafana(site: Site) -> None:
    error = refuse(Inventory(Path("hosts.yml"), (ALONE,), Spec()), "grafana")
    assert isinstance(error, UsageError)
    assert error.reason == "Hosts without Kubernetes have no grafana."
    two = Inventory(Path("hosts.yml"), (ALONE, Host("gpu2", "192.0.2.2", groups=frozenset({STANDALONE}))), Spec())
    assert refuse(two, "prometheus").reason.startswith("Each of these hosts has a Prometheus of its own")
    assert site.doors == []
