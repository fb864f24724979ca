"""Tests that no query of a probe takes one field for a GPU: the guest of a vGPU has no temperature."""

import importlib
import pkgutil
from urllib.parse import unquote

import pytest

import gpustack.probes
from gpustack.ask.probe import Api, Probe
from gpustack.vocabulary.labels import HEARD_OF


def list_queries() -> list[tuple[str, str]]:
    """List (probe, text) of all probes that speak of a GPU's temperature: the path or the script."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(gpustack.probes.__path__, "gpustack.probes.")
    ]
    probes = {value.id: value for module in modules for value in vars(module).values() if isinstance(value, Probe)}
    texts = {
        id: unquote(probe.question.path if isinstance(probe.question, Api) else str(probe.question))
        for id, probe in probes.items()
    }
    return [(id, text) for id, text in sorted(texts.items()) if HEARD_OF[0] in text or "GPU_TEMP|" in text]


@pytest.mark.parametrize(("probe", "text"), list_queries(), ids=lambda value: value if len(value) < 40 else "")
def test_a_gpu_without_temperature_is_heard_of(probe: str, text: str) -> None:
    first, second = (text.count(name.removeprefix("DCGM_FI_DEV_")) for name in HEARD_OF)
    assert first == second, probe


def test_the_queries_are_known() -> None:
    assert {probe for probe, _ in list_queries()} >= {"dcgm.series", "scrape.duplicates", "scrape.host-labels"}
