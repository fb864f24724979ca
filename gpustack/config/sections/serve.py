"""Section of the cluster spec about `gpustack serve` in the cluster."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from gpustack.config.complaint import Complaint
from gpustack.config.sections.section import Section
from gpustack.config.serve_image import select_image

if TYPE_CHECKING:
    from gpustack.config.spec import Spec

EXAMPLE = "registry.example.com/gpustack:0.1.0"
# As github.com/distribution/reference has it. Without a registry, containerd would take Docker Hub.
REGISTRY = r"(?=[^/]*[.:])[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?"
PATH = r"[a-z0-9]+([._-]+[a-z0-9]+)*"
REFERENCE = re.compile(rf"{REGISTRY}(/{PATH})+(:\w[\w.-]{{0,127}})?(@sha256:[0-9a-f]{{64}})?")


def validate_reference(image: str) -> str:
    """Refuse an image without its registry, and one without a tag or a digest."""
    last = image.rpartition("/")[2]
    if image and not (REFERENCE.fullmatch(image) and ({":", "@"} & set(last))):
        raise ValueError(f"REGISTRY/PATH:TAG or REGISTRY/PATH@sha256:DIGEST, as {EXAMPLE}")
    return image


class Serve(Section):
    enabled: Annotated[
        bool, Field(description="answer in the cluster what each GPU and pod does, for autoscalers; docs/serve.md")
    ] = False
    image: Annotated[
        str,
        AfterValidator(validate_reference),
        Field(description=f"its image, which you build and push, such as {EXAMPLE}; a bundle brings its own"),
    ] = ""


def judge_serve(file: str, spec: "Spec") -> Iterator[tuple[set[str], Complaint]]:
    """Yield the keys that a complaint about serve.enabled concerns, and the complaint."""
    if not spec.serve.enabled:
        return
    if not select_image(spec):
        rule = f"an image of gpustack in a registry of yours, as {EXAMPLE}: none is published (docs/serve.md)"
        yield {"serve", "source"}, Complaint(file, "gpustack.serve.image", "nothing", rule)
    if not spec.monitoring.enabled:
        rule = "true, or serve.enabled: false: it reads this Prometheus"
        yield {"serve", "monitoring"}, Complaint(file, "gpustack.monitoring.enabled", "false", rule)
