"""The kernel shows sysctls and modules by their effect."""

from gpustack.ask.probe import Answer
from tests.unit.doctor.checks.evaluation import judge_host, summarize
from tests.worlds.snapshots.answers import make_answer, read_case

Edit = tuple[str, str]
FORWARDING_ON, FORWARDING_OFF = "net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"


def build_sysctls(*edits: Edit) -> dict[str, Answer]:
    return {"kernel.sysctls": read_case("kernel.sysctls", "prepared-debian-12", *edits)}


def test_ip_forward_is_reported_with_the_file_that_sets_it() -> None:
    assert summarize(judge_host("host-ip-forward-off", {}))[0] == "ok"
    outcome, actual = summarize(judge_host("host-ip-forward-off", build_sysctls((FORWARDING_ON, FORWARDING_OFF))))
    assert outcome == "failed"
    assert actual.startswith("0 (/etc/sysctl.d/90-gpustack.conf sets ")


def test_an_answer_that_is_missing_neither_confirms_nor_refutes() -> None:
    assert (
        judge_host("host-ip-forward-off", {"kernel.sysctls": make_answer("kernel.sysctls", "", 1)}).outcome == "unknown"
    )
    judgement = judge_host(
        "host-ip-forward-off", {"kernel.sysctls": Answer("kernel.sysctls", "h1", -1, "", missing_reason="it hung")}
    )
    assert summarize(judgement) == ("unknown", "it hung")


def test_bridged_packets_past_iptables_fail() -> None:
    key = "net.bridge.bridge-nf-call-iptables"
    assert summarize(judge_host("bridge-nf-call-off", {}))[0] == "ok"
    assert judge_host("bridge-nf-call-off", build_sysctls((f"{key} 1", f"{key} 0"))).outcome == "failed"
    answers = {"kernel.sysctls": read_case("kernel.sysctls", "no-bridge")}
    assert summarize(judge_host("bridge-nf-call-off", answers)) == ("ok", "nothing")


def test_br_netfilter_is_found_by_its_effect() -> None:
    assert summarize(judge_host("flannel-br-netfilter-missing", {})) == ("ok", "working")
    fewer_modules = read_case("kernel.modules", "prepared-debian-12", ("overlay\nbr_netfilter", "overlay"))
    assert summarize(judge_host("flannel-br-netfilter-missing", {"kernel.modules": fewer_modules})) == (
        "failed",
        "not working",
    )
