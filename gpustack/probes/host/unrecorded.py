"""Find things that a step of gpustack may have put on a host without recording them, as an earlier release did."""

import shlex

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.host.declaration import list_all, list_declared
from gpustack.probes.host.ownership import RECORD

WHOLE = tuple(path for kind in ("file", "tree", "data") for path in list_declared(kind) if "*" not in path)


def parse_paths(answer: Answer) -> tuple[str, ...]:
    """Parse a path on each line. Raises ValueError for one that no step declares."""
    paths = tuple(answer.out.splitlines())
    if not set(paths) <= list_all():
        raise ValueError(answer.out)
    return paths


UNRECORDED = Probe(
    "owned.unrecorded",
    Lines(f"""recorded=$(sed -n 's/^"\\(\\/[^"]*\\)": .*/\\1/p' {RECORD} 2>/dev/null)
ask() {{
  case "
$recorded
" in *"
$1
"*) ;; *) [ ! -e "$1" ] || echo "$1" ;; esac
}}
for path in {shlex.join(dict.fromkeys(WHOLE))}; do ask "$path"; done
for path in {shlex.join(list_declared("marked"))}; do
  ! head -n 1 "$path" 2>/dev/null | grep -q '^# Written by gpustack' || ask "$path"
done
exit 0"""),
    parse_paths,
    like=f"cat {RECORD}",
)
