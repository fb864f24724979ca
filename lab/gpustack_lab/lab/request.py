"""The request for a lab, and its judgement."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab.releases import RELEASES
from gpustack_lab.lab.state import MOST_HOSTS, Host, Record
from gpustack_lab.simulated import hardware

MOST_ADDRESSES = 150


@dataclass(frozen=True)
class Request:
    """Describe a lab with one host per entry of `releases`. `gpus` and `model` are as for hardware.parse_fleet. With
    `internet` hosts find the official names on the bridge. With `vm` they are virtual machines; `image` has them copied
    from this disk image instead of Debian roots."""

    name: str
    releases: Sequence[str]
    addresses: int = 0
    internet: bool = False
    gpus: str = ""
    model: str = ""
    vm: bool = False
    image: str = ""
    gpus_by_host: dict[str, tuple[int, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Parse the GPUs. Raise LabError for impossible ones."""
        hosts = [f"host{i + 1}" for i in range(len(self.releases))]
        object.__setattr__(self, "gpus_by_host", hardware.parse_fleet(hosts, self.gpus, self.model))

    def build_hosts(self, net: str) -> tuple[Host, ...]:
        return tuple(
            Host(name, release, f"{net}.{11 + i}", *self.gpus_by_host[name])
            for i, (name, release) in enumerate(zip(self.gpus_by_host, self.releases, strict=True))
        )


def judge_request(request: Request, *, mirrored: bool) -> None:
    """Raise LabError with all that is wrong in a request. `mirrored` says that there is a mirror to install from."""
    name, releases, choices = request.name, request.releases, ", ".join(RELEASES)
    reasons = []
    if not request.image:
        reasons = [
            f"release {release!r}: there is {choices}" for release in dict.fromkeys(releases) if release not in RELEASES
        ]
    is_plain = name.replace("-", "").isalnum() and name.isascii() and name == name.lower()
    if not is_plain or len(name) > 40 or name == "machine" or name.startswith(("-", "seed-")):
        reasons.append(f"name {name!r}: lower-case letters, digits and dashes, at most 40; not machine, not seed-…")
    if not 1 <= len(releases) <= MOST_HOSTS:
        reasons.append(f"{len(releases)} hosts: 1 to {MOST_HOSTS} are possible")
    if not 0 <= request.addresses <= MOST_ADDRESSES:
        reasons.append(f"{request.addresses} addresses: 0 to {MOST_ADDRESSES} are possible")
    if request.internet and not mirrored:
        reasons.append("an internet without a mirror: nothing could be answered")
    if request.vm and any(number for number, _ in request.gpus_by_host.values()):
        reasons.append("simulated GPUs in virtual machines: they are of lab containers only")
    if request.image and request.addresses:
        reasons.append("further addresses of hosts from an image: cloud-init gives them one")
    if request.image and request.internet:
        reasons.append("an internet for hosts from an image: their files are not the lab's to change")
    if reasons:
        raise LabError(
            "lab-bad-request",
            "There can be no such lab.",
            "\n".join(reasons),
            Command("gpustack", "lab", "up", "--help"),
        )


def require_same(record: Record, request: Request) -> None:
    """Raise LabError where a lab that is up differs from the request."""
    actual = (record.hosts, len(record.addresses), record.internet, bool(record.vm), record.image)
    requirements = (request.build_hosts(record.net), request.addresses, request.internet, request.vm, request.image)
    if actual != requirements:
        names = ", and the official names on its bridge" if record.internet else ""
        gpus = "".join(f", {host.name} with {host.gpus} GPUs {host.model}" for host in record.hosts if host.gpus)
        kind = " as virtual machines" if record.vm else ""
        hosts = ", ".join(host.os for host in record.hosts)
        reason = f"It has {hosts}{kind} and {len(record.addresses)} further addresses{names}{gpus}."
        down_command = Command("gpustack", "lab", "down", "--name", record.name)
        raise LabError("lab-already-up", f"Lab {record.name} is up with other hosts.", reason, down_command)
