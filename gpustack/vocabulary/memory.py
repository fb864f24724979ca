"""The fields of a GPU's memory, and how its size follows from its parts.

Exporters send the total only when asked to; the parts are in their own list, which had no reservation of the driver
until 3.x: it is a few per cent. DCGM sets FB_TOTAL, FB_USED, FB_FREE and FB_RESERVED from one nvmlMemory_v2_t, of which
the total is the sum of the other three (nvml.h).
"""

from gpustack.vocabulary.fields import DEV

TOTAL_MEMORY, USED_MEMORY, FREE_MEMORY, RESERVED_MEMORY = MEMORY = tuple(
    f"{DEV}FB_{word}" for word in ("TOTAL", "USED", "FREE", "RESERVED")
)
PARTS = USED_MEMORY, FREE_MEMORY, RESERVED_MEMORY
SUMS = ((TOTAL_MEMORY,), PARTS, (USED_MEMORY, FREE_MEMORY))
"""The fields whose sum is the size: the first of these of which all are known."""
