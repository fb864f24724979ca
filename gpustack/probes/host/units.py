"""systemd units as the running manager knows them."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import FLAGS, parse_integer

# Programs that keep the clock, by their unit in Debian and Ubuntu.
CLOCKS = ("systemd-timesyncd", "chrony", "ntpsec", "ntp", "openntpd")
PLATFORM_UNITS = frozenset({
    "containerd", "kubelet", "nvidia-fabricmanager", "nvidia-persistenced", "nvidia-imex", "nvidia-dcgm", "nftables",
    "systemd-modules-load", "systemd-networkd", "systemd-resolved", "systemd-sysctl", "systemd-timesyncd", "chrony",
})  # fmt: skip
"""Services on which nodes and GPUs rest. The others are the site's."""
MOMENT = 15
"""The seconds within which a unit is unsettled. containerd's unit waits 5 before it restarts (RestartSec in
containerd.service)."""


@dataclass(frozen=True)
class Unit:
    """Describe a unit.

    `file` is the unit file's state (enabled, masked, …), `active_since` when it became active, in seconds of the epoch,
    and `age` how many seconds ago that was by the host's own clock (None in recordings of earlier releases). `moving`:
    it is being started or stopped, for the first time or because it ended a moment ago; not again and again after it
    failed. `restarts` counts how often systemd started it again because it had ended, since somebody else started it.
    `ended`: its last run ended by itself and not well, or it is started again and again.
    """

    active: bool
    file: str
    active_since: int | None
    moving: bool = False
    age: int | None = None
    restarts: int = 0
    ended: bool = False


def parse_units(answer: Answer) -> Mapping[str, Unit | None]:
    """Parse units by name without `.service`; None for a unit that does not exist.

    Raise ValueError where no unit is shown: systemctl also shows units that do not exist.
    """
    units = {
        name: build_unit(properties, current_time)
        for name, properties, current_time in parse_unit_blocks(answer.stdout)
    }
    if not units:
        raise ValueError("no unit")
    return units


def parse_unit_blocks(text: str) -> list[tuple[str, Mapping[str, str], int | None]]:
    """Parse for each unit the properties that systemctl shows, and the host's clock then, in seconds of the epoch."""
    blocks = [dict(line.split("=", 1) for line in part.splitlines()) for part in text.strip().split("\n\n")]
    clocks = [parse_integer(block["Now"]) for block in blocks if "Now" in block]
    current_time = clocks[0] if clocks else None
    return [(block["Id"].removesuffix(".service"), block, current_time) for block in blocks if "Now" not in block]


def build_unit(properties: Mapping[str, str], current_time: int | None) -> Unit | None:
    """Build a unit from its properties, or None for one that does not exist.

    systemd counts restarts for as long as nobody else starts the unit (src/core/service.c), so that one that ran for
    days may have some; while it waits for the next one, it reports whether the last run ended well. Recordings of
    earlier releases have fewer properties.
    """
    if properties["LoadState"] == "not-found":
        return None
    active_since, state = parse_systemd_time(properties["ActiveEnterTimestamp"]), properties["ActiveState"]
    has_failed = properties.get("SubState") in (None, "auto-restart") and properties.get("Result") != "success"
    restarts = parse_integer(properties.get("NRestarts", "0"))
    has_restarted = restarts > 0 and not is_recent(properties.get("ActiveExitTimestamp", ""), current_time)
    is_moving = state in ("activating", "deactivating") and not has_failed and not has_restarted
    age = current_time - active_since if current_time is not None and active_since is not None else None
    has_ended = properties.get("Result", "success") != "success" or (
        state == "activating" and (has_failed or has_restarted)
    )
    return Unit(state == "active", properties["UnitFileState"], active_since, is_moving, age, restarts, has_ended)


def is_unsettled(text: str) -> bool:
    """Tell whether a shown unit is being started, or was a moment ago."""
    for _, properties, current_time in parse_unit_blocks(text):
        unit = build_unit(properties, current_time)
        if unit and (unit.moving or (unit.active and is_recent(properties["ActiveEnterTimestamp"], current_time))):
            return True
    return False


def is_recent(time: str, current_time: int | None) -> bool:
    """Tell whether a time of systemd is known and at most a moment ago."""
    timestamp = parse_systemd_time(time)
    return current_time is not None and timestamp is not None and current_time - timestamp <= MOMENT


def parse_systemd_time(time: str) -> int | None:
    return parse_integer(time.removeprefix("@")) if time else None


def is_clock_synchronized(answer: Answer) -> bool:
    """Tell whether the clock is synchronized, by whatever program."""
    return FLAGS[answer.stdout.strip()]


PROPERTIES = "Id,LoadState,ActiveState,SubState,Result,NRestarts,UnitFileState,ActiveEnterTimestamp,ActiveExitTimestamp"


def build_units_script(*names: str) -> str:
    """Build a script that prints these units for `parse_units`, times as seconds of the epoch (`@1795237683`).

    systemctl prints them so itself from systemd 251 on (--timestamp=unix: systemd/systemd pull request 22568); before,
    it prints them for the zone of TZ, whose abbreviation means another zone to date(1) where it is not UTC.
    """
    return rf"""properties=$(TZ=UTC systemctl show -p {PROPERTIES} {" ".join(names)}) || exit
times=$(printf 'now\n%s\n' "$properties" | while IFS= read -r line; do
  case $line in now | *Timestamp=?*) echo "${{line#*=}}" ;; esac
done | date -f - +%s) || exit
{{
  read -r current_time <&3
  printf 'Now=%s\n\n' "$current_time"
  printf '%s\n' "$properties" | while IFS= read -r line; do
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
    Lines(build_units_script("containerd", "kubelet", *CLOCKS)),
    parse_units,
    manual_command="systemctl status containerd kubelet",
)
# timesyncd keeps this file from its first success on (systemd-timesyncd.service(8)); asking timedated starts a service.
CLOCK = Probe(
    "units.clock",
    Lines("""if [ -e /run/systemd/timesync/synchronized ]; then
  echo yes
else
  timedatectl show -p NTPSynchronized --value
fi"""),
    is_clock_synchronized,
    manual_command="timedatectl",
)
