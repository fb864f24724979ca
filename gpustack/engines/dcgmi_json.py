"""JSON as dcgmi prints it of groups, policies, configuration and profiling: nested boxes whose values are texts.

    {"body": {SECTION: {"value": …, "overflow": […], "children": {NAME: …}}}, "header": […]}

DCGM 4.6.0, dcgmi/DcgmiOutput.{h,cpp}: json["body"][section], json["children"][child], json["value"],
json["overflow"]; blank numbers are words, CommandOutputController.cpp, HelperDisplayValue. With -v there is a document
for each GPU, one after the other, and lines of text before and after them (Policy.cpp, Config.cpp). It was never seen
live.
"""

from collections.abc import Mapping
from json import JSONDecoder
from typing import Any

BLANK = frozenset({"Not Specified", "Not Found", "Not Supported", "Insf. Permission", "Unknown"})
NO_GROUPS = "No groups found"
OTHER_SHAPE = "dcgmi answered in another shape"
Box = Mapping[str, Any]


def parse_documents(text: str) -> list[Box]:
    """Parse all documents of a text. Raise ValueError where there is none, or one is broken off."""
    decoder, documents, begin = JSONDecoder(), [], text.find("{")
    while begin >= 0:
        document, end = decoder.raw_decode(text, begin)
        documents.append(document)
        begin = text.find("{", end)
    if not documents:
        raise ValueError(f"no JSON: {text[:80]!r}")
    return documents


def extract_text(box: Box) -> str:
    """Extract the value of a box. Raise KeyError or TypeError where it is no box with a value."""
    return str(box["value"])


def list_texts(box: Box) -> tuple[str, ...]:
    """List the value of a box, and those that did not fit beside it."""
    return (extract_text(box), *map(str, box.get("overflow", ())))


def extract_child(box: Box, name: str) -> str:
    return extract_text(box["children"][name])


def extract_header(document: Box, number: int) -> str:
    return str(document["header"][number])
