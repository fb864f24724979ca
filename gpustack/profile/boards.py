"""Properties of boards that exporters do not send, by the name of the model: NVIDIA's data sheets."""

import re

# Bytes a second of one lane, one way: PCI Express base specifications 3.0 to 6.0, less the encoding.
PCIE_LANE = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.97e9, 5: 3.94e9, 6: 7.5e9}
# One way, all links: V100 6 links of 25 GB/s, A100 12, H100 and H200 18, B200 18 of 50 GB/s.
NVLINK = {"V100": 150e9, "A100": 300e9, "H100": 450e9, "H200": 450e9, "GH200": 450e9, "B200": 900e9, "GB200": 900e9}
WITHOUT_NVLINK = {"T4", "A2", "A10", "A16", "L4", "L40", "L40S"}
# Watts as delivered. A name counts whole: an H100 on a PCIe card has half the power of one on a baseboard.
DEFAULT_POWER = {
    "V100-SXM2-16GB": 300, "V100-SXM2-32GB": 300, "V100-PCIE-16GB": 250, "V100-PCIE-32GB": 250, "T4": 70,
    "A100-SXM4-40GB": 400, "A100-SXM4-80GB": 400, "A100-PCIE-40GB": 250, "A100 80GB PCIe": 300,
    "A10": 150, "A30": 165, "A40": 300, "L4": 72, "L40": 300, "L40S": 350,
    "H100 80GB HBM3": 700, "H100 PCIe": 350, "H200": 700, "H200 NVL": 600, "B200": 1000,
}  # fmt: skip


def find_nvlink_peak(model: str) -> float | None:
    words = re.split(r"[ -]", model)
    return next((peak for word, peak in NVLINK.items() if word in words), None)


def has_no_nvlink(model: str) -> bool:
    return not WITHOUT_NVLINK.isdisjoint(model.split())


def find_default_power(model: str) -> float | None:
    return DEFAULT_POWER.get(model.removeprefix("NVIDIA ").removeprefix("Tesla "))
