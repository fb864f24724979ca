"""Checks of names and labels: whether rules, dashboards and commands find a GPU and its node by what an exporter
prints."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from gpustack.gpus.verdict import Verdict, build_verdict
from gpustack.metrics.exposition import Family, Page
from gpustack.metrics.gpus import extract_gpu, pick_label
from gpustack.metrics.readings import PART_LABELS, resolve_field
from gpustack.vocabulary.fields import TWINS
from gpustack.vocabulary.labels import HOSTS, NO_NODE_NAME

PREFIX = "DCGM_"
# dcgm-exporter 1.x was a script around `dcgmi dmon`: dcgm_gpu_temp{gpu="0",uuid="GPU-…"}
# (exporters/prometheus-dcgm/dcgm-exporter of NVIDIA/gpu-monitoring-tools).
OLDEST_PREFIX = "dcgm_"
NEEDED_LABELS = ("gpu", "UUID", "modelName")
NAME_LIMIT = 3  # hosts and nodes by name


def check_format(page: Page) -> Iterator[Verdict]:
    """Check the page as Prometheus reads it: one row without a number makes it refuse all of them."""
    if page.refused_rows:
        message = (
            "Prometheus refuses the whole page for these rows. Take their metrics out of gpu.metrics.counters, or out "
            "of the exporter's own list."
        )
        yield Verdict("format", "wrong", message, page.refused_rows)
    yield from build_verdict(
        "order",
        page.late_types,
        "TYPE comes after the series of its metric, or twice: strict readers refuse the page.",
        "TYPE comes once, before the series",
    )


def check_names(families: Sequence[Family]) -> Iterator[Verdict]:
    """Check the generation of the names; a custom list of counters can mix several."""
    kinds: Counter[str] = Counter()
    strange_names = []
    oldest_names = tuple(family.name for family in families if family.name.startswith(OLDEST_PREFIX))
    for family in families:
        field = resolve_field(family.name, (family.help,))
        if field is None:
            strange_names += [] if family.name in oldest_names else [family.name]
        elif field.id in TWINS or field.canonical:
            kinds["4.7" if field.id in TWINS else "4.6" if family.name == field.canonical else "old"] += 1
    if oldest_names:
        message = "These are names of dcgm-exporter 1.x, which no command, rule or dashboard reads: use a later one."
        yield Verdict("names", "wrong", message, oldest_names)
    if strange_names:
        yield Verdict("names", "unknown", "The field of some names is not known.", tuple(strange_names))
    words = {"old": "names from before DCGM 4.6", "4.6": "names of DCGM 4.6", "4.7": "fields of DCGM 4.7 in base units"}
    if kinds:
        yield Verdict("names", "ok", ", ".join(f"{number} {words[kind]}" for kind, number in kinds.items()))
    elif not strange_names and not oldest_names:
        yield Verdict("names", "ok", "the same in all generations")


def check_labels(families: Sequence[Family]) -> Iterator[Verdict]:
    lacking: Counter[str] = Counter()
    for family in families:
        for series in family.series:
            if extract_gpu(series.labels):
                lacking.update(label for label in NEEDED_LABELS if not series.labels.get(label))
                lacking.update([] if pick_label(series.labels, HOSTS) else ["Hostname"])
    wrong = [f"{label} ({number} series)" for label, number in sorted(lacking.items())]
    yield from build_verdict(
        "labels", wrong, "Series lack labels by which a GPU is found again.", "GPU, UUID, model and host"
    )


def check_hosts(families: Sequence[Family], node_names: Collection[str]) -> Iterator[Verdict]:
    """Check that the host label names a node, by which alerts and panels join the GPU with Kubernetes. `node_names` are
    the nodes of the cluster, and there are none where no cluster was asked."""
    labels = [series.labels for family in families for series in family.series if extract_gpu(series.labels)]
    hosts = sorted({label_set[host] for label_set in labels for host in HOSTS if label_set.get(host)})
    nameless_hosts = [host for host in hosts if NO_NODE_NAME.fullmatch(host)]
    wrong = [host for host in hosts if host not in node_names] if node_names else nameless_hosts
    subject = "no node of the cluster"
    if nameless_hosts:
        subject = "the exporter's pod or container, or no host, in place of the node"
    message = f"The host label names {subject}: GpuMetricsAbsent fires. Set NODE_NAME of the exporter to spec.nodeName."
    if hosts:
        described_hosts = [describe_host(host, node_names) for host in wrong]
        yield from build_verdict("hosts", described_hosts, message, ", ".join(hosts[:NAME_LIMIT]))


def describe_host(host: str, node_names: Collection[str]) -> str:
    """Describe a host that is no node, with the node that it may mean, or with some of the nodes."""
    if not node_names:
        return host
    names = sorted(node_names)
    if similar_names := [name for name in names if shorten_name(name) == shorten_name(host)]:
        return f"{host} (the node is {', '.join(similar_names)})"
    ellipsis = ", …" if len(names) > NAME_LIMIT else ""
    return f"{host} (nodes are {', '.join(names[:NAME_LIMIT])}{ellipsis})"


def shorten_name(name: str) -> str:
    return name.partition(".")[0].lower()


def check_instances(families: Sequence[Family]) -> Iterator[Verdict]:
    """Check that a MIG instance cannot be taken for a GPU: it has the UUID of its board, and its own id beside it."""
    instances = set()
    wrong: dict[str, None] = {}
    for family in families:
        for series in family.series:
            gpu = extract_gpu(series.labels)
            if gpu and gpu.instance:
                instances.add(gpu.key)
            if gpu and not gpu.instance and (gpu.uuid.startswith("MIG-") or gpu.profile):
                wrong[gpu.uuid or gpu.index] = None
    message = "MIG instances have no label GPU_I_ID, so that each counts as a GPU."
    yield from build_verdict("instances", list(wrong), message, f"{len(instances)} of MIG" if instances else "none")


def check_twice(families: Sequence[Family]) -> Iterator[Verdict]:
    keys: Counter[tuple[object, ...]] = Counter()
    for family in families:
        for series in family.series:
            if gpu := extract_gpu(series.labels):
                keys[family.name, *gpu.key, *(series.labels.get(label) for label in PART_LABELS)] += 1
    wrong = sorted({f"{key[0]} of {key[1]}" for key, number in keys.items() if number > 1})
    yield from build_verdict("duplicates", wrong, "A GPU has several series of one metric.", "none")
