"""A snapshot under pseudonyms: nothing of the old names is left, and it is judged as before."""

import json
import re
import time
from dataclasses import replace

import pytest

from gpustack.ask.addresses import Addresses
from gpustack.ask.probe import Answer
from gpustack.ask.recording import render_lines
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose, list_probes
from gpustack.doctor.finding import Diagnosis
from gpustack.rollout.anonymize import Pseudonyms, anonymize, remove_secrets
from gpustack.rollout.overlay import build_cluster_variables
from tests.worlds.snapshots import cluster, gpus, hosts
from tests.worlds.snapshots.answers import read_case

FORWARDING_OFF = read_case("kernel.sysctls", "prepared-debian-12", ("net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"))
SNAPSHOTS = {
    "hosts": lambda: hosts.build_snapshot({("kernel.sysctls", "h1"): FORWARDING_OFF}),
    "cluster": cluster.build_snapshot,
    "gpus": gpus.build_snapshot,
}


def summarize_verdict(diagnosis: Diagnosis) -> dict[str, object]:
    """Summarize a diagnosis with places by their number, as names differ."""
    order = {host.name: index for index, host in enumerate(diagnosis.snapshot.inventory.hosts)}

    def number_locations(locations: tuple[str, ...]) -> tuple[object, ...]:
        return tuple(order.get(location, location) for location in locations)

    return {
        "roots": [(root.id, number_locations(root.locations), root.certainty) for root in diagnosis.roots],
        "unexplained": [
            (symptom.id, number_locations(symptom.locations)) for symptom in diagnosis.unexplained_symptoms
        ],
        "drift": [(drift.step, drift.check, number_locations(drift.locations)) for drift in diagnosis.drift],
        "judged": {
            (id, order.get(location, location)): judgement.outcome
            for (id, location), judgement in diagnosis.judgements.items()
        },
    }


def render_text(snapshot: Snapshot) -> str:
    return "".join(render_lines(snapshot))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_the_verdict_is_the_same(name: str) -> None:
    snapshot = SNAPSHOTS[name]()
    anonymous, _ = anonymize(snapshot, list_probes())
    assert summarize_verdict(diagnose(anonymous)) == summarize_verdict(diagnose(snapshot))


def test_what_was_brought_with_an_address_in_it_is_still_what_would_be_brought() -> None:
    """The operator's own values of a chart: the release carries their digest."""
    cluster_snapshot = cluster.build_snapshot()
    values = {"monitoring": {"grafana": {"grafana.ini": {"server": {"domain": "10.9.8.7"}}}}}
    snapshot_with_values = replace(cluster_snapshot, inventory=replace(cluster_snapshot.inventory, values=values))
    (before, digest_now) = (
        build_cluster_variables(each_snapshot)["gpustack_releases"]["monitoring"]["digest"]
        for each_snapshot in (cluster_snapshot, snapshot_with_values)
    )
    answers = {
        key: replace(answer, stdout=answer.stdout.replace(before, digest_now))
        for key, answer in cluster_snapshot.answers.items()
    }
    snapshot = replace(snapshot_with_values, answers=answers)
    anonymous, _ = anonymize(snapshot, list_probes())
    assert digest_now not in render_text(anonymous)
    assert summarize_verdict(diagnose(anonymous)) == summarize_verdict(diagnose(snapshot))
    assert ("monitoring", "released") not in {(drift.step, drift.check) for drift in diagnose(anonymous).drift}


