"""`snapshot`: the hosts' answers in a file, without secrets."""

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.command import Command
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot


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
    from gpustack.doctor.diagnose import questions
    from gpustack.rollout.anonymize import remove_secrets

    if recording:
        taken = session.load_recording(recording, inventory, quiet=quiet)
    else:
        report = session.progress(quiet=quiet)
        taken = session.gather_all(
            session.open_inventory(inventory, ask_password=become, quiet=quiet), report, questions()
        )
    taken = pseudonymize(taken) if redacted else remove_secrets(taken)
    if listed:
        from gpustack.report import snapshot_listing as inside

        sys.stdout.write(inside.text(taken))
    if out or not listed:
        write_snapshot(taken, out or Path(default_name(taken.inventory.spec.cluster_name, taken.taken)))


def write_snapshot(taken: "Snapshot", path: Path) -> None:
    """Raises UsageError where it cannot be written."""
    from gpustack.ask.recording import lines, write

    if path == Path("-"):
        sys.stdout.writelines(lines(taken))
        return
    try:
        write(taken, path)
    except OSError as error:
        why = error.strerror or str(error)
        message = f"{path} cannot be written."
        raise UsageError(
            "snapshot-unwritable", message, why, Command("gpustack", "snapshot", "--out", "FILE")
        ) from error
    sys.stdout.write(f"{path}\n")


def pseudonymize(taken: "Snapshot") -> "Snapshot":
    """Says what stays, and where it would be judged otherwise than the real one."""
    from gpustack.doctor.diagnose import diagnose, questions
    from gpustack.rollout.anonymize import anonymize

    other, given = anonymize(taken, questions())
    if given.kept:
        sys.stderr.write(f"a word that gpustack itself uses stays: {', '.join(given.kept)}\n")
    before, now = ([root.id for root in diagnose(one).roots] for one in (taken, other))
    if before != now:
        roots = [", ".join(ids) or "no root cause" for ids in (before, now)]
        sys.stderr.write(f"with pseudonyms the diagnosis differs: {roots[1]} instead of {roots[0]}\n")
    return other


def default_name(cluster: str, taken: datetime) -> str:
    return f"{cluster}-{taken:%Y%m%dT%H%M%S}.jsonl"
