"""Recording rules of the verdict on each GPU, from the tables of `gpustack gpu health`.

A sign has the rank of the verdict that it asks for, 0 where it names no fault. The rules have the sources that are in
Prometheus: hosts and the API are asked by the command alone. tests/contract/test_verdict_rules.py compares both.
"""

from collections.abc import Callable, Iterable, Mapping

from gpustack.gpus.device import is_serious
from gpustack.gpus.fleet import ACTION, FAILED, PENDING, SHARED
from gpustack.gpus.queries import STRATEGY
from gpustack.health.gpu_signs import ASKED, describe_xid
from gpustack.health.incidents import LEAST_NODES
from gpustack.health.judge import LEAST_SOURCES
from gpustack.health.sign import VERDICTS, Verdict, find_rank
from gpustack.health.sources import HEARD, RESOURCES
from gpustack.vocabulary.health_codes import FAILED as WATCH_FAILED
from gpustack.vocabulary.health_codes import PASSED, load_health_codes
from gpustack.vocabulary.xids import load_xids
from scripts.values.gpu_rules import BOARD, LAST_XID, MIG, XID_REPORTS
from scripts.values.normalise import Rule, pad_lines

GPU = "node, UUID, gpu, modelName"
SIGN, VERDICT = "gpustack:gpu_sign:rank", "gpustack:gpu_verdict:rank"
SILENT, WITHHELD = "gpustack:gpu_silent:info", "gpustack:node_gpus_withheld:count"
LAST, STATUS, COUNTS = "gpustack:gpu_last_xid:info", "gpustack:gpu_health:status", "DCGM_EXP_XID_ERRORS_COUNT"
READY = "gpustack:node_ready:bool"
XID_NODES, FAULTY = "gpustack:xid_nodes:count", "gpustack:node_gpus_faulty:count"
WATCH, UNKNOWN = find_rank("watch"), find_rank("unknown")
RECORDED = {field: f"gpustack:{name}" for name, field, *_ in BOARD}
Select = Callable[[str], str]


def build_verdict_rules() -> list[Rule]:
    return [
        Rule(
            LAST,
            f'count_values by ({GPU}) (\n  "xid",\n  max by ({GPU}) ({LAST_XID})\n)',
            comment="The last Xid as a label, 0 for none.",
        ),
        *build_driver_rules(),
        *build_xid_rules(),
        *build_watch_rules(),
        *build_kubelet_rules(),
        build_verdict_rule(),
    ]


def group(expr: str) -> str:
    return f"max by ({GPU}) (\n{pad_lines(expr)}\n)"


def join(*branches: str) -> str:
    return "\nor\n".join(branches)


def select_ranks(select: Select, label: str, codes: Mapping[int, Iterable[str]], table: Iterable[str]) -> str:
    """Select ranks by the code in a label: the codes of each rank, others that are in no table, which are to be
    watched, and the rest, which ask for nothing."""
    ranked = [f"{select(match(label, '=~', listed))} * 0 + {rank}" for rank, listed in codes.items()]
    return join(*ranked, f"{select(match(label, '!~', table))} * 0 + {WATCH}", f"{select('')} * 0")


def match(label: str, operator: str, codes: Iterable[str]) -> str:
    return f'{label}{operator}"{"|".join(sorted(codes))}"'


def build_driver_rules() -> list[Rule]:
    action = RECORDED[ACTION]
    asked = [f"({action} == {value}) * 0 + {find_rank(verdict)}" for value, verdict in ASKED.items()]
    return [
        Rule(
            SIGN,
            group(join(*asked, f"({action} > 0) * 0 + {WATCH}", f"{action} * 0")),
            {"source": "driver", "sign": "action"},
            "What a sign asks for, as the rank of a verdict: " + name_ranks(),
        ),
        build_flag_rule("failed", FAILED, "replace"),
        build_flag_rule("pending", PENDING, "reset"),
    ]


def name_ranks() -> str:
    return ", ".join(f"{find_rank(verdict)} {verdict}" for verdict in VERDICTS) + "."


