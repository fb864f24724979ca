"""The document of a command that failed before it had a result, for programs and for CI systems."""

import sys
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.errors import GpustackError
from gpustack.report.document import render_json_document
from gpustack.report.progress import clear_live_lines
from gpustack.report.renderings import ERROR
from gpustack.report.schema import Document, TextOrNull


class ErrorDocument(Document):
    """Describe why a command has no result."""

    kind: Literal["gpustack/error/v1"] = Field("gpustack/error/v1", alias="schema")
    reasons: list[str]
    reference: TextOrNull
    hint: TextOrNull


def print_error(error: GpustackError, output: str, command: str, secrets: Sequence[str] = ()) -> None:
    """Write an error to stdout in the format of `-o`, where it is one that has errors."""
    clear_live_lines()
    if output == "json":
        sys.stdout.write(render_json(error, secrets))
    elif output == "junit":
        sys.stdout.write(render_junit(error, command, secrets))


def render_json(error: GpustackError, secrets: Sequence[str] = ()) -> str:
    values = {
        "exit": ERROR.build_exit(error.code),
        "reasons": list_reasons(error, secrets),
        "reference": error.reference,
        "hint": clean(error.hint, secrets),
    }
    return render_json_document(ErrorDocument, values, None)


def render_junit(error: GpustackError, command: str, secrets: Sequence[str] = ()) -> str:
    from gpustack.report.junit import add_result, build_entry, build_suite, render_junit_document

    message, *reasons = list_reasons(error, secrets)
    entry = build_entry("error", error.reference or ERROR.build_exit(error.code)["meaning"], 0.0)
    add_result(entry, "error", message, error.reference, "\n".join([*reasons, clean(error.hint, secrets)]))
    return render_junit_document(command, [build_suite("error", [entry], "")], 0.0, None)


def list_reasons(error: GpustackError, secrets: Sequence[str]) -> list[str]:
    """List the message and each line of the reason."""
    lines = f"{clean(error.message, secrets)}\n{clean(error.reason, secrets)}".splitlines()
    return [line for line in lines if line.strip()]


def clean(text: str, secrets: Sequence[str]) -> str:
    return redact(clean_text(text), secrets)
