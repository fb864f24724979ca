"""The silence of the alerts that a reboot causes, which is tried again until Alertmanager takes it: the drain may have
just moved Alertmanager, or the boot may have ended it."""

from dataclasses import dataclass

from gpustack.events import Event
from gpustack.proof.silence import create_silence
from gpustack.rollout.run import Run


@dataclass
class RebootSilence:
    """Silence the alerts of a node for a reboot of so many seconds. `reason` is why that has failed so far."""

    node: str
    seconds: float
    reason: str = ""

    def begin(self, run: Run) -> None:
        """Create the silence. A failure is recorded as a note, and raises no error."""
        self.reason = create_silence(run, [self.node], self.seconds, "reboot")
        if self.reason:
            run.record(Event("note", self.node, f"alerts of the reboot are not silenced yet: {self.reason}"))

    def repeat(self, run: Run) -> None:
        """Try once more to create the silence if that has failed so far."""
        if not self.reason:
            return
        self.reason = create_silence(run, [self.node], self.seconds, "reboot")
        if not self.reason:
            run.record(Event("note", self.node, "alerts of the reboot are silenced now"))
