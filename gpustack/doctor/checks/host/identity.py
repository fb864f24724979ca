"""Faults of the layer `host` in its identity and its clock, each compared with the other hosts."""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.doctor.recent_changes import shorten_names
from gpustack.probes.control_plane.kubeadm import CERTIFICATES
from gpustack.probes.host.system import HOST_TIME, HOSTNAME, IDENTITY, Identity
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.prereqs.identity import NODE_NAME, group_hosts

# Seconds. Hosts are asked one after another, so that their answers are seconds old.
SKEW = 60
MAX_NAMES = 5


def compute_clock_offset(view: View) -> float:
    """Return the seconds between the host's clock and the clock of gpustack at the start of the questions."""
    return view[HOST_TIME] - view.started_at.timestamp()


def is_near(first: float, second: float, seconds: float) -> bool:
    return abs(first - second) <= SKEW + seconds


@check("host-time-skew", HOST_TIME)
def time_skew(host_view: View) -> Result:
    """Compare the clock with that of the machine that runs gpustack. If most hosts differ from it alike, that clock is
    wrong."""
    offset, seconds = compute_clock_offset(host_view), host_view.snapshot.seconds
    if is_near(offset, 0, seconds):
        return build_ok_result("clock", f"{offset:+.0f} s")
    views = [view for host in host_view.hosts if (view := View(host_view.snapshot, host.name)).has_fact(HOST_TIME)]
    same_offset = sum(is_near(compute_clock_offset(view), offset, seconds) for view in views) - 1
    if same_offset and 2 * same_offset >= len(views) - 1:
        return build_ok_result("clock", f"as on {same_offset} other hosts, unlike the machine that runs gpustack")
    return Result("clock", "as on the other hosts", f"{offset:+.0f} s")


@check("host-time-skew -> controlplane-certs-expired", CERTIFICATES)
def certificates_by_true_time(view: View) -> Result:
    """Judge the expiry of certificates by the clock of the machine that runs gpustack."""
    expired_certificates = {
        certificate.subject for certificate in view[CERTIFICATES] if certificate.expires < view.started_at
    }
    return Result(
        "certificates",
        "valid at the correct time",
        f"expired: {format_value(expired_certificates)}" if expired_certificates else "valid",
        ok=bool(expired_certificates),
    )


def select_name(name: str) -> str:
    return name


def select_machine_id(identity: Identity) -> str:
    return identity.machine_id


@check("host-duplicate-identity", HOSTNAME, IDENTITY)
def duplicate_identity(view: View) -> Result:
    """Compare host names and machine-ids. The firmware's UUID does not count, because hosts in containers share it."""
    name, id = view[HOSTNAME], view[IDENTITY].machine_id
    hosts_by_name = view.compute_once(group_hosts, HOSTNAME, select_name)[name]
    hosts_by_id = view.compute_once(group_hosts, IDENTITY, select_machine_id)[id] if id else []
    twins = [f"host name {name} of {shorten_names(hosts_by_name, MAX_NAMES)}"] if len(hosts_by_name) > 1 else []
    if len(hosts_by_id) > 1:
        twins.append(f"machine-id {id} of {shorten_names(hosts_by_id, MAX_NAMES)}")
    return expect_none("identity", "unique", twins, f"unique ({name})")


@check("host-duplicate-identity -> flannel-wrong-interface", ADDRESS)
def duplicate_address(view: View) -> Result:
    address = view[ADDRESS]
    is_unique = len(view.compute_once(group_hosts, ADDRESS, select_name)[address]) < 2
    actual = f"{address}, unique" if is_unique else f"{address}, as on another host"
    return Result("address", "as on another host", actual, ok=bool(is_unique))


@check("host-hostname-invalid", HOSTNAME)
def hostname_invalid(view: View) -> Result:
    """Check that the host name is a DNS name. Capitals are allowed, because kubeadm and the kubelet convert them."""
    name = view[HOSTNAME]
    return Result("host name", "a DNS name of at most 63 characters", name, ok=bool(NODE_NAME.fullmatch(name)))
