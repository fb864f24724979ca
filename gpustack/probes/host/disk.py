"""The disk below images, containers, logs and etcd: its room, whether it is read-only, what the kernel says of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import number
from gpustack.probes.sections import read_sections


@dataclass(frozen=True)
class Room:
    """Of the file system below a path: per cent of space and of inodes that are free. 100 where none are counted."""

    space: int
    inodes: int


@dataclass(frozen=True)
class Disk:
    """`rooms` by path; `readonly` paths cannot be written to; `errors` are lines of the kernel about these devices."""

    rooms: Mapping[str, Room]
    readonly: tuple[str, ...]
    errors: tuple[str, ...]


def disk(answer: Answer) -> Disk:
    """Raises ValueError for an answer of another shape."""
    rooms, mounts, errors = read_sections(answer.out, "room", "mounts", "errors")
    found = {path: room(*numbers) for path, *numbers in (line.split(" ") for line in rooms)}
    states = dict(line.split(" ") for line in mounts)
    if not set(states.values()) <= {"ro", "rw"} or not all(line.startswith("| ") for line in errors):
        raise ValueError(answer.out)
    readonly = tuple(path for path, state in states.items() if state == "ro")
    return Disk(found, readonly, tuple(line.removeprefix("| ") for line in errors))


def room(size: str, free: str, inodes: str, free_inodes: str) -> Room:
    """btrfs counts no inodes."""
    return Room(share(free, size), share(free_inodes, inodes))


def share(part: str, whole: str) -> int:
    return min(100, 100 * number(part) // number(whole)) if number(whole) else 100


def writable(folder: str) -> str:
    """A test of sh: the file system of a folder has free blocks left, with those that are kept for root."""
    return f'[ "$(stat -f -c %f {folder})" -gt 15 ]'


DISK = Probe(
    "storage.disk",
    Lines(r"""echo '== room'
set --
for path in /var/lib/kubelet /var/lib/containerd /var/log; do
  [ ! -d "$path" ] || set -- "$@" "$path"
done
[ $# -eq 0 ] || { printf '%s\n' "$@"; df -Pk "$@"; df -Pi "$@"; } | awk -v paths=$# '
  NR <= paths {said[NR] = $0; next}
  /^Filesystem / {at = 0; next}
  {said[++at] = said[at] " " ($2 == "-" ? 0 : $2) " " ($4 == "-" ? 0 : $4)}
  END {for (at = 1; at <= paths; at++) print said[at]}'
echo '== mounts'
devices='' seen=''
for path in /etc /var /var/log /var/lib/kubelet /var/lib/containerd /var/lib/etcd; do
  [ -d "$path" ] || continue
  mount=$(findmnt -nro SOURCE,OPTIONS -T "$path") || exit
  mount=${mount##*
}
  options=${mount##* } device=${mount%% *}
  echo "$path ${options%%,*}"
  device=${device%%\[*}
  case "$seen " in *" $device "*) continue ;; esac
  seen="$seen $device"
  devices="$devices $(lsblk -snlo NAME "$device" 2>/dev/null || echo "${device##*/}")"
done
echo '== errors'
names=$(echo "$devices" | tr ' ' '\n' | sort -u | grep -E '^[a-z0-9-]+$' | tr '\n' '|')
journalctl -k -b -n 3000 -o cat --no-pager 2>/dev/null |
  grep -E "(I/O error|EXT4-fs|XFS|BTRFS|Aborting journal).*\b(${names%|})\b" |
  grep -E 'I/O error|EXT4-fs error|[Rr]emounting filesystem read-only|[Cc]orruption|[Ss]hut|forced readonly|Aborting' |
  tail -n 3 | cut -c1-200 | sed 's/^/| /'
exit 0"""),
    disk,
    like="df -k /var/lib/kubelet /var/lib/containerd /var/log; findmnt",
)
