"""Recording rules of the verdict on each GPU, from the tables of `gpustack gpu health`.

A sign has the rank of the verdict that it asks for, 0 where it names no fault. The rules have the sources that are in
Prometheus: hosts and the API are asked by the command alone. tests/contract/test_verdict_rules.py compares both.
"""

from collections.abc import Callable, Iterable, Mapping

from gpustack.gpus.device import is_serious
from gpustack.gpus.fleet import ACTION, FAILURE_FLAGS, PENDING_FLAGS, SHARING_STRATEGIES
from gpustack.gpus.queries import STRATEGY
from gpustack.health.gpu_signs import ACTION_VERDICTS, describe_xid
from gpustack.health.incidents import LEAST_NODES
from gpustack.health.judge import LEAST_SOURCES
from gpustack.health.sign import VERDICTS, Verdict, find_rank
from gpustack.health.sources import HEARD_QUERY, RESOURCES
from gpustack.vocabulary.health_codes import FAILURE_VALUE, PASS_VALUE, load_health_codes
from gpustack.vocabulary.xids import load_xids
from scripts.values.gpu_rules import BOARD, LAST_XID, MIG, XID_REPORTS
from scripts.values.normalise import Rule, pad_lines

GPU = "node, UUID, gpu, modelName"
SIGN, VERDICT = "gpustack:gpu_sign:rank", "gpustack:gpu_verdict:rank"
SILENT_GPUS, WITHHELD_UNITS = "gpustack:gpu_silent:info", "gpustack:node_gpus_withheld:count"
XID_INFO, STATUS, COUNTS = "gpustack:gpu_last_xid:info", "gpustack:gpu_health:status", "DCGM_EXP_XID_ERRORS_COUNT"
READY = "gpustack:node_ready:bool"
XID_NODES, FAULTY_COUNT = "gpustack:xid_nodes:count", "gpustack:node_gpus_faulty:count"
WATCH, UNKNOWN = find_rank("watch"), find_rank("unknown")
RECORD_NAMES = {field: f"gpustack:{name}" for name, field, *_ in BOARD}
Select = Callable[[str], str]


