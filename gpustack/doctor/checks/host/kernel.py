"""Faults of the layer `host` in its kernel settings: their values now, and the files that set them at boot."""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.probes.kernel.settings import MODULES, SYSCTL

FORWARD = "net.ipv4.ip_forward"
BRIDGE = ("net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables")


def describe_setting(view: View, key: str) -> str:
    """Name the file that decides about the key at boot, if one names it."""
    assignments = view[SYSCTL].at_boot[key]
    return f" ({assignments[-1].file} sets {assignments[-1].value})" if assignments else ""


@check("host-ip-forward-off", SYSCTL)
def ip_forward_off(view: View) -> Result:
    """Judge the value that the kernel uses now, not that of a file."""
    setting = view[SYSCTL].live[FORWARD]
    return Result(
        FORWARD,
        "1",
        f"{format_value(setting)}{describe_setting(view, FORWARD) if setting == '0' else ''}",
        ok=setting != "0",
    )


@check("bridge-nf-call-off", SYSCTL)
def bridge_nf_call_off(view: View) -> Result:
    """Judge the values that the kernel uses. A missing key belongs to a module that is not loaded, which is another
    fault."""
    live_values = view[SYSCTL].live
    disabled_keys = [f"{key} = 0{describe_setting(view, key)}" for key in BRIDGE if live_values[key] == "0"]
    return expect_none("iptables for bridged packets", "1", disabled_keys, format_value(live_values[BRIDGE[0]]))


@check("flannel-br-netfilter-missing", MODULES)
def br_netfilter_missing(view: View) -> Result:
    """Judge br_netfilter by its effect, because a kernel with it built in loads no module."""
    is_loaded = "br_netfilter" in view[MODULES].working
    return Result("br_netfilter", "working", "working" if is_loaded else "not working", ok=bool(is_loaded))
