"""A complaint about a wrong setting has words and an example, no regular expression, and no word of Python or
pydantic."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from gpustack.config.form import Form
from gpustack.config.host import HostSpec
from gpustack.config.pydantic_errors import build_complaints
from gpustack.config.spec import Spec

EXPRESSION = re.compile(r"[\^\\]|\(\?|[^ \[]\[|\]\)?[*+?{]|\.[*+]|\$[^A-Z{]")
FOREIGN = re.compile(
    r"\b([Ii]nput|instance|[Vv]alue error|valid|literal|decimal|tuple|dict|str|int|bool|None|True|False|datetime|"
    r"pattern|pydantic)\b"
)
# A field of this name and texts that are expressions themselves.
OWN_WORDS = {f"gpu.metrics.relabelings.0{name}" for name in ("", ".regex", ".replacement")}
WRONG_VALUES: tuple[Any, ...] = (
    None, "", " ", "a b", "É", "x\n", "^", "[", "9" * 400, "1.2.3.4.5", "10.0.0.0", "10.0.0.1/8", "::1", "fd00::/8",
    "{{ x }}", 0, -1, 1.5, 10**400, float("nan"), float("inf"), True, False, date(2026, 1, 2),
    [], [None], [1], [[]], ["É", ""], {}, {"a": None}, {"a": {}}, {1: 2}, {"É": "É"}, [{}], [{"a": 1}],
)  # fmt: skip


def list_settings(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """List the path of each setting, with 0 for an entry of a list."""
    for name, field in model.model_fields.items():
        place = (*path, field.alias or name)
        yield place
        for section, is_entry in list_sections(field.annotation):
            yield from list_settings(section, (*place, "0") if is_entry else place)


def list_sections(annotation: Any, *, is_entry: bool = False) -> Iterator[tuple[type[BaseModel], bool]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, is_entry
    for part in get_args(annotation):
        yield from list_sections(part, is_entry=is_entry or get_origin(annotation) is tuple)


def build_document(path: tuple[str, ...], value: Any) -> Any:
    for part in reversed(path):
        value = [value] if part == "0" else {part: value}
    return value


SETTINGS = [(Spec, path) for path in list_settings(Spec)] + [(HostSpec, path) for path in list_settings(HostSpec)]


@pytest.mark.parametrize(("model", "path"), SETTINGS, ids=[".".join(path) for _, path in SETTINGS])
def test_a_wrong_setting_is_described_in_words(model: type[BaseModel], path: tuple[str, ...]) -> None:
    complaints = []
    for value in WRONG_VALUES:
        try:
            model.model_validate(build_document(path, value))
        except ValidationError as error:
            complaints += build_complaints("", "", error, model)
    rules = {complaint.rule for complaint in complaints if complaint.key not in OWN_WORDS}
    assert [rule for rule in rules if EXPRESSION.search(rule) or FOREIGN.search(rule) or not rule] == []
    texts = {complaint.actual for complaint in complaints}
    assert [text for text in texts if re.match(r"None|True|False|datetime|.*\b(None|datetime)\b", text)] == []


def find_forms(annotation: Any) -> Iterator[Any]:
    """Find the annotated types with a form, at any depth of a type."""
    if get_origin(annotation) is Annotated and any(isinstance(part, Form) for part in annotation.__metadata__):
        yield annotation
    elif isinstance(annotation, FieldInfo):
        if any(isinstance(part, Form) for part in annotation.metadata):
            yield Annotated[annotation.annotation, *annotation.metadata]
        yield from find_forms(annotation.annotation)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from find_forms(field)
    for part in get_args(annotation):
        yield from find_forms(part)


def test_the_example_of_each_form_is_accepted() -> None:
    types = [*find_forms(Spec), *find_forms(HostSpec)]
    assert len(types) > 30
    for kind in types:
        (form,) = (part for part in kind.__metadata__ if isinstance(part, Form))
        TypeAdapter(kind).validate_python(form.example)


def list_metadata(annotation: Any) -> Iterator[Any]:
    if isinstance(annotation, FieldInfo):
        yield from annotation.metadata
        yield from list_metadata(annotation.annotation)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from list_metadata(field)
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from list_metadata(part)


def test_a_pattern_is_that_of_a_form() -> None:
    """A pattern of pydantic's own would stand in the message."""
    parts = [*list_metadata(Spec), *list_metadata(HostSpec)]
    assert [part for part in parts if getattr(part, "pattern", None) and not isinstance(part, Form)] == []
