"""What a boot would load, and whether the running kernel still has its modules."""

from dataclasses import dataclass
from typing import Literal

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import read_sections

Folder = Literal["whole", "empty", "none"]


@dataclass(frozen=True)
class Boot:
    """`release` is the running kernel, `folder` that of its modules; `others` are kernels that have theirs. `named` are
    modules that files of modules-load.d name, `builtin` those that the kernel has in itself."""

    release: str
    folder: Folder
    others: tuple[str, ...]
    named: frozenset[str]
    builtin: frozenset[str]


def boot(answer: Answer) -> Boot:
    """Raises ValueError for an answer of another shape."""
    (kernel,), others, named, builtin = read_sections(answer.out, "kernel", "others", "named", "builtin")
    release, folder = kernel.split(" ")
    kinds: dict[str, Folder] = {"whole": "whole", "empty": "empty", "none": "none"}
    return Boot(release, kinds[folder], tuple(others), frozenset(line.strip() for line in named), frozenset(builtin))


# modules-load.d(5); /etc/modules is Debian's name for one of its files.
BOOT = Probe(
    "kernel.boot",
    Lines(r"""release=$(uname -r) folder=none
[ ! -d "/lib/modules/$release" ] || folder=empty
for file in modules.dep modules.builtin kernel; do
  [ ! -e "/lib/modules/$release/$file" ] || folder=whole
done
printf '== kernel\n%s %s\n== others\n' "$release" "$folder"
for file in /lib/modules/*/modules.dep; do
  dir=${file%/modules.dep}
  [ ! -e "$file" ] || [ "${dir##*/}" = "$release" ] || echo "${dir##*/}"
done
echo '== named'
for dir in /etc /run /usr/local/lib /usr/lib; do
  cat "$dir"/modules-load.d/*.conf 2>/dev/null
done | grep -vE '^ *([#;]|$)' || [ $? -eq 1 ] || exit
[ ! -e /etc/modules ] || grep -vE '^ *([#;]|$)' /etc/modules || [ $? -eq 1 ] || exit
echo '== builtin'
list=/lib/modules/$release/modules.builtin
for name in overlay br_netfilter; do
  if [ -e "$list" ]; then
    grep -q "/$name\.ko" "$list"
    case $? in 0) echo "$name" ;; 1) ;; *) exit 1 ;; esac
  fi
done
exit 0"""),
    boot,
    like="uname -r; ls /lib/modules",
)
