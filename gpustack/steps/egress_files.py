"""Checks the files that contain the proxy or a login; the steps prereqs, containerd and kubernetes each own some of
them."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.config.egress import PATHS, host_files
from gpustack.probes.host.egress import DAEMONS, EGRESS


def files_mismatch(here: View, step: str) -> Result | None:
    """None if the files of the step match the spec and no unexpected one is left."""
    wanted, found = host_files(here.snapshot.inventory), here[EGRESS]
    wrong = []
    for path in PATHS[step]:
        file, there = wanted.get(path), found.get(path)
        if file is None or there is None:
            if file or there:
                wrong.append(f"no {path}" if file else f"{path} left over")
        elif there.content != "same":
            wrong.append(f"{path} with different content")
        elif there.mode != file.mode:
            wrong.append(f"{path} with mode {there.mode} instead of {file.mode}")
    expected = "those of the spec"
    return Result("files with the proxy and the logins", expected, "; ".join(wrong)) if wrong else None


def daemon_mismatch(here: View, unit: str) -> Result | None:
    """None if the unit is not running, is running with the proxy of the spec, or the spec has no proxy."""
    found = here[DAEMONS].get(unit, "same")
    if here.spec.proxy is None or found == "same":
        return None
    return Result(f"proxy of the running {unit}", "that of the spec", "a different one" if found == "other" else "none")
