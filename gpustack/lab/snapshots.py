"""Save and restore the roots of all hosts of a lab at once."""

from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack.lab import hosts, pool, state
from gpustack.lab.commands import run
from gpustack.lab.state import Record


def save(record: Record, snapshot: str, report: Reporter) -> None:
    """Copy every root as it is on disk now; running hosts as after a power cut. Replaces an older one of that name."""
    if not snapshot.replace("-", "").isalnum():
        raise LabError("lab-bad-request", f"{snapshot!r} is no name for a snapshot", "letters, digits and dashes", "")
    with state.locked(record.name):
        for host in record.hosts:
            target = record.roots / "snapshots" / snapshot / host.name
            if target.exists():
                pool.delete(target)
        run(["btrfs", "filesystem", "sync", str(record.pool)])
        for host in record.hosts:
            pool.copy(hosts.root_of(record, host), record.roots / "snapshots" / snapshot / host.name)
        report(Event("done", record.name, f"saved {len(record.hosts)} hosts as {snapshot}"))


def restore(record: Record, snapshot: str, report: Reporter) -> None:
    """Throw the hosts' roots away, put the saved ones in their place and boot them. Raises LabError if there is none."""
    with state.locked(record.name):
        saved = record.roots / "snapshots" / snapshot
        if not saved.is_dir():
            names = ", ".join(sorted(path.name for path in (record.roots / "snapshots").glob("*"))) or "none"
            raise LabError("lab-unknown-snapshot", f"there is no snapshot {snapshot!r}", f"there are: {names}", "gpustack lab save")
        hosts.kill(record, record.hosts)
        for host in record.hosts:
            root = hosts.root_of(record, host)
            if root.exists():
                pool.delete(root)
            pool.copy(saved / host.name, root)
        hosts.boot(record, record.hosts)
        hosts.wait_for_ssh(record, record.hosts, report)
