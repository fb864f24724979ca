"""Services on a host: rules, their program, and a connection."""

import json
from collections.abc import Mapping

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks import pod_paths as pod_ways
from tests.unit.doctor.checks.evaluation import evaluate, judge_cluster
from tests.unit.doctor.checks.start_times import start_api_server
from tests.unit.doctor.states.objects import make_crash_loop
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, make_list, place_answers, read_case
from tests.worlds.snapshots.firewall import OPEN, format_rules


def judge_proxy(id: str, answers: Mapping[tuple[str, str], Answer], **spec: object) -> tuple[str, str]:
    member = place_answers("k1", read_case("leftovers.kubernetes", "worker-of-ours"))
    return judge_cluster(id, member | dict(answers), spec=spec)


def build_rules(health: int, nft: str, table: str = "no") -> dict[tuple[str, str], Answer]:
    stdout = f"== health\n{health}\n== legacy\n0 0 0\n== nft\n{nft}\n== table\n{table}\n"
    return place_answers("k1", make_answer("kube-proxy.host", stdout))


@pytest.mark.parametrize(
    ("health", "nft", "expected"),
    [
        (0, "2 15 105", ("ok", "in the kernel")),
        (0, "2 0 90", ("failed", "no rule in KUBE-SERVICES")),
        (0, "1 15 104", ("failed", "1 of 2 jumps into KUBE-SERVICES")),
        (7, "2 15 105", ("failed", "not listening")),
        (28, "2 15 105", ("ok", "in the kernel")),
    ],
)
def test_missing_rules_fail_unless_kube_proxy_listens(health: int, nft: str, expected: tuple[str, str]) -> None:
    assert judge_proxy("kube-proxy-down", build_rules(health, nft)) == expected


@pytest.mark.parametrize(
    ("case", "person"),
    [
        ("two-hosts", ""),
        ("none", "the cluster has no DaemonSet kube-proxy"),
        ("kept-away", "excludes nodes"),
        ("selected", "excludes nodes"),
    ],
)
def test_one_that_its_daemon_set_keeps_away_comes_by_no_restart(case: str, person: str) -> None:
    daemon_set = place_answers(CLUSTER, read_case("kube-proxy.daemon-set", case))
    member = place_answers("k1", read_case("leftovers.kubernetes", "worker-of-ours"))
    answers = member | build_rules(7, "2 15 105") | daemon_set
    result = evaluate("kube-proxy-down", cluster.build_snapshot(answers), "k1").result
    assert result
    assert person in result.person
    assert bool(person) == bool(result.person)


NO_HISTORY = {("pods.system", CLUSTER): Answer("pods.system", CLUSTER, -1, "", missing_reason="not asked")}


def make_pods(case: str) -> Answer:
    """Make the pods of kube-system: as recorded, without those of kube-proxy (`none`), or where that of k1 ended as in
    kubernetes/kubernetes#141943 (`conntrack`)."""
    items = json.loads(read_case("pods.system", "two-hosts").stdout)["items"]
    if case == "none":
        items = [pod for pod in items if pod["metadata"]["labels"].get("k8s-app") != "kube-proxy"]
    for pod in items if case == "conntrack" else ():
        if pod["metadata"]["name"] == "kube-proxy-7hk2x":
            pod["status"]["containerStatuses"] = [make_crash_loop("kube-proxy", 1)]
    return make_list("pods.system", items)


