"""JSON as dcgmi prints it of groups, policies, configuration and profiling: boxes within boxes, every value a text.

    {"body": {SECTION: {"value": …, "overflow": […], "children": {NAME: …}}}, "header": […]}

DCGM 4.6.0, dcgmi/DcgmiOutput.{h,cpp}: json["body"][section], json["children"][child], json["value"],
json["overflow"]; blank numbers are words, CommandOutputController.cpp, HelperDisplayValue. With -v there is a document
for each GPU, one after the other, and lines of text before and after them (Policy.cpp, Config.cpp). Never seen live.
"""

from collections.abc import Mapping
from json import JSONDecoder
from typing import Any

BLANK = frozenset({"Not Specified", "Not Found", "Not Supported", "Insf. Permission", "Unknown"})
NO_GROUPS = "No groups found"
OTHER_SHAPE = "dcgmi answered in another shape"
Box = Mapping[str, Any]


def read_documents(text: str) -> list[Box]:
    """All documents in it. Raises ValueError where there is none, or one is broken off."""
    decoder, found, at = JSONDecoder(), [], text.find("{")
    while at >= 0:
        document, end = decoder.raw_decode(text, at)
        found.append(document)
        at = text.find("{", end)
    if not found:
        raise ValueError(f"no JSON: {text[:80]!r}")
    return found


def text_of(box: Box) -> str:
    """Raises KeyError or TypeError for what is no box with a value."""
    return str(box["value"])


def all_of(box: Box) -> tuple[str, ...]:
    """The value, and those that did not fit beside it."""
    return (text_of(box), *map(str, box.get("overflow", ())))


def child(box: Box, name: str) -> str:
    return text_of(box["children"][name])


def header(document: Box, number: int) -> str:
    return str(document["header"][number])
