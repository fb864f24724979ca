"""Compare the records of a host with the things that are there."""

from gpustack.probes.host.declaration import read_declaration
from tests.lab.stage import Stage

RECORD = "/var/lib/gpustack-cluster/owned.json"
KINDS = ("file", "marked", "data")


def list_unrecorded(stage: Stage) -> set[str]:
    """List `HOST PATH` of what is there, is declared by a step, and has no record."""
    paths = sorted({path for kinds in read_declaration().values() for kind in KINDS for path in kinds.get(kind, ())})
    script = f"""recorded=$(sed -n 's/^"\\([^"]*\\)": .*/\\1/p' {RECORD} 2>/dev/null || :)
for path in {" ".join(path for path in paths if "*" not in path)}; do
  [ -e "$path" ] || continue
  printf '%s\\n' "$recorded" | grep -qxF "$path" || echo "$path"
done
"""
    return {f"{host.name} {path}" for host in stage.story.lab.hosts for path in stage.on(host.name, script).split()}
