"""`doctor --fix` and `doctor --undo`: what they ask, what they hold meanwhile, and what they leave."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from gpustack.cli.changing import Change, agreed, changing
from gpustack.errors import RolloutError, UsageError

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.config.host import Host
    from gpustack.config.inventory import Inventory
    from gpustack.doctor.finding import Diagnosis
    from gpustack.events import Reporter
    from gpustack.remedy.fix import Fix
    from gpustack.remedy.fixed import Fixed
    from gpustack.remedy.offer import Offer


def fault_ids(incomplete: str) -> list[str]:
    """Those that a machine can do something about."""
    from gpustack.doctor.graph import graph

    return [id for id, one in graph().faults.items() if one.remedy and id.startswith(incomplete)]


def asked(hosts: "Inventory", report: "Reporter") -> "Snapshot":
    from gpustack.ask.gather import gather
    from gpustack.doctor.diagnose import questions

    return gather(hosts, questions(), report=report)


def holder(hosts: "Inventory", reached: Sequence["Host"]) -> "Host":
    """Who holds the lock: the one that install takes too; without it, the first host at hand."""
    return next(host for host in (*hosts.control_planes[:1], *reached) if host in reached)


def reached(snapshot: "Snapshot") -> list["Host"]:
    """Raises RolloutError where there is none."""
    found = [host for host in snapshot.inventory.hosts if snapshot.reach[host.name].reached]
    if not found:
        why = "\n".join(f"{name}: {one.why}" for name, one in snapshot.reach.items())
        raise RolloutError("fix-no-host", "No host could be asked; nothing was changed.", why, "gpustack doctor")
    return found


def fix(
    hosts: "Inventory",
    wanted: Collection[str],
    yes_to: Collection[str],
    output: str,
    report: "Reporter",
    *,
    yes: bool,
    verbose: bool,
) -> int:
    """The exit status. Raises RolloutError where nothing was agreed to, or nothing can be begun."""
    from gpustack.doctor.diagnose import diagnose
    from gpustack.remedy.fixed import Attempt, Fixed
    from gpustack.remedy.offer import offers
    from gpustack.report import show
    from gpustack.rollout.private import sweep

    for id in (*wanted, *yes_to):
        known(id)
    before = diagnose(asked(hosts, report))
    for id in wanted:
        a_root(id, before)
    if output == "human":
        show.diagnosis(before, output, verbose=verbose)
    chosen = [one for one in offers(before) if not wanted or one.id in wanted]
    if not any(not one.why_not for one in chosen):
        told = tuple(Attempt(one, "manual", why=one.why_not) for one in chosen)
        done = Fixed(before, told, before, before.snapshot.took)
        show.fixed(done, output, evidence="")
        return show.fix_code(done)
    sweep()
    with changing(hosts, "doctor", holder(hosts, reached(before.snapshot)), report) as change:
        done = fixing(change, wanted, asking(yes_to, yes=yes), output).run(before)
        written(change, done)
    change.keep(done.after.snapshot)
    if not done.tried and any(one.ending == "declined" for one in done.attempts):
        ids = " ".join(f"--yes-to {one.offer.id}" for one in done.attempts if one.offer.fault.auto == "ask")
        hint = f"gpustack doctor --fix {ids or '--yes'}"
        raise RolloutError("fix-not-agreed", "Nothing was changed.", "No remedy was agreed to.", hint)
    show.fixed(done, output, evidence=str(change.folder), verbose=verbose)
    return show.fix_code(done)


def fixing(change: Change, wanted: Collection[str], agree: "Callable[[Sequence[Offer]], bool]", output: str) -> "Fix":
    from gpustack.ask.gather import gather
    from gpustack.remedy.copies import Copies
    from gpustack.remedy.fix import Fix
    from gpustack.remedy.undo import put_back
    from gpustack.report import show

    copies = Copies(change.hosts.hosts)

    def preview(one: "Offer", snapshot: "Snapshot") -> None:
        lines = change.preview(one.play, one.hosts, snapshot, one.more)
        if output == "human":
            show.offer(one, lines, change.hosts)

    return Fix(
        gather=lambda probes: gather(change.hosts, probes, report=change.record),
        play=lambda one, snapshot: change.play(one.play, one.hosts, snapshot, one.more),
        copies=copies,
        undo=lambda id, names: put_back(copies, id, names),
        show=preview,
        agree=agree,
        report=change.record,
        wanted=wanted,
        cancelled=change.cancelled,
    )


def asking(yes_to: Collection[str], *, yes: bool) -> "Callable[[Sequence[Offer]], bool]":
    """--yes is for all that is safe, --yes-to for one; the rest is asked of who sits there."""

    def agree(some: "Sequence[Offer]") -> bool:
        if all(one.id in yes_to or (yes and one.fault.auto == "safe") for one in some):
            return True
        if len(some) == 1:
            why = f" ({some[0].fault.why})" if some[0].fault.auto == "ask" else ""
            return agreed(f"Do this about {some[0].id}{why}?")
        return agreed(f"Do this about all {len(some)}?")

    return agree


def known(id: str) -> None:
    """Raises UsageError with the nearest spelling."""
    from gpustack.config.complaint import nearest
    from gpustack.doctor.graph import graph

    if id not in graph().faults:
        near = nearest(id, list(graph().faults))
        why = f"Did you mean {near}?" if near else ""
        raise UsageError("fix-unknown", f"There is no fault {id}.", why, "gpustack doctor")


def a_root(id: str, found: "Diagnosis") -> None:
    """Raises RolloutError for what is not a root cause here."""
    roots = [one.id for one in found.roots]
    if id in roots:
        return
    judged = [one for (name, _), one in found.judged.items() if name == id]
    said = {one.where: str(one.told or one.why) for one in judged}
    why = "\n".join(f"{where}: {text}" for where, text in said.items()) or "It has no check yet."
    above = [one.id for one in found.roots if any(below.id == id for below in (*one.impact, *one.correlated))]
    hint = f"gpustack doctor --fix {above[0]}" if above else "gpustack doctor"
    raise RolloutError("fix-not-a-root", f"{id} is no root cause here; nothing was changed.", why, hint)


def written(change: Change, done: "Fixed") -> None:
    """What was done, into the evidence."""
    from gpustack.config.private_file import private_file
    from gpustack.report import fix_json
    from gpustack.rollout.evidence import not_kept

    try:
        with private_file(change.folder / "fix.json") as file:
            file.write(fix_json.text(done, str(change.folder)))
    except OSError as error:
        change.record(not_kept(change.folder, error))


def undo(hosts: "Inventory", output: str, report: "Reporter", *, yes: bool) -> int:
    """The exit status. Raises RolloutError where there is nothing to take back, or it was changed since."""
    import time

    from gpustack.ask.gather import gather
    from gpustack.events import Event
    from gpustack.probes.system import OS
    from gpustack.remedy.copies import Copies
    from gpustack.remedy.undo import Undone, last, put_back
    from gpustack.report import show

    there = reached(gather(hosts, [OS], report=report))
    with changing(hosts, "doctor", holder(hosts, there), report) as change:
        started, copies = time.monotonic(), Copies(hosts.hosts)
        found = last(copies, [host.name for host in there])
        if output == "human":
            show.last_fix(found, hosts)
        if not yes and not agreed("Put this back?"):
            hint = "gpustack doctor --undo --yes"
            raise RolloutError("undo-not-agreed", "Nothing was put back.", "It was not agreed to.", hint)
        change.record(Event("step", "undo", f"{found.fault} on {', '.join(found.hosts)}"))
        done = Undone(found, tuple(put_back(copies, found.id, found.hosts)), time.monotonic() - started)
        for line in done.did:
            change.record(Event("note", "undo", line))
        change.record(Event("done", "undo", ""))
    show.undone(done, hosts, output, evidence=str(change.folder))
    return 0
