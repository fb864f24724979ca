"""The example inventory: complete, right as it is and with every default uncommented, and that of the repository."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from gpustack.config.example import HOSTS, SPEC, render_example
from gpustack.config.host import HostSpec
from gpustack.config.inventory import load_inventory
from gpustack.config.resolution import (
    resolve_containerd_version,
    resolve_driver_version,
    resolve_fingerprint,
    resolve_kubernetes_version,
)
from gpustack.config.sections.sources import Fingerprints
from gpustack.config.spec import Spec

SHIPPED_FOLDER = Path(__file__).parents[3] / "inventories" / "example"


def enable_defaults(text: str) -> str:
    return re.sub(r"^( *)# (\w+: .*)$", r"\1\2", text, flags=re.MULTILINE)


def write_folder(folder: Path, texts: dict[Path, str]) -> Path:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture(autouse=True)
def nothing_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def list_keys(model: type[BaseModel], value: Any) -> set[str]:
    """List every key of the model that holds a value, dotted."""
    key_names: set[str] = set()
    for name, field in model.model_fields.items():
        inner = getattr(value, name)
        key = field.alias or name
        keys_below = (
            {f"{key}.{rest}" for rest in list_keys(type(inner), inner)} if isinstance(inner, BaseModel) else {key}
        )
        key_names |= keys_below
    return key_names


def list_dotted_keys(value: Any) -> set[str]:
    key_names: set[str] = set()
    for key, inner in value.items():
        key_names |= (
            {f"{key}.{rest}" for rest in list_dotted_keys(inner)} if isinstance(inner, dict) and inner else {key}
        )
    return key_names


def test_as_it_is_it_loads_and_means_the_defaults(tmp_path: Path) -> None:
    inventory = load_inventory(write_folder(tmp_path / "as-is", render_example()))
    assert inventory.spec == Spec()
    assert [host.name for host in inventory.hosts] == ["kube1", "gpu1", "gpu2"]
    assert [host.name for host in inventory.control_planes] == ["kube1"]


def test_with_all_defaults_uncommented_it_loads_and_means_the_same(tmp_path: Path) -> None:
    texts = {path: enable_defaults(text) for path, text in render_example().items()}
    inventory = load_inventory(write_folder(tmp_path / "all", texts))
    spec = Spec()
    kubernetes = {"version": resolve_kubernetes_version(spec), "endpoint": "kube.example.com:6443"}
    driver = spec.gpu.driver.model_copy(update={"version": resolve_driver_version(spec)})
    assert inventory.spec == spec.model_copy(
        update={
            "kubernetes": spec.kubernetes.model_copy(update=kubernetes),
            "containerd": spec.containerd.model_copy(update={"version": resolve_containerd_version(spec)}),
            "gpu": spec.gpu.model_copy(update={"driver": driver}),
            "fingerprints": Fingerprints(
                **{name: resolve_fingerprint(spec, name) for name in Fingerprints.model_fields if name != "nvidia"}
            ),
        }
    )
    assert (inventory.hosts[0].user, inventory.hosts[0].port, inventory.hosts[0].ssh_args[0]) == ("ubuntu", 22, "-J")
    assert inventory.hosts[0].spec.gpustack_node_ip is not None


def test_every_key_is_there() -> None:
    assert list_dotted_keys(yaml.safe_load(enable_defaults(render_example()[SPEC]))["gpustack"]) == list_keys(
        Spec, Spec()
    )
    assert all(f"# {name}:" in render_example()[HOSTS] for name in HostSpec.model_fields)


@pytest.mark.parametrize("key", ["source", "proxy"])
def test_the_other_form_that_is_shown_is_a_right_one(key: str) -> None:
    lines = render_example()[SPEC].splitlines()
    number_of_line = next(number for number, line in enumerate(lines) if line.strip() == f"#     {key}:")
    shown_lines = [line.replace("#", " ", 1) for line in lines[number_of_line:]]
    ends = next(number for number, line in enumerate(shown_lines) if number and not line.startswith("         "))
    parsed_value = getattr(Spec.model_validate(yaml.safe_load("\n".join(shown_lines[:ends]))), key)
    assert all(value for _, value in parsed_value)


def test_the_repository_has_exactly_this_one() -> None:
    assert {path: (SHIPPED_FOLDER / path).read_text() for path in render_example()} == render_example()
    assert sorted(path.relative_to(SHIPPED_FOLDER) for path in SHIPPED_FOLDER.rglob("*") if path.is_file()) == sorted(
        render_example()
    )
