"""The conversion of errors to text, documents and exit codes (docs/exit-codes.md). No other module converts errors."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gpustack.command import Command, Hint, Prose, name_inventory
from gpustack.errors import GpustackError, InputError, Interruption, UsageError
from gpustack.exit_status import ExitStatus

PRICES = Prose("set cost.prices in group_vars/all/gpustack.yml, such as prices: [{per_gpu_hour: 2.10}]")
HINTS: dict[str, Hint] = {
    "access-no-login": Command(
        "kubectl", "get", "secrets", "--all-namespaces", "--selector", "app.kubernetes.io/name=grafana"
    ),
    "alerts-no-receiver": Prose("set alerts.receivers, such as default: [{type: webhook, secret_file: FILE}]"),
    "capacity-clusters": Prose("the same command with --cluster NAME"),
    "capacity-interval": Command("gpustack", "verify", "--only", "alerts"),
    "capacity-no-hour": Prose("the same command after the next full hour"),
    "capacity-no-requests": Command("gpustack", "doctor"),
    "capacity-no-rules": Command("gpustack", "install", "--only", "alerts"),
    "capacity-window": Prose("the same command with --month YYYY-MM, such as --month 2026-10"),
    "change-declined": Prose("the same command with --yes"),
    "change-no-former": Prose("the same command with --node, for the nodes that are not named"),
    "cost-no-price": PRICES,
    "cost-no-prices": PRICES,
    "fix-copies": Command("df", "-h", "/var/lib"),
    "forecast-nothing": Command("gpustack", "gpu", "list"),
    "gpu-bad-name": Command("gpustack", "gpu", "group", "list"),
    "gpu-busy": Command("gpustack", "gpu", "top", "pods"),
    "gpu-heat-unknown": Command("gpustack", "gpu", "metrics"),
    "gpu-no-deadline": Prose("the same command without --for"),
    "gpu-no-field": Command("gpustack", "explain", "metric"),
    "gpu-no-gpu": Command("gpustack", "gpu", "list", "-o", "json"),
    "gpu-no-load": Command("gpustack", "gpu", "burn", "--field", "tensor-active"),
    "gpu-no-node": Command("gpustack", "gpu", "list"),
    "gpu-no-series": Command("gpustack", "doctor"),
    "gpu-none-free": Command("gpustack", "gpu", "top", "pods"),
    "gpu-unknown": Command("gpustack", "gpu", "list"),
    "no-kubernetes": Command("gpustack", "gpu", "list", "--prometheus", "http://127.0.0.1:9090"),
    "node-address-unconfirmed": Command("kubectl", "get", "nodes", "-o", "wide"),
    "node-change-refused": Prose("the same command again"),
    "node-host-unknown": Command("gpustack", "verify"),
    "node-unknown": Command("kubectl", "get", "nodes"),
    "node-unknown-pod": Command("kubectl", "get", "pods", "--all-namespaces", "-o", "wide"),
    "profile-baseline": Command("gpustack", "profile", "baseline", "--help"),
    "profile-fail-if": Command("gpustack", "profile", "compare", "A", "B", "--fail-if", "tensor<-5%"),
    "profile-not-idle": Command("gpustack", "gpu", "top", "pods", "--once", note="shows whose they are"),
    "profile-file": Command("gpustack", "profile", "record", "--help"),
    "profile-nothing": Command("gpustack", "gpu", "top", "--once"),
    "profile-threshold": Command("gpustack", "profile", "thresholds"),
    "metrics-recording": Prose("the same command with --record FILE, and without --from, writes one"),
    "output-exists": Prose("the same command with --force, or with the name of another file"),
    "prometheus-query": Prose("ask for less time, or for one node or namespace"),
    "prometheus-login": Prose("the same command with --token-file, --basic-auth-file or --client-certificate FILE"),
    "ssh-missing": Command("apt-get", "install", "openssh-client"),
    "undo-host-missing": Command("gpustack", "doctor"),
    "unknown-host": Command("gpustack", "plan"),
}
"""Hints of errors whose package does not know the command line. InputError without a row shows the command's help."""
INTERRUPTION_LINE = "\ninterrupted\n"
known_secrets: list[str] = []
"""Values of secrets to redact; `session.open_inventory` adds those of the inventory."""


@dataclass
class Invocation:
    """Describe the command line as far as errors need it: the words of the command, the format of its `-o`, and the
    inventory in commands to type: that of `-i`, INVENTORY where a recording or a server is read, else none."""

    words: tuple[str, ...] = ("gpustack",)
    output: str = "human"
    inventory: str = ""


invocation = Invocation()
"""The command that runs. `help.Command` sets it before it parses the arguments, which may be wrong."""


def find_help() -> Hint:
    return Command(*invocation.words, "--help")


@contextmanager
def report_errors() -> Iterator[None]:
    try:
        yield
    except GpustackError as error:
        error.hint = HINTS.get(error.reference) or (find_help() if isinstance(error, InputError) else error.hint)
        error.hint = name_inventory(error.hint, invocation.inventory)
        from gpustack.report.error import render_error

        sys.stderr.write(render_error(error, known_secrets) + collect_notes(error))
        print_document(error)
        raise SystemExit(error.code) from error
    except KeyboardInterrupt as error:
        sys.stderr.write(INTERRUPTION_LINE)
        print_document(Interruption())
        raise SystemExit(ExitStatus.INTERRUPTED) from error
    except SystemExit as exit_request:
        cause = exit_request.__context__
        # Typer converts a KeyboardInterrupt to Exit(130), and that to SystemExit.
        if isinstance(getattr(cause, "__cause__", None), KeyboardInterrupt):
            sys.stderr.write(INTERRUPTION_LINE)
            print_document(Interruption())
        elif format_message := getattr(cause, "format_message", None):
            # Typer has printed what is wrong with the command line.
            print_document(UsageError("", format_message(), hint=find_help()))
        raise
    except Exception as error:
        from gpustack.ask.redact.printable import clean_text
        from gpustack.ask.redact.redact import redact

        text = redact(clean_text(f"{type(error).__name__}: {error}"), known_secrets)
        try:
            report = f"report saved to {save_report(error)}"
        except OSError as write_error:
            report = f"no report was saved: {write_error}"
        sys.stderr.write(f"internal error of gpustack: {text}\n{report}\n{collect_notes(error)}")
        print_document(GpustackError("", f"internal error of gpustack: {text}", report))
        raise SystemExit(ExitStatus.BUG) from error


def print_document(error: GpustackError) -> None:
    """Write the error to stdout as a document where -o asks for one and the command has not written its result. A
    stdout that cannot be written changes no exit status."""
    if invocation.output == "human" or getattr(sys.stdout, "has_written", sys.stdout is None):
        return
    from gpustack.report.error_document import print_error

    try:
        print_error(error, invocation.output, " ".join(invocation.words), known_secrets)
        sys.stdout.flush()
    except BrokenPipeError:
        return  # A reader that has gone needs no report.
    except (OSError, UsageError) as write_error:
        sys.stderr.write(f"The error was not written to stdout: {write_error}\n")


def collect_notes(error: Exception) -> str:
    return "".join(getattr(error, "__notes__", ()))


def save_report(error: Exception) -> str:
    """Write the traceback, redacted and printable, to the user's state directory, and return its path."""
    from platformdirs import user_state_path

    from gpustack.ask.redact.printable import clean_text
    from gpustack.ask.redact.redact import redact
    from gpustack.files.write import write_file

    path = user_state_path("gpustack") / "bug-report.txt"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    write_file(path, redact(clean_text("".join(traceback.format_exception(error))), known_secrets))
    return str(path)
