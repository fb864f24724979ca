"""Check of step prereqs on the mirror that the spec names."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.config.spec import Mirror
from gpustack.probes.mirror import SERVED


def mirror_purpose(here: View) -> Result | None:
    """A mirror serves the vendors' own packages and images; one of stand-ins only where the spec says
    `source.purpose: lab` (one that does not answer is asked again before anything of it is installed)."""
    source = here.spec.source
    if not isinstance(source, Mirror) or source.purpose == "lab":
        return None
    served = here[SERVED]
    if served.status not in (200, 404) or served.purpose == "production":
        return None
    hint = "gpustack explain mirror-of-stand-ins"
    return Result(f"purpose of {source.mirror}", "production", served.purpose or "not said", "operator", hint=hint)


CHECKS = (mirror_purpose,)
