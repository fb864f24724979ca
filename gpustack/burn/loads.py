"""Loads of dcgmproftester by DCGM's field, and the least value of the field that DCGM accepts.

DCGM 4.6.0, dcgmproftester/: PhysicalGpu.cpp (RunTests names the load of a field, each tick handler the limits that
Validate compares with, IsComputeUnoptimized and IsHardwareNonDeterministic what differs by compute capability),
DcgmProfTester.cpp (ParseCommandLine: FP64 and FP16), Arguments.cpp (ProcessFieldIds: a tolerance of 10 %, where the
limits are not those of ParseCommandLine). It never ran against a GPU.
"""

from dataclasses import dataclass

from gpustack.burn.output import Output
from gpustack.config.complaint import describe_choice
from gpustack.errors import UsageError
from gpustack.vocabulary.fields import Field, find_fields, strip_prefix

# The graphics engine, SMs and their occupancy have one load, that of the greatest occupancy. Without this option each
# of them rises from nothing for the whole time.
GREATEST = "--target-max-value"
ENGINE, SM, OCCUPANCY, TENSOR, DRAM, FP64, FP32, FP16 = map(str, range(1001, 1009))
FIGURES = {TENSOR: "gflops", DRAM: "GiB/sec"}
"""Units of the counts that dcgmproftester makes beside the field."""
TOLERANCE = 0.9
LINK_FIELDS = {"1009": "PCIe", "1010": "PCIe", "1011": "NVLink", "1012": "NVLink"}
# The most dcgmproftester takes between two lines.
REPORT_MOST = 10
CAPABILITIES = ((7, 0), (7, 5), (8, 6), (9, 0))
"""A compute capability of each kind that DCGM tells apart."""


@dataclass(frozen=True)
class Load:
    field: Field

    def build_options(self, seconds: int) -> tuple[str, ...]:
        """Build the options of dcgmproftester. It does not measure itself: that needs SYS_ADMIN, and before Hopper the
        counters, which the exporter's engine holds (DcgmProfTester.cpp, WatchFields). All log lines go where the test
        ends."""
        report = max(1, min(REPORT_MOST, seconds // 60))
        words = ("-t", self.field.id, "-d", str(seconds), "-r", str(report), "--no-dcgm-validation")
        return (*words, GREATEST) if self.field.id in (ENGINE, SM, OCCUPANCY) else words

    @property
    def figure(self) -> str:
        """Return the unit of dcgmproftester's own count; it is empty where it counts nothing."""
        return FIGURES.get(self.field.id, "")

    def compute_floor(self, output: Output) -> tuple[float, float] | None:
        """Compute two limits: a value below the first is certainly too low, one from the second on is certainly enough.
        They differ where the compute capability is not known. Return None where no limit is known."""
        if self.field.id == DRAM:
            if not output.bandwidth_share:
                return None
            bandwidth = output.bandwidth_share * output.divisor * TOLERANCE
            return bandwidth, bandwidth
        capabilities = (output.capability,) if output.capability else CAPABILITIES
        floors = [compute_field_floor(self.field.id, capability) for capability in capabilities]
        return min(floors), max(floors)


def compute_field_floor(id: str, capability: tuple[int, int]) -> float:
    """Compute the least value that DCGM accepts: the limit of its test, less the tolerance where that test has one."""
    if id in (FP64, FP16):
        return 0.5
    if id in (ENGINE, SM, OCCUPANCY):
        return TOLERANCE
    if id == TENSOR and capability in ((7, 5), (8, 6)):
        return 0.2 * TOLERANCE
    return (0.4 if capability >= (8, 6) else 0.5) * TOLERANCE


def list_loads() -> tuple[Load, ...]:
    return tuple(Load(find_fields(id)[0]) for id in (ENGINE, SM, OCCUPANCY, TENSOR, DRAM, FP64, FP32, FP16))


def list_load_names() -> list[str]:
    return [strip_prefix(load.field.name).lower().replace("_", "-") for load in list_loads()]


def choose_load(word: str) -> Load:
    """Choose a load by any spelling of its field, by the end of one (tensor-active), or by its id. Raise UsageError
    where there is none."""
    field_name = word.strip().upper().replace("-", "_")
    ids = {field.id for field in find_fields(field_name)}
    matches = [
        load
        for load in list_loads()
        if load.field.id in ids or any(strip_prefix(name).endswith(f"_{field_name}") for name in load.field.spellings)
    ]
    if len(matches) == 1:
        return matches[0]
    link = next((LINK_FIELDS[id] for id in ids if id in LINK_FIELDS), "")
    choice = describe_choice([word], list_load_names(), "Fields with a load")
    reason = f"{link} is tested by gpustack gpu diag -r 2." if link else choice
    raise UsageError("gpu-no-load", f"There is no load for the field {word}.", reason)