@pytest.mark.parametrize(
    ("health", "nft", "pods", "error", "certain", "end"),
    [
        (7, "2 15 105", "two-hosts", "usual", True, "not listening"),
        (7, "2 15 105", "two-hosts", "none", True, "not listening"),
        (7, "2 15 105", "two-hosts", "without-time", False, 'nodeport-addresses primary`"'),
        (0, "2 0 90", "conntrack", "conntrack", True, "no rule in KUBE-SERVICES"),
        (7, "2 15 105", "conntrack", "conntrack", False, 'nf_conntrack_max: permission denied"'),
        (7, "2 0 90", "conntrack", "conntrack", False, 'nf_conntrack_max: permission denied"'),
        (7, "2 15 105", "conntrack", "none", False, "ended with exit code 1 (Error), 7 restarts"),
        (7, "2 15 105", "two-hosts", "wrong-api-address", False, 'i/o timeout" logger="UnhandledError"'),
        (7, "2 15 105", "none", "usual", False, "no pod of it on this node"),
    ],
)
def test_a_restart_is_offered_to_one_that_did_not_end_by_itself(
    health: int, nft: str, pods: str, error: str, certain: bool, end: str
) -> None:
    """kubernetes/kubernetes#141943 ends again after each restart, and so does one with a wrong address of the API."""
    member = place_answers("k1", read_case("leftovers.kubernetes", "worker-of-ours"))
    history = place_answers("k1", read_case("kube-proxy.last-error", error))
    history |= place_answers(CLUSTER, make_pods(pods))
    snapshot = cluster.build_snapshot(member | build_rules(health, nft) | history)
    result = evaluate("kube-proxy-down", snapshot, "k1").result
    assert result
    assert (result.certain, not result.person) == (certain, certain)
    assert result.actual.endswith(end)


def test_a_silent_kube_proxy_without_its_history_is_not_certain() -> None:
    member = place_answers("k1", read_case("leftovers.kubernetes", "worker-of-ours"))
    result = evaluate(
        "kube-proxy-down", cluster.build_snapshot(member | build_rules(7, "2 15 105") | NO_HISTORY), "k1"
    ).result
    assert result
    assert not result.certain


def test_a_kube_proxy_that_nobody_could_start_is_unknown() -> None:
    silent = {("kubelet.health", "k1"): Answer("kubelet.health", "k1", 7, "")}
    assert judge_proxy("kube-proxy-down", build_rules(7, "2 15 105") | silent)[0] == "unknown"
    bare = place_answers("k1", read_case("leftovers.kubernetes", "fresh-debian-12"))
    assert judge_proxy("kube-proxy-down", build_rules(7, "0 0 0") | bare) == (
        "ok",
        "the host is not in a cluster yet",
    )
    mark = place_answers("k1", make_answer("kubeadm.files", "600 /etc/kubernetes/gpustack-kubeadm.yaml.unfinished\n"))
    assert judge_proxy("kube-proxy-down", build_rules(7, "0 0 0") | mark)[0] == "unknown"


def test_the_nftables_mode_is_judged_by_its_table() -> None:
    mode = {"mode": "nftables", "conntrack": {"max_per_core": 0, "min": 0}}
    assert judge_proxy("kube-proxy-down", build_rules(0, "0 0 0", "yes"), kube_proxy=mode)[0] == "ok"
    assert judge_proxy("kube-proxy-down", build_rules(0, "0 0 0"), kube_proxy=mode) == (
        "failed",
        "no table kube-proxy",
    )


def build_paths(api: str, service: str) -> dict[tuple[str, str], Answer]:
    stdout = f"api 10.78.0.11:6443 {api}\nservice 10.96.0.1:443 {service}\n"
    host = pod_ways.make_paths({} if api.startswith("0 ") else {"api": "timeout"}, {})
    return {("reach.api", "k1"): make_answer("reach.api", stdout), ("pod-network.paths", "k1"): host}


LATE = "28 0.000000 Connection timed out after 4001 milliseconds"
REFUSED_CONNECTION = "7 0.000000 Failed to connect to 10.78.0.11 port 6443: Connection refused"
API_DOWN = {("kube.readyz", CLUSTER): Answer("kube.readyz", CLUSTER, 7, "", "curl: (7) Failed to connect")}


@pytest.mark.parametrize(
    ("api", "service", "readyz", "endpoint", "address"),
    [
        ("0 0.001000 ", "0 0.001000 ", {}, "ok", "ok"),
        ("0 0.001000 ", LATE, {}, "ok", "failed"),
        (LATE, LATE, {}, "failed", "unknown"),
        (REFUSED_CONNECTION, REFUSED_CONNECTION, {}, "failed", "unknown"),
        (REFUSED_CONNECTION, REFUSED_CONNECTION, API_DOWN, "ok", "unknown"),
        ("6 0.000000 Could not resolve host: api", LATE, {}, "failed", "unknown"),
    ],
)
def test_paths_to_the_api_are_judged_apart(
    api: str, service: str, readyz: dict[tuple[str, str], Answer], endpoint: str, address: str
) -> None:
    """Refused by a server that is down is another fault than refused by a firewall."""
    answers = build_paths(api, service) | readyz
    assert judge_proxy("join-endpoint-unreachable", answers)[0] == endpoint
    assert judge_proxy("st-service-ip-broken", answers)[0] == address


