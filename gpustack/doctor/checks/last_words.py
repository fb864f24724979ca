"""The last words of a unit that ended by itself, which name the reason."""

from gpustack.ask.view import View
from gpustack.probes.host.failed_units import FAILED_UNITS


def find_last_words(view: View, service: str) -> str:
    """Return the last line of the processes of a unit that failed. Return an empty text where it did not fail, and
    where that is unknown."""
    failed_units = view[FAILED_UNITS] if view.has_fact(FAILED_UNITS) else ()
    return next((unit.messages[-1] for unit in failed_units if unit.name == service and unit.messages), "")
