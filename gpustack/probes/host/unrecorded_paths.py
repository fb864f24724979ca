"""Files that a step of gpustack may have put on a host without recording them, as an earlier release did."""

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.host.declaration import find_kinds, list_declared
from gpustack.probes.host.ownership import RECORD

FILES, DATA = list_declared("file"), [path for path in list_declared("data") if "*" not in path]


def parse_paths(answer: Answer) -> tuple[str, ...]:
    """Parse a path on each line. Raise ValueError where no step declares one of them."""
    paths = tuple(answer.stdout.splitlines())
    if not all(map(find_kinds, paths)):
        raise ValueError(answer.stdout)
    return paths


UNRECORDED_PATHS = Probe(
    "owned.unrecorded",
    Lines(f"""record_paths=$(sed -n 's/^"\\(\\/[^"]*\\)": .*/\\1/p' {RECORD} 2>/dev/null)
ask() {{
  # No file of gpustack has such a name, and a pattern finds what others put beside them.
  case $1 in *[!A-Za-z0-9/_.@-]* | *..*) return ;; esac
  case "
$record_paths
" in *"
$1
"*) ;; *) [ ! -e "$1" ] || echo "$1" ;; esac
}}
for path in {" ".join(dict.fromkeys((*FILES, *DATA)))}; do ask "$path"; done
for path in {" ".join(list_declared("marked"))}; do
  ! head -n 1 "$path" 2>/dev/null | grep -q '^# Written by gpustack' || ask "$path"
done
exit 0"""),
    parse_paths,
    manual_command=f"cat {RECORD}",
)
