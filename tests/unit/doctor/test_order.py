"""In which order two processes go through the checks of many hosts."""

from dataclasses import replace

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.doctor.graph import graph
from gpustack.doctor.order import jobs, length
from gpustack.doctor.tells import registry
from gpustack.probes.firewall import FIREWALL
from gpustack.probes.pod_states import GPU_PODS
from gpustack.steps import STEPS
from tests.unit.steps import recorded_hosts as hosts


def test_all_are_judged_and_the_ends_read_what_is_long() -> None:
    answers = {
        (GPU_PODS.id, CLUSTER): Answer(GPU_PODS.id, CLUSTER, 0, "x" * 1000),
        **{(FIREWALL.id, host): Answer(FIREWALL.id, host, 0, host * 500) for host in ("h1", "h2")},
    }
    found = jobs(graph(), registry(), replace(hosts.snapshot({}, {}), answers=answers, parsed={}))
    tellers = {one.tell: one.probes for one in registry().tellers.values()}
    assert {check for check, _ in found} == {check for step in STEPS for check in step.checks} | set(tellers)
    reads = {check: step.probes for step in STEPS for check in step.checks} | tellers
    assert FIREWALL in reads[found[0][0]]
    assert GPU_PODS not in reads[found[0][0]]
    assert GPU_PODS in reads[found[-1][0]]
    assert FIREWALL not in reads[found[-1][0]]


def test_alike_answers_are_read_once() -> None:
    def of(*words: str) -> int:
        answers = {
            (FIREWALL.id, host): Answer(FIREWALL.id, host, 0, word) for host, word in zip("ab", words, strict=True)
        }
        alone = hosts.snapshot({}, {})
        machines = tuple(replace(alone.inventory.hosts[0], name=name) for name in "ab")
        return length(FIREWALL, replace(alone, inventory=replace(alone.inventory, hosts=machines), answers=answers))

    assert of("same", "same") == -4
    assert of("one", "other") == -8
