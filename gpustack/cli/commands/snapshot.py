"""The command `gpustack snapshot`, which records the answers of the hosts in a file, without secrets."""

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import Session
from gpustack.cli.output_file import ForceOption, require_target
from gpustack.cli.root import DIAGNOSE, ROOT
from gpustack.command import Command
from gpustack.errors import UsageError, describe_os_error

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot


class Redact(StrEnum):
    ADDRESSES = "addresses"


@declare_command(
    ROOT,
    "gpustack snapshot -i mycluster --out snapshot.jsonl",
    "gpustack snapshot -i mycluster --redact addresses --out redacted.jsonl",
    "gpustack snapshot --from snapshot.jsonl --list",
    heading=DIAGNOSE,
    short="Record the hosts' answers in a file, without secrets.",
)
def snapshot(
    path: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the recording to this file, `-` for stdout. Default: a new file in this directory.",
        ),
    ] = None,
    redaction: Annotated[
        Redact | None,
        typer.Option(
            "--redact", help="Replace data by pseudonyms; `addresses`: IP and MAC addresses, host names and domains."
        ),
    ] = None,
    list_answers: Annotated[
        bool, typer.Option("--list", help="List the answers of the recording. Without --out, no file is written.")
    ] = False,
    recording: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Read this recording instead of the hosts, to list or redact it."),
    ] = None,
    force: ForceOption = False,
    *,
    session: Session,
) -> None:
    """Record the answers of the hosts in a file, for `--from` of other commands and for support.

    Secrets are never recorded."""
    from gpustack.rollout.anonymize import remove_secrets

    if path and path != Path("-"):
        require_target(path, "snapshot-unwritable", force=force)
    current_snapshot = session.load_recording(recording) if recording else gather_answers(session)
    current_snapshot = pseudonymize(current_snapshot) if redaction else remove_secrets(current_snapshot)
    if list_answers:
        from gpustack.report.snapshot_listing import render_listing

        sys.stdout.write(render_listing(current_snapshot))
    if path or not list_answers:
        write_snapshot(
            current_snapshot,
            path or Path(format_name(current_snapshot.inventory.spec.cluster_name, current_snapshot.started_at)),
        )


def gather_answers(session: Session) -> "Snapshot":
    """Gather the answers of a diagnosis. Raise UnreachableError where no host was reached."""
    inventory = session.open_inventory()
    from gpustack.ask.gather import require_reach
    from gpustack.cli.rounds import diagnose_hosts

    current_snapshot = diagnose_hosts(inventory, session.report).snapshot
    require_reach(current_snapshot)
    return current_snapshot


def write_snapshot(snapshot: "Snapshot", path: Path) -> None:
    """Write the recording, and print the name of its file. Raise UsageError where it cannot be written."""
    from gpustack.ask.recording import render_lines, write_recording

    if path == Path("-"):
        sys.stdout.writelines(render_lines(snapshot))
        return
    try:
        write_recording(snapshot, path)
    except OSError as error:
        reason = describe_os_error(error)
        message = f"{path} cannot be written."
        raise UsageError(
            "snapshot-unwritable", message, reason, Command("gpustack", "snapshot", "--out", "FILE")
        ) from error
    sys.stdout.write(f"{path}\n")


def pseudonymize(snapshot: "Snapshot") -> "Snapshot":
    """Replace addresses and names by pseudonyms. Warn of names that stay, and of a diagnosis that differs."""
    from gpustack.doctor.diagnose import diagnose, list_probes
    from gpustack.rollout.anonymize import anonymize

    anonymous_snapshot, pseudonyms = anonymize(snapshot, list_probes())
    if pseudonyms.unchanged_names:
        sys.stderr.write(f"a word that gpustack itself uses stays: {', '.join(pseudonyms.unchanged_names)}\n")
    before, after = ([root.id for root in diagnose(version).roots] for version in (snapshot, anonymous_snapshot))
    if before != after:
        roots = [", ".join(ids) or "no root cause" for ids in (before, after)]
        sys.stderr.write(f"with pseudonyms the diagnosis differs: {roots[1]} instead of {roots[0]}\n")
    return anonymous_snapshot


def format_name(cluster: str, time: datetime) -> str:
    return f"{cluster}-{time:%Y%m%dT%H%M%S}.jsonl"
