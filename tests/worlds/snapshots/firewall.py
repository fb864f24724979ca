"""Hosts as the firewall step sees them: what recorded and written answers make of one, and what its checks say."""

from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.steps.firewall.step import STEP
from tests.worlds.snapshots import answers
from tests.worlds.snapshots.build import build
from tests.worlds.snapshots.judge import judge_check

PLANE, WORKER = "10.77.1.11", "10.77.1.12"
HOSTS = (
    Host("host1", PLANE, groups=frozenset({CONTROL_PLANE, NODE})),
    Host("host2", WORKER, groups=frozenset({NODE})),
)
CHECKS = {check.__name__.replace("_", "-"): check for check in STEP.checks}
OPEN = "-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n"
# What the hosts were recorded with: clients may be anybody, and something has a NodePort.
OPEN_TO_ALL: dict[str, Any] = {"sources": ["0.0.0.0/0"]}
MONITORING = {"access": {"type": "node-port"}}
# Of a control plane: our table for the metrics, as the kernel has it and as it is stored.
GUARD, GUARD_STORED = (
    answers.read_case(probe, "guarded-debian-12").stdout for probe in ("firewall.live", "firewall.stored")
)
TABLE = GUARD[GUARD.index("== nft\n") :].rstrip("\n")
NO_GUARD = "== unit nftables\nExecStartPost=\n== unit guard\n"


def build_snapshot(
    live: Answer | str,
    stored_answer: Answer | str = GUARD_STORED,
    *,
    location: str = "host1",
    spec: Mapping[str, Any] | None = None,
    kubernetes: Mapping[str, Any] | None = None,
    reached: bool = True,
) -> Snapshot:
    """The answers of one host; the other says its address only, unless it was not reached."""

    def answer(probe: str, answer: Answer | str) -> Answer:
        return answer if isinstance(answer, Answer) else Answer(probe, location, 0, answer)

    answers = {
        ("firewall.live", location): answer("firewall.live", live),
        ("firewall.stored", location): answer("firewall.stored", stored_answer),
    }
    for host in HOSTS:
        if reached or host.name == location:
            stdout = f"192.0.2.1 via 10.77.1.1 dev host0 src {host.address} uid 0 \\    cache\n"
            answers["network.address", host.name] = Answer("network.address", host.name, 0, stdout)
    unreached_hosts = () if reached else [host.name for host in HOSTS if host.name != location]
    reach = [Reach(name, "host-ssh-unreachable") for name in unreached_hosts]
    whole_spec = {"firewall": OPEN_TO_ALL | dict(spec or {}), "kubernetes": kubernetes or {}, "monitoring": MONITORING}
    return build(HOSTS, answers, whole_spec, reach)


def build_view(snapshot: Snapshot) -> View:
    """Build the view from the host whose rules these are."""
    return View(snapshot, next(location for probe, location in snapshot.answers if probe == "firewall.live"))


def format_rules(
    rules: str = OPEN, *, units: tuple[str, ...] = (), ssh: str = "", rules_after: str = "", guard: str = TABLE
) -> str:
    """Format what the probe prints on a host with these iptables rules. `guard` is our table for the metrics."""
    parts = []
    for unit in ("firewalld", "nftables", "netfilter-persistent"):
        state = ("active", "enabled") if unit in units else ("inactive", "disabled")
        parts.append(f"Id={unit}.service\nActiveState={state[0]}\nUnitFileState={state[1]}")
    addresses = f"1: lo    inet 127.0.0.1/8 scope host lo\n2: host0    inet {PLANE}/24 scope global host0"
    texts = [
        "== units",
        "\n\n".join(parts),
        "== ufw",
        "== addresses",
        addresses,
        "== ssh",
        ssh,
        "== iptables",
        rules.strip(),
        rules_after,
        guard,
    ]
    return "".join(f"{part}\n" for part in texts if part)


def judge_rules(snapshot: Snapshot) -> dict[str, Judgement]:
    return {name: judge_check(check, build_view(snapshot)) for name, check in CHECKS.items()}


def list_outcomes(snapshot: Snapshot) -> dict[str, str]:
    """The checks that do not hold, each with its cure, or `unknown`."""
    return {
        name: judgement.result.cure if judgement.result else judgement.outcome
        for name, judgement in judge_rules(snapshot).items()
        if judgement.outcome != "ok"
    }


def load_snapshot(name: str) -> Snapshot:
    """The control plane of the recordings was Debian 12, the worker Debian 13."""
    location = "host2" if "debian-13" in name else "host1"
    live, stored_answer = (
        answers.read_case(probe, name, location=location) for probe in ("firewall.live", "firewall.stored")
    )
    return build_snapshot(live, stored_answer, location=location)
