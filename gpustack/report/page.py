"""HTML files: no script, nothing from elsewhere, and no word of a host's becomes markup.

Whatever a template prints passes `finalized` and Jinja's escaping.
"""

from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from gpustack.config.inventory import Inventory
from gpustack.report.format import cleaner


def make_environment() -> Environment:
    return Environment(
        loader=PackageLoader("gpustack.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalized,
    )


@pass_context
def finalized(context: Context, value: Any) -> Any:
    """What the template made itself is markup already, and stays."""
    return context["clean"](str(value)) if "clean" in context and not isinstance(value, Markup) else value


def style_of(made: Environment, name: str) -> Markup:
    return Markup(made.get_template(name).render())  # noqa: S704 - a file of ours, without variables


def render_plots(made: Environment, name: str, inventory: Inventory | None, **values: object) -> str:
    """A page with plots: doctor's style, and that of plots."""
    style = style_of(made, "doctor.css") + style_of(made, "profile.css")
    product = version("gpustack-cluster")
    return made.get_template(name).render(clean=cleaner(inventory), style=style, product=product, **values)
