"""Faults of the layer `host` about who it is and what time it has, each compared with the other hosts."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.control_plane.kubeadm import CERTIFICATES
from gpustack.probes.host.system import HOSTNAME, IDENTITY, NOW, Identity
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.prereqs.identity import NODE_NAME, hosts_by

# Seconds. Hosts are asked one after another, and what they answer is seconds old.
SKEW = 60
SHOWN = 5


def offset(here: View) -> float:
    """Seconds between the host's clock and ours when we began to ask."""
    return here[NOW] - here.taken.timestamp()


def is_near(one: float, other: float, took: float) -> bool:
    return abs(one - other) <= SKEW + took


@check("host-time-skew", NOW)
def time_skew(here: View) -> Result:
    """Against the clock of the machine that asks; where most hosts differ from that alike, it is the one that errs."""
    mine, took = offset(here), here.snapshot.took
    if is_near(mine, 0, took):
        return ok("clock", f"{mine:+.0f} s")
    views = [view for host in here.hosts if (view := View(here.snapshot, host.name)).available(NOW)]
    same_offset = sum(is_near(offset(view), mine, took) for view in views) - 1
    if same_offset and 2 * same_offset >= len(views) - 1:
        return ok("clock", f"as on {same_offset} other hosts; the machine that asks has another one")
    return Result("clock", "as everybody has it", f"{mine:+.0f} s")


@check("host-time-skew -> controlplane-certs-expired", CERTIFICATES)
def certificates_by_true_time(here: View) -> Result:
    """By the clock of the machine that asks."""
    ended = {one.subject for one in here[CERTIFICATES] if one.expires < here.taken}
    return Result(
        "certificates", "valid by the true time", f"ended: {as_text(ended)}" if ended else "valid", ok=bool(ended)
    )


def same(name: str) -> str:
    return name


def machine(found: Identity) -> str:
    return found.machine_id


def is_alone(here: View, probe: Probe[str], name: str) -> bool:
    return len(here.once(hosts_by, probe, same)[name]) < 2


@check("host-duplicate-identity", HOSTNAME, IDENTITY)
def duplicate_identity(here: View) -> Result:
    """Names and machine-ids. The firmware's UUID decides nothing: hosts in containers share it."""
    name, id = here[HOSTNAME], here[IDENTITY].machine_id
    named = here.once(hosts_by, HOSTNAME, same)[name]
    made = here.once(hosts_by, IDENTITY, machine)[id] if id else []
    twins = [f"host name {name} of {format_hosts(named)}"] if len(named) > 1 else []
    if len(made) > 1:
        twins.append(f"machine-id {id} of {format_hosts(made)}")
    return Result("identity", "its own", as_text(twins) if twins else f"{name} alone", ok=not twins)


def format_hosts(hosts: list[str]) -> str:
    return as_text(hosts[:SHOWN]) + (f" and {len(hosts) - SHOWN} more" if len(hosts) > SHOWN else "")


@check("host-duplicate-identity -> flannel-wrong-interface", ADDRESS)
def duplicate_address(here: View) -> Result:
    address = here[ADDRESS]
    once = is_alone(here, ADDRESS, address)
    found = f"{address} alone" if once else f"{address}, as another host"
    return Result("address", "that of another host", found, ok=bool(once))


@check("host-hostname-invalid", HOSTNAME)
def hostname_invalid(here: View) -> Result:
    """Capitals are no fault: kubeadm and the kubelet write them small."""
    name = here[HOSTNAME]
    return Result("host name", "a name of DNS, at most 63 characters", name, ok=bool(NODE_NAME.fullmatch(name)))


CHECKS = (time_skew, certificates_by_true_time, duplicate_identity, duplicate_address, hostname_invalid)
