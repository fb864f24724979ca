"""Answers without a value, with the reason, as Problem Details for HTTP APIs (RFC 9457)."""

from http import HTTPStatus

from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.errors import GpustackError
from gpustack.serve.models import Problem

CONTENT_TYPE = "application/problem+json"
MAX_INPUT = 80


class Refusal(Exception):
    """Signal an answer without a value. `reference` has a page of `gpustack explain`, `reason` is a sentence or two."""

    def __init__(self, status: HTTPStatus, reference: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reference, self.reason = status, reference, reason


def quote_input(text: str) -> str:
    """Clean and shorten the input of a client for an answer."""
    return clean_text(text if len(text) <= MAX_INPUT else f"{text[:MAX_INPUT]}…")


def refuse_error(error: BaseException) -> Refusal:
    """Build the refusal for an error of asking Prometheus: 404 where it answered and has no GPU, else 503, as the
    error may pass. Raise an error that is a bug of gpustack."""
    if not isinstance(error, GpustackError):
        raise error
    status = HTTPStatus.NOT_FOUND if error.reference == "gpu-no-series" else HTTPStatus.SERVICE_UNAVAILABLE
    reason = redact(clean_text(f"{error.message} {error.reason}")).strip()
    return Refusal(status, error.reference, reason if reason.endswith(".") else f"{reason}.")


def refuse_late(seconds: float) -> Refusal:
    reason = f"Prometheus has not answered within {seconds:.0f} s."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "serve-late", reason)


def refuse_missing(reference: str, reason: str) -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, reference, clean_text(reason))


def render_problem(refusal: Refusal) -> str:
    status, detail = refusal.status, refusal.reason
    problem = Problem(
        type="about:blank", title=status.phrase, status=status, detail=detail, reference=refusal.reference
    )
    return problem.model_dump_json()
