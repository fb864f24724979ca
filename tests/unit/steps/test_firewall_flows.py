"""The table of flows as roles and checks get it."""

from gpustack.config.host import CONTROL_PLANE, NODE, Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.steps.firewall.flows import build_controller_entries, build_flow_entries, list_node_addresses, list_rules

NODES = ["10.0.0.2", "10.0.0.1"]


OPEN = Spec.model_validate({"firewall": {"sources": ["0.0.0.0/0"]}})
SITE = Spec.model_validate({"firewall": {"sources": ["192.0.2.0/24", "198.51.100.7"]}})


def list_ports(spec: Spec, sources: str, *, node_ports: bool = False) -> set[str]:
    return {
        f"{flow['proto']} {port}"
        for flow in build_flow_entries(spec, NODES, node_ports=node_ports)
        if flow["sources"] == sources and flow["to"] != "services"
        for port in flow["ports"]
    }


def test_ports_of_the_cluster_are_listed_by_source() -> None:
    assert list_ports(Spec(), "any") == list_ports(Spec(), "clients", node_ports=True) == set()
    assert list_ports(SITE, "clients") == {"tcp 6443", "tcp 10256"}
    assert list_ports(SITE, "clients", node_ports=True) - list_ports(SITE, "clients") == {
        "tcp 30000-32767", "udp 30000-32767",
    }  # fmt: skip
    metrics = {"tcp 2381", "tcp 10249", "tcp 10257", "tcp 10259"}
    assert list_ports(Spec(), "pods") == {"tcp 6443", "tcp 10250", "tcp 9100"} | metrics
    assert list_ports(Spec(), "nodes") == {"tcp 6443", "tcp 10250", "tcp 9100", "tcp 8081", "udp 8472"} | metrics


def test_settings_change_the_ports() -> None:
    quiet = Spec.model_validate({"kubernetes": {"metrics_bind": "127.0.0.1"}, "flannel": {"backend": "host-gw"}})
    assert list_ports(quiet, "nodes") == {"tcp 6443", "tcp 10250", "tcp 9100", "tcp 8081"}
    assert "udp 4789" in list_ports(Spec.model_validate({"flannel": {"port": 4789}}), "nodes")
    other_port = Spec.model_validate({"monitoring": {"node_exporter_port": 9101}})
    assert "tcp 9101" in list_ports(other_port, "pods")
    assert "tcp 9100" not in list_ports(other_port, "pods")


def test_addresses_are_listed_by_source() -> None:
    flows = {
        flow["sources"]: flow["addresses"] for flow in build_flow_entries(SITE, NODES) if flow["sources"] != "host"
    }
    assert flows == {
        "self": ["lo"], "any": ["0.0.0.0/0"], "pods": ["10.244.0.0/16"], "nodes": ["10.0.0.1/32", "10.0.0.2/32"],
        "clients": ["192.0.2.0/24", "198.51.100.7/32"],
    }  # fmt: skip


def test_a_host_sends_what_the_others_let_in() -> None:
    host_flows = [flow for flow in build_flow_entries(Spec(), NODES) if flow["sources"] == "host"]
    assert {flow["to"]: flow["addresses"] for flow in host_flows} == {
        "nodes": ["10.0.0.1/32", "10.0.0.2/32"], "pods": ["10.244.0.0/16"],
    }  # fmt: skip
    ports_ = {f"{flow['proto']} {port}" for flow in host_flows for port in flow["ports"]}
    assert ports_ == list_ports(Spec(), "nodes")
    assert {flow["roles"] for flow in host_flows} == {"all"}, "a worker calls the API server too"


def test_a_worker_lets_in_less() -> None:
    plane, worker = (
        list_rules(build_flow_entries(Spec(), NODES), control_plane=control_plane) for control_plane in (True, False)
    )
    assert worker < plane
    assert {"in tcp 10.0.0.2/32 6443", "in tcp 10.244.0.0/16 6443"} <= plane - worker
    assert not [rule for rule in plane if "0.0.0.0/0" in rule]
    assert {"in lo", "out lo", "forward from 10.244.0.0/16", "forward to 10.244.0.0/16"} <= worker
    assert {"out tcp 10.0.0.2/32 6443", "out udp 10.0.0.2/32 8472", "out any 10.244.0.0/16 all"} <= worker


def test_clients_that_may_be_anybody_stand_for_all() -> None:
    rules = list_rules(build_flow_entries(OPEN, NODES, node_ports=True), control_plane=True)
    assert {rule for rule in rules if rule.endswith(" 6443") and rule.startswith("in")} == {"in tcp 0.0.0.0/0 6443"}
    assert {"in tcp 0.0.0.0/0 10256", "in udp 0.0.0.0/0 30000-32767"} <= rules


def test_the_machine_that_installs_reaches_the_api_alone() -> None:
    (entry,) = build_controller_entries(Spec(), ["192.0.2.9", "192.0.2.10"])
    assert list_rules([*build_flow_entries(Spec(), NODES), entry], control_plane=True) - list_rules(
        build_flow_entries(Spec(), NODES), control_plane=True
    ) == {"in tcp 192.0.2.9/32 6443", "in tcp 192.0.2.10/32 6443"}
    assert build_controller_entries(Spec(), []) == []


def test_a_host_that_cannot_be_asked_keeps_its_address() -> None:
    hosts = (
        Host("a", "10.0.0.1", groups=frozenset({CONTROL_PLANE})),
        Host("b", "10.0.0.2", groups=frozenset({NODE})),
        Host(
            "c",
            "c.example.org",
            groups=frozenset({NODE}),
            spec=HostSpec.model_validate({"gpustack_node_ip": "10.9.0.3"}),
        ),
        Host("d", "d.example.org", groups=frozenset({NODE})),
    )
    addresses = list_node_addresses(Inventory(None, hosts, Spec()), {"a": "10.9.0.1"})
    assert addresses == ["10.9.0.1", "10.0.0.2", "10.9.0.3"]
