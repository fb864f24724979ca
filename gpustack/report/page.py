"""HTML pages without scripts and external files, in which no text of a host becomes markup.

All output of a template passes `clean_output` and Jinja's escaping.
"""

from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from gpustack.config.inventory import Inventory
from gpustack.report.format import build_cleaner


def make_environment() -> Environment:
    return Environment(
        loader=PackageLoader("gpustack.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean_output,
    )


@pass_context
def clean_output(context: Context, value: Any) -> Any:
    """Clean a value that a template prints. Markup is output of the template itself and stays as it is."""
    return context["clean"](str(value)) if "clean" in context and not isinstance(value, Markup) else value


def read_style(environment: Environment, name: str) -> Markup:
    return Markup(environment.get_template(name).render())  # noqa: S704 - a file of ours, without variables


def render_plots(environment: Environment, name: str, inventory: Inventory | None, **values: object) -> str:
    """Render a template as a page with plots. `values` are what the template names."""
    style = read_style(environment, "doctor.css") + read_style(environment, "profile.css")
    product = version("gpustack-cluster")
    return environment.get_template(name).render(clean=build_cleaner(inventory), style=style, product=product, **values)
