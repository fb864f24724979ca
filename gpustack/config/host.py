"""Settings of a host: flat inventory variables, judged as HostSpec, and its connection."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gpustack.config.addresses import NodeAddress, is_ipv4_address
from gpustack.config.form import Form
from gpustack.config.node_marks import LabelKey, LabelValue, Taint, validate_taints

CONTROL_PLANE, NODE, STANDALONE = "kube_control_plane", "kube_node", "gpu_standalone"
CLUSTER_GROUPS = (CONTROL_PLANE, NODE)
GROUPS = (*CLUSTER_GROUPS, STANDALONE)
IGNORE_VARIABLE = "gpustack_ignore"
"""The variable of hosts that stand in the same inventory for something else."""


Layout = Annotated[str, Form(r"[a-z0-9.-]+", "small letters, digits, dots and dashes", "all-1g.10gb")]
Sharing = Annotated[
    str,
    Form(
        r"none|(time-slicing|mps):([2-9]|[1-5][0-9]|6[0-4])",
        "none, time-slicing:N or mps:N with N of 2 to 64",
        "time-slicing:4",
    ),
]


class HostSpec(BaseModel):
    """Hold the `gpustack_*` variables of one host."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gpustack_node_ip: Annotated[
        NodeAddress | None,
        Field(description="address of the node; default: the one that SSH reaches, if the default route has it"),
    ] = None
    gpustack_gpus: Annotated[
        int | None,
        Field(
            ge=0,
            le=64,
            description="number of GPUs for Kubernetes, 0 for none; default: those of the PCI bus without old display "
            "cards and GPUs bound for virtual machines",
        ),
    ] = None
    gpustack_mig: Annotated[
        Layout | None, Field(description="MIG layout of the host's GPUs, by its name in NVIDIA's MIG manager")
    ] = None
    gpustack_sharing: Annotated[
        Sharing | None,
        Field(description="how pods share the host's GPUs: none, time-slicing:N or mps:N, with N pods per GPU"),
    ] = None
    gpustack_labels: Annotated[
        dict[LabelKey, LabelValue], Field(description="labels of the host's node, as {example.com/pool: research}")
    ] = {}
    gpustack_taints: Annotated[
        tuple[Taint, ...],
        AfterValidator(validate_taints),
        Field(description="taints of the host's node, as ['example.com/team=research:NoSchedule']"),
    ] = ()

    def __hash__(self) -> int:
        """Hash the values: the labels are a mapping, which has no hash of its own."""
        values = {**self.__dict__, "gpustack_labels": tuple(sorted(self.gpustack_labels.items()))}
        return hash(tuple(values.values()))


@dataclass(frozen=True)
class Host:
    """Describe what SSH reaches. `address` is how this machine reaches the host, and only the transport and reports
    read it: other hosts may know that address as another host's, or not at all. `ssh_args` are arguments of ssh(1) in
    the order in which Ansible gives them. `timeout_factor` is that of the spec."""

    name: str
    address: str
    connection: Literal["ssh", "local"] = "ssh"
    port: int | None = None
    user: str | None = None
    key_file: str | None = None
    ssh_args: tuple[str, ...] = ()
    become: bool = False
    become_exe: str = "sudo"
    become_password: str | None = field(default=None, repr=False)
    python: str | None = None
    groups: frozenset[str] = frozenset()
    spec: HostSpec = HostSpec()
    timeout_factor: int = 1

    @property
    def node_address(self) -> str:
        """Return the IPv4 address that the inventory gives the node: `gpustack_node_ip`, or else that in
        `ansible_host`, which counts where the host has it (gpustack/steps/node_address.py). Return an empty text where
        the inventory has a name or an IPv6 address."""
        if self.spec.gpustack_node_ip:
            return str(self.spec.gpustack_node_ip)
        return self.address if is_ipv4_address(self.address) else ""

    @property
    def identifiers(self) -> frozenset[str]:
        """Return all names and addresses by which the inventory means this host."""
        return frozenset(filter(None, (self.name.lower(), self.address, self.node_address)))

    @property
    def control_plane(self) -> bool:
        return CONTROL_PLANE in self.groups

    @property
    def standalone(self) -> bool:
        """Tell whether it has GPUs and their monitoring, and no Kubernetes."""
        return STANDALONE in self.groups