def build_flag_rule(sign: str, names: Iterable[str], verdict: Verdict) -> Rule:
    parts = join(
        *(
            f"label_replace(\n{pad_lines(f'(max by ({GPU}) ({RECORDED[name]}) > bool 0) * {find_rank(verdict)}')},\n"
            f'  "flag", "{RECORDED[name]}", "", ""\n)'
            for name in names
        )
    )
    return Rule(SIGN, group(parts), {"source": "driver", "sign": sign})


def build_xid_rules() -> list[Rule]:
    """Build the rules of the last Xid, of which only a serious one says something, and of those of the last minutes."""
    xids = load_xids()
    serious = group_xids(filter(is_serious, xids))
    nodes = f"count by (xid) (\n  count by (xid, node) ({XID_REPORTS} > 0 and on (UUID) {COUNTS})\n)"

    def select_last(matcher: str) -> str:
        return f"{LAST}{{{matcher}}}"

    def select_recent(matcher: str) -> str:
        return f"({XID_REPORTS}{{{matcher}}} > 0 and on (UUID) {COUNTS})"

    every = [*map(str, xids), "0"]
    last = select_ranks(select_last, "xid", serious, every)
    recent = join(
        select_ranks(select_recent, "xid", group_xids(xids), every), f"({XID_REPORTS} and on (UUID) {COUNTS}) * 0"
    )
    shared = f"unless on (xid) {XID_NODES} >= {LEAST_NODES}"
    return [
        Rule(XID_NODES, nodes, comment="Nodes that had an Xid within 300 s."),
        *(
            Rule(SIGN, limit_xids(ranks, shared), {"source": "xid", "sign": sign})
            for sign, ranks in (("last", last), ("recent", recent))
        ),
    ]


def group_xids(codes: Iterable[int]) -> dict[int, list[str]]:
    """Group Xids by the rank of their sign, without those that ask for nothing."""
    ranks: dict[int, list[str]] = {}
    for code in codes:
        if rank := find_rank(describe_xid(code).verdict):
            ranks.setdefault(rank, []).append(str(code))
    return dict(sorted(ranks.items()))


def limit_xids(ranks: str, exception: str = "") -> str:
    """Limit signs of Xids on nodes with MIG instances, and those of the exception, to be watched."""
    body = pad_lines(ranks)
    whole = "\n".join(filter(None, (f"(\n{body}\n)", exception, f"unless on (node) {MIG}")))
    return group(join(whole, f"clamp_max(\n{body},\n  {WATCH}\n)"))


def build_watch_rules() -> list[Rule]:
    """Build the rules of DCGM's health watches, each with the source that DCGM takes the code from."""
    codes = load_health_codes()

    def select(matcher: str) -> str:
        return f"({STATUS}{{{matcher}}} > {PASSED})"

    is_shared = f"and on (xid) {XID_NODES} >= {LEAST_NODES}"
    shared_gpus = f"{LAST} {is_shared} or ({XID_REPORTS} > 0 and on (UUID) {COUNTS}) {is_shared}"
    rules = []
    for origin in ("driver", "xid", "dcgm"):
        asking = {name: known for name, known in codes.items() if known.origin == origin and known.verdict}
        if not asking:
            continue
        ranks: dict[int, list[str]] = {}
        for name, known in asking.items():
            ranks.setdefault(find_rank(known.verdict), []).append(name)  # type: ignore[arg-type]
        label = "health_error_code"
        branches = [
            f"({STATUS}{{{match(label, '=~', listed)}}} >= {WATCH_FAILED}) * 0 + {rank}"
            for rank, listed in sorted(ranks.items())
        ]
        branches.append(f"{select(match(label, '=~', asking))} * 0 + {WATCH}")
        if origin == "dcgm":
            silent = [name for name, known in codes.items() if not known.verdict]
            branches.append(f"{select(match(label, '!~', codes))} * 0 + {WATCH}")
            branches += [f"{select(match(label, '=~', silent))} * 0", f"({STATUS} <= {PASSED}) * 0"]
        ranked = join(*branches)
        expr = limit_xids(ranked, f"unless on (node, UUID) ({shared_gpus})") if origin == "xid" else group(ranked)
        rules.append(Rule(SIGN, expr, {"source": origin, "sign": "watch"}))
    return rules


