"""Section of the cluster spec about GPUs."""

from typing import Annotated, Literal

from pydantic import Field

from gpustack.config.sections.monitoring import Duration, Name
from gpustack.config.sections.section import Section


class Driver(Section):
    mode: Annotated[
        Literal["auto", "container", "host", "none"],
        Field(
            description="source of the driver: container (the operator), host (packages of NVIDIA's repository), none "
            "(already installed); auto: host on Debian and where one is installed, else container"
        ),
    ] = "auto"
    version: Annotated[
        str | None,
        Field(pattern=r"^\d{3}\.\d{2,3}(\.\d{2})?$", description="full version; default: that of the version set"),
    ] = None
    kernel_module: Annotated[
        Literal["open", "proprietary"], Field(description="open needs Turing or newer; Blackwell needs open")
    ] = "open"
    guard: Annotated[
        bool, Field(description="with host: hold driver packages, and exclude them from unattended upgrades")
    ] = True


class Metrics(Section):
    interval: Annotated[Duration, Field(description="interval of collection and scraping, such as 15s")] = "15s"
    service_monitor: Annotated[Literal["operator", "ours"], Field(description="ServiceMonitor of the exporter")] = (
        "operator"
    )
    host_engine: Annotated[
        Literal["refuse", "keep"],
        Field(
            description="if a DCGM host engine runs on a host: refuse to install the exporter beside it, or keep it "
            "and leave out our profiling fields, on all hosts"
        ),
    ] = "refuse"
    counters: Annotated[
        tuple[Annotated[str, Field(pattern=r"^DCGM_(FI|EXP)_[A-Z0-9_]+$")], ...],
        Field(description="additional DCGM fields, exported as gauges"),
    ] = ()


class Sharing(Section):
    mode: Annotated[Literal["none", "time-slicing", "mps"], Field(description="whether pods share a GPU, and how")] = (
        "none"
    )
    replicas: Annotated[int, Field(ge=2, le=64, description="how many pods share one GPU")] = 4


class Gpu(Section):
    stack: Annotated[
        Literal["operator", "host"],
        Field(description="NVIDIA's GPU Operator, or the same parts without an operator"),
    ] = "operator"
    namespace: Annotated[Name, Field(description="namespace of its pods")] = "gpu-operator"
    release: Annotated[Name, Field(description="name of its Helm release")] = "gpu-operator"
    driver: Annotated[Driver, Field(description="the kernel module and its libraries")] = Driver()
    metrics: Annotated[Metrics, Field(description="what DCGM measures")] = Metrics()
    sharing: Annotated[Sharing, Field(description="for all nodes; gpustack_sharing of a host wins")] = Sharing()
