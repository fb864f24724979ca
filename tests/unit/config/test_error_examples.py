"""Errors of settings have an example of an allowed value, or all allowed words."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from gpustack.config.complaint import Complaint
from gpustack.config.host import HostSpec
from gpustack.config.pydantic_errors import build_complaints, find_section
from gpustack.config.spec import Spec

WRONG_VALUES: tuple[Any, ...] = ("cheap", -1, 1.5, {"a": {}}, ["x", {}], None, True, "", [[1]], 10**30)
EXAMPLE = re.compile(r"\bas \S|'.+' or '|^'official', or a mapping$|^true or false$|^one of \S|^a currency, such")


def list_paths(model: type[BaseModel], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        path = (*prefix, field.alias or name)
        yield path
        if section := find_section(field.annotation):
            yield from list_paths(section, path)


def list_complaints(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[Complaint]:
    """List the complaints about each wrong value of a key, which may be one of an entry of a list."""
    for value in WRONG_VALUES:
        for is_entry in (False, True):
            document: Any = {path[-1]: value}
            document = [document] if is_entry else document
            for key in reversed(path[:-1]):
                document = {key: document}
            try:
                model.model_validate(document)
            except ValidationError as error:
                yield from build_complaints("hosts.yml:1", "gpustack", error, model)


@pytest.mark.parametrize("model", [Spec, HostSpec])
def test_what_is_allowed_has_an_example(model: type[BaseModel]) -> None:
    complaints = [complaint for path in list_paths(model) for complaint in list_complaints(model, path)]
    rules = {(complaint.key, complaint.rule) for complaint in complaints if complaint.key != "gpustack"}
    assert len(rules) > 10
    assert [entry for entry in sorted(rules) if not EXAMPLE.search(entry[1])] == []


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": "cheap"}]}}, "a number such as 2.40"),
        ({"cost": {"budgets": {"a": "much"}}}, "a number such as 5000"),
        ({"cost": {"budgets": 1}}, "a mapping such as {team-a: 5000}"),
        ({"care": {"hour": 24}}, "23 or less, such as 3"),
        ({"kubernetes": {"version": 1.36}}, "a text such as 1.36.4 (a number needs quotes)"),
        ({"monitoring": "on"}, "a mapping such as {enabled: true}"),
    ],
)
def test_an_example_is_one_of_the_key(document: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as excinfo:
        Spec.model_validate(document)
    assert [complaint.rule for complaint in build_complaints("f:1", "gpustack", excinfo.value, Spec)] == [text]
