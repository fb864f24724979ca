"""systemd units as the running manager knows them."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import number

# Programs that keep the clock, by their unit in Debian and Ubuntu.
CLOCKS = ("systemd-timesyncd", "chrony", "ntpsec", "ntp", "openntpd")
MOMENT = 15
"""Seconds. containerd's unit waits 5 before it starts anew (RestartSec in containerd.service)."""


@dataclass(frozen=True)
class Unit:
    """`file` is the unit file's state (enabled, masked, …), `since` when it became active, in seconds of the epoch, and
    `age` how many seconds ago that was by the host's own clock (None in recordings of before).
    `moving`: it is just being started or stopped, for the first time or because it ended a moment ago; not again and
    again after it failed."""

    active: bool
    file: str
    since: int | None
    moving: bool = False
    age: int | None = None


def units(answer: Answer) -> Mapping[str, Unit | None]:
    """By name without `.service`; None for a unit that does not exist. Raises ValueError without any:
    systemctl shows that one, too."""
    found = {name: unit(properties, now) for name, properties, now in read_units(answer.out)}
    if not found:
        raise ValueError("no unit")
    return found


def read_units(text: str) -> list[tuple[str, Mapping[str, str], int | None]]:
    """By unit, what systemctl shows of it, and the host's clock then, in seconds of the epoch."""
    blocks = [dict(line.split("=", 1) for line in part.splitlines()) for part in text.strip().split("\n\n")]
    clocks = [number(block["Now"]) for block in blocks if "Now" in block]
    now = clocks[0] if clocks else None
    return [(block["Id"].removesuffix(".service"), block, now) for block in blocks if "Now" not in block]


def unit(properties: Mapping[str, str], now: int | None) -> Unit | None:
    """systemd counts restarts for as long as nobody else starts it (src/core/service.c), so that one that ran for days
    may have some; waiting for the next, it says whether the last ended well. Recordings of before have less."""
    if properties["LoadState"] == "not-found":
        return None
    since, state = stamp(properties["ActiveEnterTimestamp"]), properties["ActiveState"]
    failed = properties.get("SubState") in (None, "auto-restart") and properties.get("Result") != "success"
    again = properties.get("NRestarts", "0") != "0" and not is_recent(properties.get("ActiveExitTimestamp", ""), now)
    moving = state in ("activating", "deactivating") and not failed and not again
    age = now - since if now is not None and since is not None else None
    return Unit(state == "active", properties["UnitFileState"], since, moving, age)


def is_unsettled(text: str) -> bool:
    """Whether a unit that is shown is being started, or was a moment ago."""
    for _, properties, now in read_units(text):
        found = unit(properties, now)
        if found and (found.moving or (found.active and is_recent(properties["ActiveEnterTimestamp"], now))):
            return True
    return False


def is_recent(time: str, now: int | None) -> bool:
    when = stamp(time)
    return now is not None and when is not None and now - when <= MOMENT


def stamp(time: str) -> int | None:
    return number(time.removeprefix("@")) if time else None


def clock(answer: Answer) -> bool:
    """Whether the clock is synchronised, whoever keeps the time."""
    return {"yes": True, "no": False}[answer.out.strip()]


PROPERTIES = "Id,LoadState,ActiveState,SubState,Result,NRestarts,UnitFileState,ActiveEnterTimestamp,ActiveExitTimestamp"


def show_units(*names: str) -> str:
    """A script that prints these units for `shown`, times as seconds of the epoch (`@1795237683`).

    systemctl prints them so itself from systemd 251 on (--timestamp=unix: systemd/systemd pull request 22568); before,
    it prints them for the zone of TZ, whose abbreviation means another zone to date(1) where it is not UTC."""
    return rf"""shown=$(TZ=UTC systemctl show -p {PROPERTIES} {" ".join(names)}) || exit
times=$(printf 'now\n%s\n' "$shown" | while IFS= read -r line; do
  case $line in now | *Timestamp=?*) echo "${{line#*=}}" ;; esac
done | date -f - +%s) || exit
{{
  read -r now <&3
  printf 'Now=%s\n\n' "$now"
  printf '%s\n' "$shown" | while IFS= read -r line; do
    case $line in *Timestamp=?*)
      read -r epoch <&3 || exit
      line=${{line%%=*}}=@$epoch ;;
    esac
    printf '%s\n' "$line"
  done
}} 3<<TIMES
$times
TIMES"""


UNITS = Probe(
    "units.services",
    Lines(show_units("containerd", "kubelet", *CLOCKS)),
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
