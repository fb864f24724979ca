"""Names of quantities and formats of changes for people."""

LABELS = {
    "sm": "SMs",
    "dram": "memory",
    "pipe": "other pipes",
    "fp64": "FP64",
    "fp32": "FP32",
    "fp16": "FP16",
    "pcie": "PCIe",
    "pcie_receive": "PCIe received",
    "pcie_transmit": "PCIe sent",
    "nvlink": "NVLink",
    "nvlink_receive": "NVLink received",
    "nvlink_transmit": "NVLink sent",
    "power_limit": "power limit",
    "clock_max": "clock maximum",
    "memory_used": "memory used",
}
"""Names of quantities where those of JSON are no words."""


def label_quantity(name: str) -> str:
    return LABELS.get(name, name)


def format_percent(share: float | None, sign: str = "+") -> str:
    """Format a share as `+8.1 %`, with a minus sign as wide as the plus sign. The text is empty for None."""
    return "" if share is None else f"{share * 100:{sign}z,.1f} %".replace("-", "\N{MINUS SIGN}")
