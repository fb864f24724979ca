"""Files of profiles: the windows of a job with their time and subject, as JSON."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from gpustack.ask.file_kind import HEAD_SIZE as HEAD_BYTES
from gpustack.ask.file_kind import PROFILE, describe_kind_of_file
from gpustack.command import Command
from gpustack.config.pydantic_errors import describe_kind
from gpustack.errors import UsageError, describe_os_error
from gpustack.events import format_count
from gpustack.files.number import LARGEST as LARGEST_NUMBER
from gpustack.files.read import read_file
from gpustack.files.write import write_file
from gpustack.metrics.prometheus import LAST_TIME
from gpustack.profile.window import QUANTITIES, GpuWindow, Job
from gpustack.vocabulary.fields import find_fields
from gpustack.vocabulary.units import find_unit

SCHEMA: Literal["gpustack/profile/v2"] = "gpustack/profile/v2"
OLDER_SCHEMAS = ("gpustack/profile/v0", "gpustack/profile/v1")


def build_quantity_units() -> dict[str, str]:
    return {name: find_unit(find_fields(metric)[0].unit).base for name, metric in QUANTITIES.items()}


@dataclass(frozen=True)
class Profile:
    """Hold a recorded job. `begin` and `end` are seconds since 1970; `subject` names the owner of the GPUs, `label` is
    the user's. `units` are those of the tracks, `missing` are the quantities that a GPU has no track of. `cut` names
    the loss of a file that was cut off."""

    schema: str
    label: str
    subject: str
    begin: float
    end: float
    job: Job
    units: Mapping[str, str] = field(default_factory=build_quantity_units)
    missing: tuple[str, ...] = ()
    cut: Annotated[str, Field(exclude=True)] = ""


def build_profile(job: Job, subject: str, label: str, begin: float, end: float) -> Profile:
    return Profile(SCHEMA, label, subject, begin, end, job, missing=job.unmeasured_quantities)


ADAPTER = TypeAdapter(Profile)
LARGEST = 256 * 2**20
"""Bytes of a profile."""
HEAD_SIZE = re.compile(rb'"schema"\s*:\s*"(gpustack/profile/[^"]*)"')
WINDOWS, COMMA = re.compile(r'"windows":\s*\['), re.compile(r"\s*,?\s*")
NEWER = "A newer release wrote it."
OLDER = "An older release wrote it, and its fields have other names. Record the workload again."
BROKEN_OFF = "EOF while parsing"
ALL_WHOLE = "The file was cut off behind its GPUs: all of them are whole."
SOME_WHOLE = "The file was cut off: {} are whole and were read; how many GPUs are missing is not known."


def write_profile(profile: Profile, path: Path) -> None:
    """Write a profile whole or not at all. Raise UsageError where it cannot be written."""
    try:
        write_file(path, ADAPTER.dump_json(profile, indent=1))
    except OSError as error:
        raise UsageError(
            "profile-file",
            f"{path} cannot be written.",
            describe_os_error(error),
            Command("ls", "-ld", str(path.parent)),
        ) from None


def read_profile(path: Path, *, cut: bool = False) -> Profile:
    """Read a profile; with `cut` also one that was cut off, where a GPU of it is whole. Raise UsageError for another
    file, and for one of an older or newer release."""
    hint, version, content = Command("gpustack", "profile", "record", "--help"), None, b""
    try:
        content = read_file(path, LARGEST)
        version = HEAD_SIZE.search(content[:200])
        if version and version[1].decode() != SCHEMA:
            message = f"{path} is {version[1].decode()}, and this release reads {SCHEMA}."
            raise UsageError("profile-file", message, OLDER if version[1].decode() in OLDER_SCHEMAS else NEWER, hint)
        profile = parse_profile(content, cut=cut)
    except OSError as error:
        raise UsageError(
            "profile-file", f"{path} cannot be read.", describe_os_error(error), Command("ls", "-l", str(path))
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        kind = describe_kind_of_file(content[:HEAD_BYTES], PROFILE)
        reason = kind or f"{place + ': ' if place else ''}expected {describe_kind(first)}"
        message = f"{path} was cut off." if BROKEN_OFF in first["msg"] and version else f"{path} is no profile."
        raise UsageError("profile-file", message, reason, hint) from None
    times = profile.begin, profile.end
    sound = all(map(is_sound, profile.job.windows)) and all(abs(time) <= LAST_TIME for time in times)
    if profile.schema != SCHEMA or not profile.job.windows or not sound:
        raise UsageError(
            "profile-file", f"{path} is no profile.", "It has no GPU, no time, or values that are none.", hint
        )
    return profile


def parse_profile(content: bytes, *, cut: bool) -> Profile:
    """Parse a profile. Raise ValidationError."""
    try:
        return ADAPTER.validate_json(content)
    except ValidationError as error:
        text = content.decode(errors="ignore")
        begin = WINDOWS.search(text)
        if not cut or not begin or BROKEN_OFF not in error.errors()[0]["msg"]:
            raise
        gpu_count, end = find_whole_objects(text, begin.end())
        if not gpu_count:
            raise
        note = ALL_WHOLE if text[end:].lstrip().startswith("]") else SOME_WHOLE.format(format_count(gpu_count, "GPU"))
        return replace(ADAPTER.validate_json(f"{text[:end]}]}}}}"), cut=note)


def find_whole_objects(text: str, begin: int) -> tuple[int, int]:
    """Find how many objects of a list are whole, and the end of the last one."""
    decoder, count, end = json.JSONDecoder(), 0, begin
    while True:
        try:
            _, end = decoder.raw_decode(text, COMMA.match(text, end).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError):
            return count, end
        count += 1


def is_sound(window: GpuWindow) -> bool:
    """Tell whether a window has a length, and all of its numbers are finite and within the bound of every quantity:
    their squares have no place beyond it."""
    values = (value for track in window.tracks.values() for value in track)
    settings = (window.interval, window.gaps, window.pcie_peak, window.nvlink_peak, window.memory_total)
    numbers = chain(values, filter(None, settings), window.throttle_shares.values(), window.settings.values())
    return 0 < window.seconds <= LAST_TIME and all(abs(number) <= LARGEST_NUMBER for number in numbers)