@pytest.mark.parametrize(("age", "outcome"), [(40, "unknown"), (65, "failed")])
def test_of_an_api_server_that_was_started_anew_kube_proxy_has_to_hear(age: int, outcome: str) -> None:
    restarted_server = start_api_server(age)
    paths = build_paths("0 0.004000 ", REFUSED_CONNECTION)
    assert judge_proxy("st-service-ip-broken", paths | restarted_server)[0] == outcome
    refused_path = {("pod-network.paths", "k1"): pod_ways.make_paths({}, {"service": "refused"})}
    assert judge_proxy("st-api-from-pods-timeout", refused_path | restarted_server)[0] == outcome
    silent = {("pod-network.paths", "k1"): pod_ways.make_paths({}, {"service": "timeout"})}
    assert judge_proxy("st-api-from-pods-timeout", silent | restarted_server)[0] == "failed"


def test_an_api_server_that_takes_connections_and_says_nothing_is_reached() -> None:
    """curl had no TLS of it, and a plain connection was made."""
    usual_paths = {("pod-network.paths", "k1"): pod_ways.make_paths({}, {})}
    silent = {("pod-network.paths", "k1"): pod_ways.make_paths({"api": "timeout"}, {})}
    assert judge_proxy("join-endpoint-unreachable", build_paths(LATE, LATE) | usual_paths) == (
        "ok",
        "established, but without a response",
    )
    assert judge_proxy("join-endpoint-unreachable", build_paths(LATE, LATE) | silent)[0] == "failed"


def test_a_rule_of_the_host_that_stops_it_is_quoted() -> None:
    drop = f"{OPEN}-A OUTPUT -d 10.78.0.11/32 -p tcp -m tcp --dport 6443 -j DROP\n"
    route = "192.0.2.1 via 10.78.0.1 dev host0 src 10.78.0.11 uid 0 \\    cache\n"
    filtered_rules = place_answers(
        "k1", make_answer("firewall.live", format_rules(drop)), make_answer("network.address", route)
    )
    outcome, actual = judge_proxy("join-endpoint-unreachable", build_paths(LATE, LATE) | filtered_rules)
    assert outcome == "failed"
    assert "6443 -j DROP" in actual
    lost_rules = place_answers("k1", make_answer("firewall.live", "", 1))
    assert judge_proxy("join-endpoint-unreachable", build_paths(LATE, LATE) | lost_rules) == (
        "failed",
        LATE.partition(" 0.000000 ")[2],
    )


@pytest.mark.parametrize("is_filtered", [True, False])
def test_a_connection_that_no_rule_stops_is_a_guess(is_filtered: bool) -> None:
    drop = "-A OUTPUT -d 10.78.0.11/32 -p tcp -m tcp --dport 6443 -j DROP\n" if is_filtered else ""
    route = "192.0.2.1 via 10.78.0.1 dev host0 src 10.78.0.11 uid 0 \\    cache\n"
    answers = build_paths(LATE, LATE) | place_answers(
        "k1", make_answer("firewall.live", format_rules(OPEN + drop)), make_answer("network.address", route)
    )
    result = evaluate("join-endpoint-unreachable", cluster.build_snapshot(answers), "k1").result
    assert result
    assert (result.certain, not result.person) == (is_filtered, is_filtered)


def test_a_broken_service_explains_webhooks_on_control_planes_alone() -> None:
    assert judge_proxy("st-service-ip-broken -> mon-admission-webhook-down", {})[0] == "failed"
    worker = place_answers("k1", read_case("kubeadm.files", "worker"))
    assert judge_proxy("st-service-ip-broken -> mon-admission-webhook-down", worker)[0] == "ok"
