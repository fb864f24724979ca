"""Check of step prereqs for the mirror that the spec names."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.spec import Mirror
from gpustack.probes.containerd.mirror import MIRROR_STATE


def mirror_purpose(view: View) -> Result | None:
    """The mirror serves the original packages and images of the vendors; a mirror of simulated ones is allowed only if
    the spec has `source.purpose: lab` (a mirror that does not respond is checked again before anything is installed
    from it)."""
    source = view.spec.source
    if not isinstance(source, Mirror) or source.purpose == "lab":
        return None
    served = view[MIRROR_STATE]
    if served.status not in (200, 404) or served.purpose == "production":
        return None
    hint = Command("gpustack", "explain", "mirror-of-stand-ins")
    return Result(f"purpose of {source.mirror}", "production", served.purpose or "not stated", "operator", hint=hint)


CHECKS = (mirror_purpose,)
