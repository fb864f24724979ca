"""A page of an exporter with one GPU that decodes a language model."""

VALUES = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.99,
    "DCGM_FI_PROF_SM_ACTIVE": 0.9,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.06,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.7,
    "DCGM_FI_DEV_ECC_CURRENT": 1,
}
LABELS = 'gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu1",namespace="team-a",pod="train-0"'


def render_page(energy: float) -> str:
    lines = [f"# HELP {name} x\n# TYPE {name} gauge\n{name}{{{LABELS}}} {value}" for name, value in VALUES.items()]
    name = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
    return "\n".join([*lines, f"# HELP {name} x\n# TYPE {name} counter\n{name}{{{LABELS}}} {energy}", ""])