def build_verdict_rules() -> list[Rule]:
    return [
        Rule(
            XID_INFO,
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
    ranked_series = [f"{select(match(label, '=~', rank_codes))} * 0 + {rank}" for rank, rank_codes in codes.items()]
    return join(*ranked_series, f"{select(match(label, '!~', table))} * 0 + {WATCH}", f"{select('')} * 0")


def match(label: str, operator: str, codes: Iterable[str]) -> str:
    return f'{label}{operator}"{"|".join(sorted(codes))}"'


def build_driver_rules() -> list[Rule]:
    action = RECORD_NAMES[ACTION]
    action_ranks = [f"({action} == {value}) * 0 + {find_rank(verdict)}" for value, verdict in ACTION_VERDICTS.items()]
    return [
        Rule(
            SIGN,
            group(join(*action_ranks, f"({action} > 0) * 0 + {WATCH}", f"{action} * 0")),
            {"source": "driver", "sign": "action"},
            "What a sign asks for, as the rank of a verdict: " + name_ranks(),
        ),
        build_flag_rule("failed", FAILURE_FLAGS, "replace"),
        build_flag_rule("pending", PENDING_FLAGS, "reset"),
    ]


def name_ranks() -> str:
    return ", ".join(f"{find_rank(verdict)} {verdict}" for verdict in VERDICTS) + "."


def build_flag_rule(sign: str, names: Iterable[str], verdict: Verdict) -> Rule:
    rank = find_rank(verdict)
    parts = join(
        *(
            f"label_replace(\n{pad_lines(f'(max by ({GPU}) ({RECORD_NAMES[name]}) > bool 0) * {rank}')},\n"
            f'  "flag", "{RECORD_NAMES[name]}", "", ""\n)'
            for name in names
        )
    )
    return Rule(SIGN, group(parts), {"source": "driver", "sign": sign})


def build_xid_rules() -> list[Rule]:
    """Build the rules of the last Xid, of which only a serious one says something, and of those of the last minutes."""
    xids = load_xids()
    serious_codes = group_xids(filter(is_serious, xids))
    nodes = f"count by (xid) (\n  count by (xid, node) ({XID_REPORTS} > 0 and on (UUID) {COUNTS})\n)"

    def select_last(matcher: str) -> str:
        return f"{XID_INFO}{{{matcher}}}"

    def select_recent(matcher: str) -> str:
        return f"({XID_REPORTS}{{{matcher}}} > 0 and on (UUID) {COUNTS})"

    all_codes = [*map(str, xids), "0"]
    last_ranks = select_ranks(select_last, "xid", serious_codes, all_codes)
    recent_ranks = join(
        select_ranks(select_recent, "xid", group_xids(xids), all_codes), f"({XID_REPORTS} and on (UUID) {COUNTS}) * 0"
    )
    shared_exception = f"unless on (xid) {XID_NODES} >= {LEAST_NODES}"
    return [
        Rule(XID_NODES, nodes, comment="Nodes that had an Xid within 300 s."),
        *(
            Rule(SIGN, limit_xids(ranks, shared_exception), {"source": "xid", "sign": sign})
            for sign, ranks in (("last", last_ranks), ("recent", recent_ranks))
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
    whole_gpus = "\n".join(filter(None, (f"(\n{body}\n)", exception, f"unless on (node) {MIG}")))
    return group(join(whole_gpus, f"clamp_max(\n{body},\n  {WATCH}\n)"))


def build_watch_rules() -> list[Rule]:
    """Build the rules of DCGM's health watches, each with the source that DCGM takes the code from."""
    codes = load_health_codes()

    def select(matcher: str) -> str:
        return f"({STATUS}{{{matcher}}} > {PASS_VALUE})"

    shared_condition = f"and on (xid) {XID_NODES} >= {LEAST_NODES}"
    shared_gpus = f"{XID_INFO} {shared_condition} or ({XID_REPORTS} > 0 and on (UUID) {COUNTS}) {shared_condition}"
    rules = []
    for origin in ("driver", "xid", "dcgm"):
        judged_codes = {name: code for name, code in codes.items() if code.origin == origin and code.verdict}
        if not judged_codes:
            continue
        ranks: dict[int, list[str]] = {}
        for name, code in judged_codes.items():
            ranks.setdefault(find_rank(code.verdict), []).append(name)  # type: ignore[arg-type]
        label = "health_error_code"
        branches = [
            f"({STATUS}{{{match(label, '=~', code_names)}}} >= {FAILURE_VALUE}) * 0 + {rank}"
            for rank, code_names in sorted(ranks.items())
        ]
        branches.append(f"{select(match(label, '=~', judged_codes))} * 0 + {WATCH}")
        if origin == "dcgm":
            silent_codes = [name for name, code in codes.items() if not code.verdict]
            branches.append(f"{select(match(label, '!~', codes))} * 0 + {WATCH}")
            branches += [f"{select(match(label, '=~', silent_codes))} * 0", f"({STATUS} <= {PASS_VALUE}) * 0"]
        watch_ranks = join(*branches)
        expr = (
            limit_xids(watch_ranks, f"unless on (node, UUID) ({shared_gpus})")
            if origin == "xid"
            else group(watch_ranks)
        )
        rules.append(Rule(SIGN, expr, {"source": origin, "sign": "watch"}))
    return rules


def build_kubelet_rules() -> list[Rule]:
    """Build the rules of GPUs that the kubelet withholds, which it counts and does not name."""
    capacity, allocatable = (f"kube_node_status_{name}{{{RESOURCES}}}" for name in ("capacity", "allocatable"))
    difference = f"max by (node, resource) ({capacity})\n- on (node, resource)\nmax by (node, resource) ({allocatable})"
    exceptions = [
        f"unless on (node) ({first} unless on (node, resource) {second})"
        for first, second in ((capacity, allocatable), (allocatable, capacity))
    ]
    other_signs = f'{SIGN}{{source!="kubelet"}}'
    faulty_gpus = f"({group(other_signs)} > 0 or {SILENT_GPUS})"
    present_gpus = group("gpustack:gpu:info")
    shared_nodes = f'kube_node_labels{{{STRATEGY}=~"{"|".join(SHARING_STRATEGIES)}"}}'
    withheld_nodes = f"({WITHHELD_UNITS} > 0 unless on (node) {shared_nodes})"
    all_gpus = f"({present_gpus} or {SILENT_GPUS}) * 0"
    return [
        Rule(
            SILENT_GPUS,
            f"(\n{pad_lines(HEARD_QUERY)}\n)\nunless on (UUID) gpustack:gpu:info\nand on (node) {capacity}",
            comment="GPUs of nodes with GPUs that were heard of within a day, and are not now.",
        ),
        Rule(
            WITHHELD_UNITS,
            "\n".join(
                (
                    f"sum by (node) (\n  clamp_min(\n{pad_lines(pad_lines(difference))},\n    0\n  )\n)",
                    *exceptions,
                    f"unless on (node) {READY} == 0",
                )
            ),
            comment="Units of NVIDIA's resources that the kubelet of a node which is Ready does not offer.",
        ),
        Rule(
            FAULTY_COUNT,
            f"count by (node) {faulty_gpus}",
            comment="GPUs of a node that are silent, or of which a source other than the kubelet names a fault.",
        ),
        Rule(
            SIGN,
            join(
                f"{all_gpus} and on (node) {WITHHELD_UNITS} == 0",
                f"{faulty_gpus} * 0 + {find_rank('reset')}\n"
                f"and on (node) ({withheld_nodes} >= on (node) {FAULTY_COUNT})",
                f"({present_gpus} * 0 unless on (node, UUID) {faulty_gpus})\n"
                f"and on (node) ({withheld_nodes} == on (node) {FAULTY_COUNT})",
            ),
            {"source": "kubelet", "sign": "withheld"},
        ),
    ]


def build_verdict_rule() -> Rule:
    worst_rank = f"max by ({GPU}) ({SIGN})"
    source_ranks = f"max by ({GPU}, source) ({SIGN})"
    source_count = f"count by ({GPU}) ({source_ranks} > {UNKNOWN})"
    withheld_gpus = f'{SIGN}{{source="kubelet"}} == {find_rank("reset")}'
    lost_gpus = f"({SILENT_GPUS} and on (node, UUID) {withheld_gpus} and on (node) gpustack:gpu:info)"
    judged_ranks = join(
        f"{worst_rank} and ({source_count}) >= {LEAST_SOURCES}",
        f"max by ({GPU}) ({SIGN} < {UNKNOWN} > {WATCH}) and ({source_count})",
        f"({source_count}) * 0 + {WATCH}",
        f"{worst_rank} > 0",
        f"(count by ({GPU}) ({source_ranks}) < {LEAST_SOURCES}) * 0 + {UNKNOWN}",
        worst_rank,
        f"{group('gpustack:gpu:info')} * 0 + {UNKNOWN}",
    )
    return Rule(
        VERDICT,
        join(
            f"{lost_gpus} * 0 + {find_rank('reboot')}",
            f"{SILENT_GPUS} * 0 + {UNKNOWN}",
            f"(\n{pad_lines(judged_ranks)}\n) unless on (node, UUID) {SILENT_GPUS}",
        ),
        comment="The verdict on a GPU by the sources in Prometheus: " + name_ranks(),
    )
