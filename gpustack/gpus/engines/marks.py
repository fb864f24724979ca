"""What is changed for a time stands on the node itself, with its deadline: the annotation gpustack.io/temporary. It is
written before the change and taken away after it was put back, so that a gpustack that was killed leaves a trace for
the next one. How something is put back is named here, never in the annotation, which others may write.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gpustack.ask.api import ADMIN
from gpustack.probes.gpu.engine_pods import TEMPORARY

BACK: Mapping[str, Sequence[str]] = {"profiling-paused": ("profile", "--resume")}


@dataclass(frozen=True)
class Mark:
    """`what` is a key of BACK, `until` the deadline, `who` made the change."""

    what: str
    until: datetime
    who: str

    @property
    def text(self) -> str:
        until = self.until.isoformat(timespec="seconds")
        return json.dumps({"what": self.what, "until": until, "who": self.who})


def read_mark(text: str) -> Mark | None:
    """None for what is not of this shape."""
    try:
        found = json.loads(text)
        mark = Mark(str(found["what"]), datetime.fromisoformat(found["until"]), str(found["who"]))
    except (ValueError, LookupError, TypeError):
        return None
    return mark if mark.what in BACK and mark.until.tzinfo else None


def write_command(nodes: Sequence[str], mark: Mark) -> str:
    return f"kubectl {ADMIN} annotate --overwrite node {shlex.join(nodes)} {shlex.quote(f'{TEMPORARY}={mark.text}')}"


def remove_command(nodes: Sequence[str]) -> str:
    return f"kubectl {ADMIN} annotate node {shlex.join(nodes)} {TEMPORARY}-"
