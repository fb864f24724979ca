"""Changes that construct a page out of a recorded one: what no recording covers."""

import re
from collections.abc import Mapping

from tests.unit.gpus.exporter_faults import Change, D, P, replace, set_value


def add_fields(fields: Mapping[str, float]) -> Change:
    """Add fields that the exporter of the source was not asked for, to each GPU of the page; further labels of a
    series stand in braces behind the name."""

    def change(page: str) -> str:
        labels = dict.fromkeys(re.findall(r"(?m)^\w+\{(.*)\} ", page))
        parts = ((*key.removesuffix("}").partition("{")[::2], value) for key, value in fields.items())
        lines = [
            f"{name}{{{','.join(filter(None, (text, further_labels)))}}} {value}"
            for name, further_labels, value in parts
            for text in labels
        ]
        return "\n".join([page.rstrip("\n"), *lines, ""])

    return change


def rename_model(model: str) -> Change:
    return replace('modelName="[^"]*"', f'modelName="{model}"')


def repeat_board(count: int) -> Change:
    """Let the node of a page with one board have so many of it."""

    def change(page: str) -> str:
        lines = [line for line in page.splitlines() if line[0] != "#"]
        copies = (
            line.replace('gpu="0"', f'gpu="{index}"').replace('UUID="GPU-', f'UUID="GPU-{index}')
            for index in range(count)
            for line in lines
        )
        return "\n".join([*copies, ""])

    return change


def remove_lines(pattern: str) -> Change:
    return replace(rf"^.*{pattern}.*\n", "")


def scale_capacity(resource: str, count: int) -> Change:
    """Let the device plugin offer so many of a resource in place of whole GPUs."""

    def change(page: str) -> str:
        page = replace(
            r'^(kube_node_status_\w+\{.*resource=")nvidia_com_gpu(".*\}) .*$', rf"\g<1>{resource}\2 {count}"
        )(page)
        return replace(r'^(kube_pod_\w+\{.*resource=")nvidia_com_gpu(".*)$', rf"\g<1>{resource}\2")(page)

    return change


def add_node_label(name: str, text: str) -> Change:
    return replace(r"^(kube_node_labels\{.*)(\} 1)$", rf'\1,label_{name}="{text}"\2')


def share_gpu(pods: int) -> Change:
    """Give each series of the page to so many pods, as the exporter does with --kubernetes-virtual-gpus."""

    def change(page: str) -> str:
        copies = (
            re.sub(r"(?m)^(\w+\{.*)\} ", rf'\1,pod="share-{index}",namespace="n",container="c",vgpu="{index}"}} ', page)
            for index in range(pods)
        )
        lines = "\n".join([page, *copies]).splitlines()
        return "\n".join([*dict.fromkeys(line for line in lines if not line.startswith("#")), ""])

    return change


def limit_power(watts: float, clock: float, highest_clock: float) -> Change:
    """Put a board at its rated load: at the power limit that it is delivered with, and far below its highest clock."""

    def change(page: str) -> str:
        page = set_value((f"{D}POWER_USAGE", str(watts)), (f"{D}SM_CLOCK", str(clock)), (f"{D}GPU_UTIL", "100"))(page)
        if f"{P}GR_ENGINE_ACTIVE" in page:
            page = set_value((f"{P}GR_ENGINE_ACTIVE", "0.97"))(page)
        return add_fields(
            {
                f"{D}ENFORCED_POWER_LIMIT": watts,
                f"{D}POWER_MGMT_LIMIT_DEF": watts,
                f"{D}MAX_SM_CLOCK": highest_clock,
                f"{D}CLOCK_THROTTLE_REASONS": 4,
                f"{D}TOTAL_BASE_CLOCKS_VIOLATION": 0,
            }
        )(page)

    return change


def limit_link(lanes: int, most_lanes: int, generation: int, highest_generation: int) -> Change:
    return add_fields(
        {
            f"{D}PCIE_LINK_WIDTH": lanes,
            f"{D}PCIE_MAX_LINK_WIDTH": most_lanes,
            f"{D}PCIE_LINK_GEN": generation,
            f"{D}PCIE_MAX_LINK_GEN": highest_generation,
        }
    )
