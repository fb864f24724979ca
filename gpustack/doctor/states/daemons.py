"""The kubelet and containerd where they do not run, whoever stopped them."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.containerd.daemon import MIRRORS
from gpustack.probes.host.failed_units import FAILED_UNITS
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.start import START


def observe_kubelet(view: View) -> Iterator[AbnormalState]:
    """Observe a kubelet that was stopped, or that ends with an error and is started again. While it starts for the
    first time its last result is still a success."""
    start = view[START]
    if start is None or start.active == "active" or (start.active == "activating" and start.result == "success"):
        return
    words = (f"{start.active}, {start.file}", f"last result {start.result}", start.message)
    yield from build_states(view, "kubelet", ": ".join(filter(None, words)))


def observe_containerd(view: View) -> Iterator[AbnormalState]:
    unit = view[UNITS].get("containerd")
    if unit and not unit.active and not unit.moving:
        reason = "ended by itself" if unit.ended else "stopped"
        yield from build_states(view, "containerd", f"not active, {unit.file}: {reason}")


def observe_registries(view: View) -> Iterator[AbnormalState]:
    """Observe files of registries that containerd cannot read, so that it pulls nothing from these registries."""
    for registry, mirror in view[MIRRORS].items():
        if mirror.server.startswith("("):
            path = f"/etc/containerd/certs.d/{registry}/hosts.toml"
            message = f"it is {mirror.server.strip('()')}, so that containerd pulls no image of {registry}"
            command = Command("cat", path)
            yield AbnormalState("file-invalid", "risk", (view.location,), (f"file {path}",), message, command)


def build_states(view: View, name: str, message: str) -> Iterator[AbnormalState]:
    """Build the state of a unit. One that systemd lists as failed is reported with more of its words."""
    failed_units = view[FAILED_UNITS] if view.has_fact(FAILED_UNITS) else ()
    if not any(unit.name == f"{name}.service" for unit in failed_units):
        subject, journal = f"unit {name}.service", Command("journalctl", "-u", f"{name}.service")
        yield AbnormalState("unit-stopped", "broken", (view.location,), (subject,), message, journal)


OBSERVERS = (
    Observer("registries", "Registries of containerd", observe_registries, (MIRRORS,), scope="host", yields=True),
    Observer("kubelets", "Kubelets", observe_kubelet, (START, FAILED_UNITS), scope="host", yields=True),
    Observer(
        "containerds", "containerd of hosts", observe_containerd, (UNITS, FAILED_UNITS), scope="host", yields=True
    ),
)
