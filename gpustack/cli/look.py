"""`explain`, `snapshot` and `version`: commands that read."""

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot


def names(incomplete: str) -> list[str]:
    from gpustack.report.alert_pages import alerts
    from gpustack.report.fault_pages import faults, states
    from gpustack.report.pages import checks, error_pages
    from gpustack.steps import STEPS

    known = [*(step.id for step in STEPS), *checks(), *error_pages(), *alerts(), *faults(), *states()]
    return [name for name in known if name.startswith(incomplete)]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A step, check (step/check), fault, alert or error.", autocompletion=names),
    ] = None,
) -> None:
    """Print the page of a step, check, fault, alert or error; without a name, list all pages."""
    from gpustack.report import pages

    sys.stdout.write(pages.explain(name) if name else pages.contents())


class Redact(StrEnum):
    ADDRESSES = "addresses"


def snapshot(
    inventory: options.InventoryOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Where to write; `-` is stdout. Default: a new file in this directory."
        ),
    ] = None,
    redacted: Annotated[
        Redact | None,
        typer.Option(
            "--redact",
            help="`addresses`: pseudonyms for IP and MAC addresses, host names and domains. Secrets are never kept.",
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List its answers; without --out, write nothing.")] = False,
    recording: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="List an existing snapshot, or redact it.")
    ] = None,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Record the hosts' answers in a file, without secrets: for `--from` of other commands, and for support."""
    from gpustack.ask.recording import lines, write
    from gpustack.cli import wiring
    from gpustack.doctor.diagnose import questions
    from gpustack.rollout.disguise import without_secrets

    if recording:
        taken = wiring.recorded(recording, quiet=quiet)
    else:
        report = wiring.progress(quiet=quiet)
        taken = wiring.asked(wiring.opened(inventory, ask_password=become, quiet=quiet), report, questions())
    taken = disguised(taken) if redacted else without_secrets(taken)
    if listed:
        from gpustack.report import inside

        sys.stdout.write(inside.text(taken))
    if out == Path("-"):
        sys.stdout.writelines(lines(taken))
        return
    if listed and not out:
        return
    path = out or Path(named(taken.inventory.spec.cluster_name, taken.taken))
    try:
        write(taken, path)
    except OSError as error:
        why = error.strerror or str(error)
        message = f"{path} cannot be written."
        raise UsageError("snapshot-unwritable", message, why, "gpustack snapshot --out FILE") from error
    sys.stdout.write(f"{path}\n")


def disguised(taken: "Snapshot") -> "Snapshot":
    """Says what stays, and where it would be judged otherwise than the real one."""
    from gpustack.doctor.diagnose import diagnose, questions
    from gpustack.rollout.disguise import disguise

    other, given = disguise(taken, questions())
    if given.kept:
        sys.stderr.write(f"a word that gpustack itself uses stays: {', '.join(given.kept)}\n")
    before, now = ([root.id for root in diagnose(one).roots] for one in (taken, other))
    if before != now:
        said = [", ".join(ids) or "no root cause" for ids in (before, now)]
        sys.stderr.write(f"under pseudonyms it is judged otherwise: {said[1]} instead of {said[0]}\n")
    return other


def named(cluster: str, taken: datetime) -> str:
    return f"{cluster}-{taken:%Y%m%dT%H%M%S}.jsonl"


def version() -> None:
    """Print the versions of gpustack and of what it installs."""
    from importlib.metadata import version as of

    from gpustack.config.versions import KNOWN_SETS, version_set

    chosen = version_set(KNOWN_SETS[-1])
    told = ", ".join(f"{name} {chosen.components[name]}" for name in ("kubernetes", "containerd", "flannel"))
    sys.stdout.write(f"gpustack {of('gpustack-cluster')} (version set {chosen.name}: {told})\n")
