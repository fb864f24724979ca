"""Check of step prereqs for the mirror that the spec names."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.sections.sources import Mirror
from gpustack.probes.containerd.mirror import MIRROR_STATE


def mirror_contents(view: View) -> Result | None:
    """The mirror serves the original packages and images of the vendors; a mirror of simulated ones is accepted only if
    the spec has `source.simulated: allowed` (a mirror that does not respond is checked again before anything is
    installed from it)."""
    source = view.spec.source
    if not isinstance(source, Mirror) or source.simulated == "allowed":
        return None
    mirror_state = view[MIRROR_STATE]
    if mirror_state.status not in (200, 404) or mirror_state.simulated is False:
        return None
    actual = "simulated" if mirror_state.simulated else "not stated"
    hint = Command("gpustack", "explain", "mirror-simulated")
    return Result(f"GPU software of {source.mirror}", "the vendors' own", actual, "operator", hint=hint)


CHECKS = (mirror_contents,)
