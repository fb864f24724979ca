"""Error codes of DCGM's health watches. The table is gpustack/versions/health-codes.csv."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpustack.config.versions import read_rows

PASS_VALUE, FAILURE_VALUE = 0, 20
"""Values of a watch that found nothing, and of one that failed; between them DCGM warns (dcgm_structs.h,
dcgmHealthWatchResults_t)."""


@dataclass(frozen=True)
class HealthCode:
    """Describe a code. `origin` is what DCGM takes it from: driver, xid or dcgm. `verdict` is what a GPU with it
    needs, empty where the code says nothing of one GPU."""

    code: str
    origin: str
    verdict: str


@cache
def load_health_codes() -> Mapping[str, HealthCode]:
    return {code: HealthCode(code, origin, verdict) for code, _, _, origin, verdict in read_rows("health-codes.csv")}
