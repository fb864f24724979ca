"""A profile in a file: the windows of a job, with when and of what, as JSON."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from gpustack.errors import UsageError
from gpustack.profile.window import Job

SCHEMA: Literal["gpustack/profile/v1"] = "gpustack/profile/v1"
KIND = "gpustack/profile/"


@dataclass(frozen=True)
class Profile:
    """`begin` and `end` are seconds since 1970; `what` says whose GPUs, `label` is the user's."""

    schema: str
    label: str
    what: str
    begin: float
    end: float
    job: Job


ADAPTER = TypeAdapter(Profile)


def write_profile(profile: Profile, path: Path) -> None:
    """Whole or not at all. Raises UsageError where it cannot be written."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(ADAPTER.dump_json(profile, indent=1))
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError("profile-file", f"{path} cannot be written.", str(error), f"ls -ld {path.parent}") from None


def read_profile(path: Path) -> Profile:
    """Raises UsageError for what is no profile, one that was cut off, and one of a newer release."""
    hint = "gpustack profile record --help"
    try:
        profile = ADAPTER.validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError("profile-file", f"{path} cannot be read.", str(error), f"ls -l {path}") from None
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{first['msg']} at {'.'.join(map(str, first['loc']))}" if first["loc"] else first["msg"]
        raise UsageError("profile-file", f"{path} is no profile, or was cut off.", why, hint) from None
    if profile.schema != SCHEMA:
        why = "A newer release wrote it." if profile.schema.startswith(KIND) else "It is something else."
        raise UsageError("profile-file", f"{path} is {profile.schema}, and this release reads {SCHEMA}.", why, hint)
    return profile
