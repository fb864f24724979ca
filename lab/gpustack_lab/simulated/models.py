"""The GPU models that a lab host can have.

Figures are as in their makers' data sheets, rounded; PCI ids as in pci.ids. The output of NVML, nvidia-smi and the
exporter follows from them; nothing of the product may depend on a figure.
"""

from dataclasses import dataclass

from gpustack.command import Command
from gpustack.errors import LabError


@dataclass(frozen=True)
class Model:
    """Describe a model. `device` is the PCI device id; `memory` is in MiB; `limit` and `idle` are in W; clocks are in
    MHz. From `warm` °C on the driver slows it down, from `hot` on the hardware does. `architecture` is NVML's
    number."""

    key: str
    name: str
    device: int
    memory: int
    architecture: int
    capability: str
    limit: int
    idle: int
    sm_clock: int
    memory_clock: int
    warm: int
    hot: int
    pcie: int
    mig: bool


MODELS = {
    model.key: model
    for model in (
        Model("T4", "Tesla T4", 0x1EB8, 15360, 6, "7.5", 70, 10, 1590, 5001, 85, 93, 3, mig=False),
        Model("A10", "NVIDIA A10", 0x2236, 23028, 7, "8.6", 150, 16, 1695, 6251, 88, 95, 4, mig=False),
        Model("A30", "NVIDIA A30", 0x20B7, 24576, 7, "8.0", 165, 28, 1440, 1215, 85, 92, 4, mig=True),
        Model("A100", "NVIDIA A100-SXM4-80GB", 0x20B2, 81920, 7, "8.0", 400, 52, 1410, 1593, 85, 92, 4, mig=True),
        Model("L4", "NVIDIA L4", 0x27B8, 23034, 8, "8.9", 72, 16, 2040, 6251, 85, 93, 4, mig=False),
        Model("L40S", "NVIDIA L40S", 0x26B9, 46068, 8, "8.9", 350, 35, 2520, 9001, 87, 93, 4, mig=False),
        Model("H100", "NVIDIA H100 80GB HBM3", 0x2330, 81559, 9, "9.0", 700, 71, 1980, 2619, 87, 91, 5, mig=True),
        Model("H200", "NVIDIA H200", 0x2335, 143771, 9, "9.0", 700, 76, 1980, 3201, 87, 91, 5, mig=True),
        Model("B200", "NVIDIA B200", 0x2901, 183359, 10, "10.0", 1000, 140, 1965, 3996, 87, 91, 6, mig=True),
    )
}
DEFAULT = "H100"


def select_model(key: str) -> Model:
    """Select a model, in upper or lower case. Raise LabError for an unknown one."""
    model = MODELS.get(key.upper())
    if model is None:
        raise LabError(
            "lab-bad-request",
            f"There is no simulated GPU {key!r}.",
            f"There are {', '.join(MODELS)}.",
            Command("gpustack", "lab", "up", "--gpus", "2", "--model", DEFAULT),
        )
    return model