def test_secrets_among_values_are_gone_and_the_verdict_is_the_same() -> None:
    """The inventory was read before such values were refused."""
    cluster_snapshot = cluster.build_snapshot()
    values = {"monitoring": {"grafana": {"adminPassword": "figleaf", "note": "it is fig-leaf-77"}}}
    inventory = replace(cluster_snapshot.inventory, values=values, file_secrets=("fig-leaf-77",))
    snapshot_with_values = replace(cluster_snapshot, inventory=inventory)
    (before, digest_now) = (
        build_cluster_variables(each_snapshot)["gpustack_releases"]["monitoring"]["digest"]
        for each_snapshot in (cluster_snapshot, snapshot_with_values)
    )
    answers = {
        key: replace(answer, stdout=answer.stdout.replace(before, digest_now))
        for key, answer in cluster_snapshot.answers.items()
    }
    snapshot = replace(snapshot_with_values, answers=answers)
    shared_snapshot = remove_secrets(snapshot)
    assert "figleaf" not in render_text(shared_snapshot)
    assert "fig-leaf-77" not in render_text(shared_snapshot)
    assert shared_snapshot.inventory.values == {
        "monitoring": {"grafana": {"adminPassword": "REDACTED", "note": "it is REDACTED"}}
    }
    shared_again = replace(shared_snapshot, inventory=replace(shared_snapshot.inventory, file_secrets=()))
    assert render_text(remove_secrets(shared_again)) == render_text(shared_again)
    assert summarize_verdict(diagnose(shared_snapshot)) == summarize_verdict(diagnose(snapshot))
    assert ("monitoring", "released") not in {(drift.step, drift.check) for drift in diagnose(shared_snapshot).drift}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_no_address_or_name_of_a_host_is_left(name: str) -> None:
    snapshot = SNAPSHOTS[name]()
    anonymous, pseudonyms = anonymize(snapshot, list_probes())
    output = render_text(anonymous)
    assert pseudonyms.unchanged_names == ()
    for host in snapshot.inventory.hosts:
        assert not re.search(rf"(?<![A-Za-z0-9]){re.escape(host.name)}(?![A-Za-z0-9])", output)
        assert host.address not in output
    macs = {
        mac
        for mac in re.findall(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", render_text(snapshot))
        if not int(mac[:2], 16) & 1
    }
    assert [mac for mac in macs - {"00:00:00:00:00:00"} if mac in output] == []


def build_planted(*texts: str) -> Snapshot:
    snapshot = hosts.build_snapshot()
    answers = {("planted", "h1"): Answer("planted", "h1", 0, "\n".join(texts), "\n".join(texts))}
    renamed = tuple(replace(host, address=f"{host.name}.corp.acme.org") for host in snapshot.inventory.hosts)
    inventory = replace(snapshot.inventory, hosts=renamed)
    return Snapshot(snapshot.started_at, inventory, snapshot.reach, {**snapshot.answers, **answers}, snapshot.seconds)


def list_output(*texts: str) -> list[str]:
    anonymous, _ = anonymize(build_planted(*texts), list_probes())
    return anonymous.answers["planted", anonymous.inventory.hosts[0].name].stdout.splitlines()


def test_the_same_is_the_same_everywhere() -> None:
    first_text, two, three, text_ = list_output(
        "10.9.8.7",
        "x=10.9.8.7:6443,",
        r"{\"a\":\"b\n10.9.8.7\"}",
        "from 10.9.8.7/32 dev h1 mac 52:54:00:ab:cd:ef on h1.corp.acme.org",
    )
    assert first_text != "10.9.8.7"
    assert (two, three) == (f"x={first_text}:6443,", rf"{{\"a\":\"b\n{first_text}\"}}")
    assert text_.startswith(f"from {first_text}/32 dev host01 mac 02:")
    assert text_.endswith(" on host01.domain1.example")


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "0.0.0.0/0", "::1", "::", "169.254.20.10", "224.0.0.22", "255.255.255.0", "10.96.0.1",
        "10.244.3.7", "2.3.7-1~debian.12", "1.36.4", "12:34:56", "0000:65:00.0", "ff:ff:ff:ff:ff:ff",
        "33:33:00:00:00:01", "1.3.6.1.5.5.7", "registry.k8s.io", "kubernetes.default.svc.cluster.local",
        "node-exporter", "999.1.1.1",
    ],
)  # fmt: skip
def test_what_says_nothing_of_a_site_stays(text: str) -> None:
    assert list_output(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "10.9.8.7", "192.168.3.4", "172.16.0.9", "8.8.4.4", "2a00:1450:4001:82a::200e", "fe80::5054:ff:feab:cdef",
        "fd12:3456:789a::1", "52:54:00:AB:CD:EF", "h1", "etcd-h1", "H1", "h2.corp.acme.org", "db-7.corp.acme.org",
        "corp.acme.org",
    ],
)  # fmt: skip
def test_what_says_something_goes(text: str) -> None:
    assert text.lower() not in list_output(f"a {text}, b")[0].lower()


def test_networks_keep_their_members() -> None:
    from ipaddress import ip_address, ip_network

    net, inside_text, outside_text, wide, six, of_six = list_output(
        "192.168.7.0/24", "192.168.7.33", "192.168.9.33", "172.20.16.0/20", "2a00:1450::/32", "2a00:1450:4001::5"
    )
    assert ip_address(inside_text) in ip_network(net)
    assert ip_address(outside_text) not in ip_network(net)
    assert inside_text.endswith(".33")
    assert ip_network(wide).is_private
    assert ip_address(of_six) in ip_network(six)


def test_pseudonyms_differ_from_file_to_file() -> None:
    assert len({list_output("10.9.8.7")[0] for _ in range(4)}) > 1


def test_a_name_that_is_a_word_of_ours_stays_and_is_reported() -> None:
    snapshot = hosts.build_snapshot()
    renamed = tuple(
        replace(host, name="containerd" if host.name == "h2" else host.name) for host in snapshot.inventory.hosts
    )
    odd = Snapshot(snapshot.started_at, replace(snapshot.inventory, hosts=renamed), {}, {}, 0)
    anonymous, pseudonyms = anonymize(odd, list_probes())
    assert pseudonyms.unchanged_names == ("containerd",)
    assert [host.name for host in anonymous.inventory.hosts] == ["host01", "containerd"]


def test_many_names_cost_little() -> None:
    names = {f"gpu-node-{number}": f"host{number}" for number in range(5_000)}
    pseudonyms = Pseudonyms(Addresses(b"", ()), names, {}, ())
    began = time.process_time()
    text = pseudonyms.replace_in("pod on gpu-node-4321, of gpu-node-43, no gpu-node-99999\n" * 5_000)
    assert text.startswith("pod on host4321, of host43, no gpu-node-99999\n")
    assert time.process_time() - began < 5


def test_secrets_are_gone_as_well() -> None:
    anonymous, _ = anonymize(
        build_planted("password: hunter2hunter2", "curl http://u:s3cr3t99@10.9.8.7/"), list_probes()
    )
    output = render_text(anonymous)
    assert not {word for word in ("hunter2hunter2", "s3cr3t99", "10.9.8.7") if word in output}
    assert all(json.loads(line) for line in output.splitlines())
