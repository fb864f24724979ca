"""Minimum resources of a host."""

from typing import Annotated

from pydantic import Field

from gpustack.config.sections.section import Section


class Minimum(Section):
    """Hold the minimum resources of a host. kubeadm needs 2 CPUs and 1700 MB."""

    cpus: Annotated[int, Field(ge=1, description="CPUs of a host")] = 2
    memory_mib: Annotated[int, Field(ge=512, description="memory of a host, in MiB")] = 1700
    disk_gib: Annotated[int, Field(ge=1, description="free space below /var, in GiB")] = 10
