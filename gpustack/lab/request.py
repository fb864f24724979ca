"""What a lab is asked to be."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.lab.releases import RELEASES
from gpustack.lab.state import MOST_HOSTS, Host, Record
from gpustack.simulated import hardware

MOST_ADDRESSES = 150


@dataclass(frozen=True)
class Request:
    """One host per entry of `releases`. `gpus` and `model`: as hardware.fleet. `internet`: hosts find the official
    names on the bridge. `vm`: they are virtual machines; `image`: copies of this disk image instead of Debian roots."""

    name: str
    releases: Sequence[str]
    addresses: int = 0
    internet: bool = False
    gpus: str = ""
    model: str = ""
    vm: bool = False
    image: str = ""
    fitted: dict[str, tuple[int, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Raises LabError for GPUs that there are not."""
        hosts = [f"host{i + 1}" for i in range(len(self.releases))]
        object.__setattr__(self, "fitted", hardware.fleet(hosts, self.gpus, self.model))

    def hosts(self, net: str) -> tuple[Host, ...]:
        return tuple(
            Host(name, release, f"{net}.{11 + i}", *self.fitted[name])
            for i, (name, release) in enumerate(zip(self.fitted, self.releases, strict=True))
        )


def judge(request: Request, *, mirrored: bool) -> None:
    """Raises LabError with all that is wrong in a request. `mirrored`: there is a mirror to install from."""
    name, releases, known = request.name, request.releases, ", ".join(RELEASES)
    wrong = []
    if not request.image:
        wrong = [f"release {one!r}: there is {known}" for one in dict.fromkeys(releases) if one not in RELEASES]
    plain = name.replace("-", "").isalnum() and name.isascii() and name == name.lower()
    if not plain or len(name) > 40 or name == "machine" or name.startswith(("-", "seed-")):
        wrong.append(f"name {name!r}: lower-case letters, digits and dashes, at most 40; not machine, not seed-…")
    if not 1 <= len(releases) <= MOST_HOSTS:
        wrong.append(f"{len(releases)} hosts: 1 to {MOST_HOSTS} are possible")
    if not 0 <= request.addresses <= MOST_ADDRESSES:
        wrong.append(f"{request.addresses} addresses: 0 to {MOST_ADDRESSES} are possible")
    if request.internet and not mirrored:
        wrong.append("an internet without a mirror: nothing could be answered")
    if request.vm and any(number for number, _ in request.fitted.values()):
        wrong.append("simulated GPUs in virtual machines: they are of lab containers only")
    if request.image and request.addresses:
        wrong.append("further addresses of hosts from an image: cloud-init gives them one")
    if request.image and request.internet:
        wrong.append("an internet for hosts from an image: their files are not the lab's to change")
    if wrong:
        raise LabError(
            "lab-bad-request", "There can be no such lab.", "\n".join(wrong), Command("gpustack", "lab", "up", "--help")
        )


def require_same(there: Record, request: Request) -> None:
    """Raises LabError where a lab that is up is not what is asked for."""
    found = (there.hosts, len(there.addresses), there.internet, bool(there.vm), there.image)
    asked = (request.hosts(there.net), request.addresses, request.internet, request.vm, request.image)
    if found != asked:
        names = ", and the official names on its bridge" if there.internet else ""
        gpus = "".join(f", {host.name} with {host.gpus} GPUs {host.model}" for host in there.hosts if host.gpus)
        kind = " as virtual machines" if there.vm else ""
        hosts = ", ".join(host.os for host in there.hosts)
        why = f"It has {hosts}{kind} and {len(there.addresses)} further addresses{names}{gpus}."
        down = Command("gpustack", "lab", "down", "--name", there.name)
        raise LabError("lab-already-up", f"Lab {there.name} is up with other hosts.", why, down)
