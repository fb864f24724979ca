"""Section of the cluster spec about GPUs."""

from typing import Annotated, Literal

from pydantic import Field

from gpustack.config.form import Form
from gpustack.config.sections.exporter import Metrics
from gpustack.config.sections.monitoring import Name
from gpustack.config.sections.section import Section

DriverVersion = Annotated[
    str, Form(r"[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?", "a full version of the driver, in quotes", "595.91.07")
]

AUTO_DRIVER = (
    "none on a host with a driver that gpustack did not install, or with one newer than the version set's and no "
    "gpu.driver.version; else host on Debian, and without the operator or Kubernetes; on Ubuntu host where gpustack "
    "installed packages before, else container"
)
"""The rule of gpustack/steps/gpu/mode.py, in the words of every page that tells it."""


class Driver(Section):
    mode: Annotated[
        Literal["auto", "container", "host", "none"],
        Field(
            description="source of the driver: container (the operator), host (packages of NVIDIA's repository), none "
            f"(already installed); auto: {AUTO_DRIVER}"
        ),
    ] = "auto"
    version: Annotated[DriverVersion | None, Field(description="full version; default: that of the version set")] = None
    kernel_module: Annotated[
        Literal["open", "proprietary"], Field(description="open needs Turing or newer; Blackwell needs open")
    ] = "open"
    repo_config: Annotated[
        str | None,
        Field(
            description="a file on this machine with package sources (.list or .sources), from which driver containers "
            "install the headers of the kernel; for hosts that do not reach the archive of their system"
        ),
    ] = None
    guard: Annotated[
        bool, Field(description="hold driver packages of hosts, and exclude them from unattended upgrades")
    ] = True


class Sharing(Section):
    mode: Annotated[Literal["none", "time-slicing", "mps"], Field(description="whether pods share a GPU, and how")] = (
        "none"
    )
    replicas: Annotated[int, Field(ge=2, le=64, description="how many pods share one GPU")] = 4


class Gpu(Section):
    stack: Annotated[
        Literal["operator", "host"], Field(description="NVIDIA's GPU Operator, or the same parts without an operator")
    ] = "operator"
    namespace: Annotated[Name, Field(description="namespace of its pods")] = "gpu-operator"
    release: Annotated[Name, Field(description="name of its Helm release")] = "gpu-operator"
    driver: Annotated[Driver, Field(description="the kernel module and its libraries")] = Driver()
    dcgm: Annotated[
        Literal["embedded", "standalone", "host"],
        Field(
            description="the DCGM host engine that the exporter asks: embedded (its own), standalone (a DaemonSet, "
            "which dcgmi can use too), host (one that runs on every host with GPUs already)"
        ),
    ] = "embedded"
    metrics: Annotated[Metrics, Field(description="what DCGM measures")] = Metrics()
    gate: Annotated[
        bool,
        Field(
            description="keep pods off GPU nodes with a taint until `gpustack prove`: after they join, and after a "
            "reboot or GPU reset by gpustack; docs/nodes.md"
        ),
    ] = False
    sharing: Annotated[Sharing, Field(description="sharing of GPUs on all nodes; gpustack_sharing of a host wins")] = (
        Sharing()
    )
