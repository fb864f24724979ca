"""Routes to pods of other nodes that a rule of routing takes over (siderolabs/extensions#626)."""

from dataclasses import replace
from typing import Literal

import pytest

from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states.state import AbnormalState
from tests.unit.doctor.states.objects import build_healthy, list_states
from tests.worlds.snapshots.answers import read_case

PROBE = "network.route-decisions"
END = "from 10.244.1.250 via 10.244.0.0 dev flannel.1 \n"


def list_route_states(
    *edits: tuple[str, str], case: str = "usual", forwarding: Literal["0", "1"] = "1"
) -> list[AbnormalState]:
    healthy = build_healthy()
    host = healthy.inventory.cluster_hosts[0].name
    sysctls = healthy.answers["kernel.sysctls", host]
    answers = {
        (PROBE, host): replace(read_case(PROBE, case, *edits), location=host),
        ("kernel.sysctls", host): replace(
            sysctls, stdout=sysctls.stdout.replace("net.ipv4.ip_forward 1", f"net.ipv4.ip_forward {forwarding}")
        ),
    }
    return list_states(diagnose(replace(healthy, answers={**healthy.answers, **answers})), "route-diverted")


def test_a_route_that_a_rule_takes_is_broken_with_the_rule() -> None:
    (state,) = list_route_states(case="taken")
    assert state.severity == "broken"
    assert state.message == (
        "the main table sends packets to 10.244.0.0/24 by flannel.1, and the kernel does not (of the host): RTNETLINK "
        "answers: Invalid argument; rules of routing: 5270: from all to 10.244.0.0/24 lookup 52"
    )


def test_a_route_by_another_link_is_broken_also_of_pods_alone() -> None:
    (state,) = list_route_states(("from 10.244.1.250 via 10.244.0.0 dev flannel.1", "from 10.244.1.250 dev tailscale0"))
    assert "(of its pods): 10.244.0.1 from 10.244.1.250 dev tailscale0" in state.message


@pytest.mark.parametrize("rule", ["", "rule 5270:\tfrom all lookup 52\n"], ids=["usual", "rule-without-effect"])
def test_a_rule_that_leaves_the_route_is_no_state(rule: str) -> None:
    assert list_route_states((END, f"{END}{rule}")) == []


def test_what_a_host_that_forwards_nothing_says_of_pods_is_no_state() -> None:
    """The words are those of a lab host on which forwarding was switched off."""
    edits = (("10.244.0.1 from 10.244.1.250 via 10.244.0.0 dev flannel.1 ", "RTNETLINK answers: No route to host"),)
    (state,) = list_route_states(*edits)
    assert state.message.endswith("(of its pods): RTNETLINK answers: No route to host")
    assert list_route_states(*edits, forwarding="0") == []
    of_host = ("10.244.0.1 via 10.244.0.0 dev flannel.1 src 10.244.1.0 uid 0 ", "RTNETLINK answers: Invalid argument")
    assert len(list_route_states(of_host, *edits, forwarding="0")) == 1
