"""Words for the basis of a number in a report.

Activity for which utilisation stands in is measured, too: utilisation is another quantity, and no computed one.
"""

from collections.abc import Mapping
from typing import Literal

Basis = Literal["measured", "allocated", "copied", "derived"]
BASES: Mapping[Basis, str] = {
    "measured": "sent by an exporter, also as a sum or a mean over GPUs or time",
    "allocated": "given by Kubernetes or asked of it, whether it is used or not",
    "copied": "of a whole device, which several pods or MIG instances share",
    "derived": "computed from other quantities",
}
MARKS: Mapping[Basis, str] = {"copied": "^", "derived": "~"}
"""A mark stands behind a number that is neither plainly measured nor allocated."""
