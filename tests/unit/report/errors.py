"""Errors of the kinds that people see, for the golden files."""

from gpustack.command import NO_HINT, Command
from gpustack.config.complaint import Complaint, refuse
from gpustack.errors import ConfigError, GpustackError, LockedError, UnreachableError, UsageError


def make_config_error() -> ConfigError:
    file = "site/group_vars/all/gpustack.yml"
    try:
        refuse(
            [
                Complaint(
                    file,
                    "gpustack.kubernets",
                    "a key that does not exist",
                    "one of …",
                    "config-unknown-key",
                    "kubernetes",
                ),
                Complaint(file, "gpustack.flannel.port", "'x'", "a whole number"),
            ]
        )
    except ConfigError as error:
        return error
    raise AssertionError


ERRORS: tuple[GpustackError, ...] = (
    make_config_error(),
    UsageError("unknown-step", "There is no step runtim.", "Steps: ground, runtime", Command("gpustack", "explain")),
    LockedError("locked", "Another gpustack is changing this cluster.", "ann@desk (pid 7) since 12:00 UTC", NO_HINT),
    UnreachableError(
        "host-ssh-login",
        "No host could be asked; nothing was changed.",
        "kube1: \x1b[31mrefused\x1b[0m with password=hunter2!\nkube2: refused",
        Command("ssh", "ops@10.0.0.1", "true"),
    ),
)
