"""The table of patterns and the graph: what a pattern points to leads to its state, but for a few that are listed."""

from pathlib import Path

import yaml

from gpustack.doctor.graph import graph

TABLE = yaml.safe_load((Path(__file__).parent / "discriminators.yaml").read_text())
# Pairs of a state and what a pattern of it points to, without a way in the graph. `bridge-nf-call-off` is there to say
# that it never leads to its state, and a host that is silent leaves its node's state unknown. The others are told by a
# pattern before the graph knows of them: an edge that is added leaves this list.
WITHOUT_A_WAY = {
    "st-api-from-pods-timeout": {"bridge-nf-call-off", "cni0-stale-address", "join-endpoint-unreachable"},
    "st-node-notready": {"host-ssh-unreachable"},
    "st-sandbox-fails": {"op-cdi-unresolvable", "op-nvidia-runtime-handler-missing", "st-driver-not-ready"},
    "st-flannel-crash": {"st-api-from-pods-timeout"},
    "st-pod-net-broken": {"cni0-stale-address"},
    "st-dns-broken": {"st-node-notready", "st-pods-pending"},
    "st-controlplane-flapping": {"node-ip-changed"},
    "st-gpu-operands-init": {
        "gpu-none-on-node", "op-clusterpolicy-missing-or-duplicate", "op-device-plugin-no-nvml",
        "op-nodes-not-labelled",
    },
}  # fmt: skip


def test_what_a_pattern_points_to_leads_to_its_state() -> None:
    found: dict[str, set[str]] = {}
    for one in TABLE:
        ancestors = graph().ancestors(one["state"]) | {one["state"]}
        for case in one["cases"]:
            if others := set(case["points"]) - ancestors:
                found.setdefault(one["state"], set()).update(others)
    assert found == WITHOUT_A_WAY
