"""Section of the cluster spec about KEDA."""

from typing import Annotated

from pydantic import Field

from gpustack.config.sections.monitoring import Name
from gpustack.config.sections.section import Section


class Autoscaling(Section):
    enabled: Annotated[
        bool, Field(description="install KEDA, which scales Deployments by metrics of Prometheus; docs/autoscaling.md")
    ] = False
    namespace: Annotated[Name, Field(description="namespace of KEDA")] = "keda"
    release: Annotated[Name, Field(description="name of its Helm release")] = "keda"
