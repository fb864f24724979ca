"""Results on stdout in the form that was asked for: `human`, `json`, `junit`, `csv` or `html`."""

import sys
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from gpustack.report.progress import clear_live_lines
from gpustack.report.renderings import RENDERINGS

if TYPE_CHECKING:
    from gpustack.report.terminal import Terminal


def show_result(result: object, output: str, **context: Any) -> None:
    """Write a result to stdout. `context` (verbose, evidence, inventory …) reaches the renderers that take it."""
    result_type = type(result)
    rendering = RENDERINGS[f"{result_type.__module__.removeprefix('gpustack.')}:{result_type.__name__}"]
    module, name = getattr(rendering, output).split(":")
    render = getattr(import_module(f"gpustack.report.{module}"), name)
    options = {key: value for key, value in context.items() if key in signature(render).parameters}
    if output == "human":
        render(build_console(), result, **options)
        return
    text = render(result, **options)
    clear_live_lines()
    sys.stdout.write(text)


def build_console() -> "Terminal":
    from gpustack.report.terminal import Terminal

    clear_live_lines()
    return Terminal()
