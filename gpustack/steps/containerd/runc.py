"""runc on kernels that write over its memory when it sets the rules for a container's devices.

It is a warning and no refusal: most containers start nevertheless, no repository may have the repair yet, and the
version of a distribution does not show which repairs were taken over into it.
"""

import re

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.containerd.runc import RUNC
from gpustack.probes.packages.software import PACKAGES

Version = tuple[int, int, int]
NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
DEFECT = "kernels that write over runc's memory"
PAGE = "runc-kernel"
CONSEQUENCE = f"containers would fail at random (gpustack explain {PAGE})"


def describe_overwritten_runc(view: View) -> str:
    """Describe a runc without the repair on a kernel that needs it, or why that is unknown; empty where runc is not
    needed or good, and where nothing is known of the host, which is said elsewhere."""
    if view.host not in view.hosts or not view.has_fact(PACKAGES) or not view[PACKAGES]["containerd.io"]:
        return ""
    try:
        runc = view[RUNC]
    except FactUnavailable as error:
        return f"whether runc has the repair for {DEFECT} is unknown ({error}): {CONSEQUENCE}"
    kernel, version = parse_version(runc.kernel), parse_version(runc.version)
    if (kernel and not needs_repair(view, kernel)) or (version and has_repair(view, version)):
        return ""
    is_such = (
        f"{runc.kernel} may be such a kernel" if kernel else f"it is unknown whether {runc.kernel} is such a kernel"
    )
    if not version:
        reason = f"its version is {runc.version}" if runc.version else "there is none"
        return f"whether runc has the repair for {DEFECT} is unknown ({reason}), and {is_such}: {CONSEQUENCE}"
    verb = "lacks" if NUMBERS.fullmatch(runc.version) else "may lack"
    return f"runc {runc.version} {verb} the repair for {DEFECT}, and {is_such}: {CONSEQUENCE}"


def parse_version(text: str) -> Version | None:
    """Parse the numbers at the beginning of a version, or None where it has none. A missing patch is 0."""
    match = NUMBERS.match(text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def needs_repair(view: View, kernel: Version) -> bool:
    """Tell whether a kernel of that version writes over runc's memory, unless its distribution repaired it."""
    ranges = (
        (parse_version(first), parse_version(repaired_version))
        for first, repaired_version in view.versions.runc_kernels
    )
    return any(first and repaired_version and first <= kernel < repaired_version for first, repaired_version in ranges)


def has_repair(view: View, version: Version) -> bool:
    """Tell whether a runc of that version was released with the repair."""
    repaired_versions = {first[:2]: first for text in view.versions.runc_patches if (first := parse_version(text))}
    return version >= repaired_versions.get(version[:2], max(repaired_versions.values()))
