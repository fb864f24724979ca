"""The loads of dcgmproftester, by DCGM's field, and from which value on a field is as DCGM expects it.

DCGM 4.6.0, dcgmproftester/: PhysicalGpu.cpp (RunTests names the load of a field, each tick handler the limits that
Validate compares with, IsComputeUnoptimized and IsHardwareNonDeterministic what differs by compute capability),
DcgmProfTester.cpp (ParseCommandLine: FP64 and FP16), Arguments.cpp (ProcessFieldIds: a tolerance of 10 %, where the
limits are not those of ParseCommandLine). Never run against a GPU.
"""

from dataclasses import dataclass

from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.gpus.burn.output import Output
from gpustack.metrics.fields import Field, find_fields, short

# The graphics engine, SMs and their occupancy have one load, that of the greatest occupancy. Without this option each
# of them rises from nothing for the whole time.
GREATEST = "--target-max-value"
ENGINE, SM, OCCUPANCY, TENSOR, DRAM, FP64, FP32, FP16 = map(str, range(1001, 1009))
FIGURES = {TENSOR: "gflops", DRAM: "GiB/sec"}
"""What dcgmproftester counts itself beside the field, in its words."""
TOLERANCE = 0.9
UNTESTED = {"1009": "PCIe", "1010": "PCIe", "1011": "NVLink", "1012": "NVLink"}
# The most dcgmproftester takes between two lines.
REPORT_MOST = 10
CAPABILITIES = ((7, 0), (7, 5), (8, 6), (9, 0))
"""One of each kind that DCGM tells apart."""


@dataclass(frozen=True)
class Load:
    field: Field

    def words(self, seconds: int) -> tuple[str, ...]:
        """Options of dcgmproftester. It does not measure itself: that needs SYS_ADMIN, and before Hopper the counters,
        which the exporter's engine holds (DcgmProfTester.cpp, WatchFields). All log lines go where the test ends."""
        report = max(1, min(REPORT_MOST, seconds // 60))
        words = ("-t", self.field.id, "-d", str(seconds), "-r", str(report), "--no-dcgm-validation")
        return (*words, GREATEST) if self.field.id in (ENGINE, SM, OCCUPANCY) else words

    @property
    def figure(self) -> str:
        """Unit of what it counts itself; empty where it counts nothing."""
        return FIGURES.get(self.field.id, "")

    def floor(self, output: Output) -> tuple[float, float] | None:
        """Below the first value it is certainly too little, from the second one on certainly enough: they differ where
        the compute capability is not known. None where nothing is known to compare with."""
        if self.field.id == DRAM:
            if not output.generated:
                return None
            moved = output.generated * output.divisor * TOLERANCE
            return moved, moved
        known = (output.capability,) if output.capability else CAPABILITIES
        floors = [floor(self.field.id, capability) for capability in known]
        return min(floors), max(floors)


def floor(id: str, capability: tuple[int, int]) -> float:
    """As DCGM accepts it: the limit of its test, less the tolerance where that test has one."""
    if id in (FP64, FP16):
        return 0.5
    if id in (ENGINE, SM, OCCUPANCY):
        return TOLERANCE
    if id == TENSOR and capability in ((7, 5), (8, 6)):
        return 0.2 * TOLERANCE
    return (0.4 if capability >= (8, 6) else 0.5) * TOLERANCE


def loads() -> tuple[Load, ...]:
    return tuple(Load(find_fields(id)[0]) for id in (ENGINE, SM, OCCUPANCY, TENSOR, DRAM, FP64, FP32, FP16))


def choose_load(word: str) -> Load:
    """By any spelling of the field or its end (tensor-active), or its id. Raises UsageError."""
    wanted = word.strip().upper().replace("-", "_")
    ids = {field.id for field in find_fields(wanted)}
    found = [
        load
        for load in loads()
        if load.field.id in ids or any(short(name).endswith(f"_{wanted}") for name in load.field.spellings)
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(short(load.field.name).lower().replace("_", "-") for load in loads())
    link = next((UNTESTED[id] for id in ids if id in UNTESTED), "")
    why = f"{link} is tested by gpustack gpu diag -r 2." if link else f"There is one for {names}."
    raise UsageError(
        "gpu-no-load", f"There is no load for the field {word}.", why, Command("gpustack", "explain", "gpu-no-load")
    )
