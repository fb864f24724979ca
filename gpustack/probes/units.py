"""systemd units as the running manager knows them."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.read import number

# Programs that keep the clock, by their unit in Debian and Ubuntu.
CLOCKS = ("systemd-timesyncd", "chrony", "ntpsec", "ntp", "openntpd")


@dataclass(frozen=True)
class Unit:
    """`file` is the unit file's state (enabled, masked, …), `since` when it became active, in seconds of the epoch.
    `moving`: it is just being started or stopped, and not once more after it failed."""

    active: bool
    file: str
    since: int | None
    moving: bool = False


def units(answer: Answer) -> Mapping[str, Unit | None]:
    """By name without `.service`; None for a unit that does not exist."""
    found: dict[str, Unit | None] = {}
    for block in answer.out.strip().split("\n\n"):
        said = dict(line.split("=", 1) for line in block.splitlines())
        stamp = said["ActiveEnterTimestamp"].removeprefix("@")
        state = said["ActiveState"]
        # systemd counts anew when somebody else starts it (src/core/service.c). Recordings of before have neither.
        again = said.get("SubState") in (None, "auto-restart") or said.get("NRestarts", "0") != "0"
        moving = state in ("activating", "deactivating") and not again
        unit = Unit(state == "active", said["UnitFileState"], number(stamp) if stamp else None, moving)
        found[said["Id"].removesuffix(".service")] = None if said["LoadState"] == "not-found" else unit
    return found


def clock(answer: Answer) -> bool:
    """Whether the clock is synchronised, whoever keeps the time."""
    return {"yes": True, "no": False}[answer.out.strip()]


UNITS = Probe(
    "units.services",
    Lines(
        "systemctl show --timestamp=unix"
        " -p Id,LoadState,ActiveState,SubState,NRestarts,UnitFileState,ActiveEnterTimestamp"
        f" containerd kubelet {' '.join(CLOCKS)}"
    ),
    units,
    like="systemctl status containerd kubelet",
)
# timesyncd keeps this file from its first success on (systemd-timesyncd.service(8)); asking timedated starts a service.
CLOCK = Probe(
    "units.clock",
    Lines("""if [ -e /run/systemd/timesync/synchronized ]; then
  echo yes
else
  timedatectl show -p NTPSynchronized --value
fi"""),
    clock,
    like="timedatectl",
)