def build_kubelet_rules() -> list[Rule]:
    """Build the rules of GPUs that the kubelet withholds, which it counts and does not name."""
    capacity, allocatable = (f"kube_node_status_{name}{{{RESOURCES}}}" for name in ("capacity", "allocatable"))
    difference = f"max by (node, resource) ({capacity})\n- on (node, resource)\nmax by (node, resource) ({allocatable})"
    one_sided = [
        f"unless on (node) ({first} unless on (node, resource) {second})"
        for first, second in ((capacity, allocatable), (allocatable, capacity))
    ]
    others = f'{SIGN}{{source!="kubelet"}}'
    faulty = f"({group(others)} > 0 or {SILENT})"
    present = group("gpustack:gpu:info")
    shared = f'kube_node_labels{{{STRATEGY}=~"{"|".join(SHARED)}"}}'
    withheld = f"({WITHHELD} > 0 unless on (node) {shared})"
    everything = f"({present} or {SILENT}) * 0"
    return [
        Rule(
            SILENT,
            f"(\n{pad_lines(HEARD)}\n)\nunless on (UUID) gpustack:gpu:info\nand on (node) {capacity}",
            comment="GPUs of nodes with GPUs that were heard of within a day, and are not now.",
        ),
        Rule(
            WITHHELD,
            "\n".join(
                (
                    f"sum by (node) (\n  clamp_min(\n{pad_lines(pad_lines(difference))},\n    0\n  )\n)",
                    *one_sided,
                    f"unless on (node) {READY} == 0",
                )
            ),
            comment="Units of NVIDIA's resources that the kubelet of a node which is Ready does not offer.",
        ),
        Rule(
            FAULTY,
            f"count by (node) {faulty}",
            comment="GPUs of a node that are silent, or of which a source other than the kubelet names a fault.",
        ),
        Rule(
            SIGN,
            join(
                f"{everything} and on (node) {WITHHELD} == 0",
                f"{faulty} * 0 + {find_rank('reset')}\nand on (node) ({withheld} >= on (node) {FAULTY})",
                f"({present} * 0 unless on (node, UUID) {faulty})\nand on (node) ({withheld} == on (node) {FAULTY})",
            ),
            {"source": "kubelet", "sign": "withheld"},
        ),
    ]


def build_verdict_rule() -> Rule:
    worst = f"max by ({GPU}) ({SIGN})"
    by_source = f"max by ({GPU}, source) ({SIGN})"
    heavy = f"count by ({GPU}) ({by_source} > {UNKNOWN})"
    withheld = f'{SIGN}{{source="kubelet"}} == {find_rank("reset")}'
    lost = f"({SILENT} and on (node, UUID) {withheld} and on (node) gpustack:gpu:info)"
    judged = join(
        f"{worst} and ({heavy}) >= {LEAST_SOURCES}",
        f"max by ({GPU}) ({SIGN} < {UNKNOWN} > {WATCH}) and ({heavy})",
        f"({heavy}) * 0 + {WATCH}",
        f"{worst} > 0",
        f"(count by ({GPU}) ({by_source}) < {LEAST_SOURCES}) * 0 + {UNKNOWN}",
        worst,
        f"{group('gpustack:gpu:info')} * 0 + {UNKNOWN}",
    )
    return Rule(
        VERDICT,
        join(
            f"{lost} * 0 + {find_rank('reboot')}",
            f"{SILENT} * 0 + {UNKNOWN}",
            f"(\n{pad_lines(judged)}\n) unless on (node, UUID) {SILENT}",
        ),
        comment="The verdict on a GPU by the sources in Prometheus: " + name_ranks(),
    )
