"""Kernels that run without their modules."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kernel.boot import BOOT


def observe_modules(view: View) -> Iterator[AbnormalState]:
    """Observe a running kernel whose modules an upgrade removed, so that no module can be loaded until the next boot. A
    host without any modules has its kernel from elsewhere, as a container has."""
    boot = view[BOOT]
    if boot.folder == "empty" or (boot.folder == "none" and boot.other_kernels):
        other_kernels = f"; there are those of {', '.join(boot.other_kernels)}" if boot.other_kernels else ""
        message = f"its modules are not in /lib/modules/{boot.release}, so that none can be loaded{other_kernels}"
        subject, command = f"kernel {boot.release}", Command("ls", "/lib/modules")
        yield AbnormalState("kernel-modules-missing", "risk", (view.location,), (subject,), message, command)


OBSERVERS = (Observer("kernels", "Kernels of hosts", observe_modules, (BOOT,), scope="host", yields=True),)
