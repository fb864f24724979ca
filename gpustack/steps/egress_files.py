"""Checks of the files that contain the proxy, a login or a CA; the steps prereqs, containerd and kubernetes each own
some of them."""

from gpustack.ask.egress import AUTHORITIES, CA_CERTIFICATES, PATHS, list_host_files
from gpustack.ask.judge import Result
from gpustack.ask.pod_egress import list_consumers, list_object_names
from gpustack.ask.view import View
from gpustack.probes.host.egress import DAEMONS, EGRESS
from gpustack.probes.kubernetes.pod_egress import POD_EGRESS


def find_file_mismatch(view: View, step: str) -> Result | None:
    """Compare the files of the step with the spec. Return None if they match it and no unexpected one is left."""
    expected_files, actual_files = list_host_files(view.snapshot.inventory), view[EGRESS]
    differences = []
    for path in PATHS[step]:
        file, actual_file = expected_files.get(path), actual_files.get(path)
        if file is None or actual_file is None:
            if file or actual_file:
                differences.append(f"no {path}" if file else f"{path} left over")
        elif actual_file.content != "same":
            differences.append(f"{path} with different content")
        elif actual_file.mode != file.mode:
            differences.append(f"{path} with mode {actual_file.mode} instead of {file.mode}")
        elif not actual_file.trusted:
            differences.append(f"{path} not in {CA_CERTIFICATES}")
    expected = "those of the spec"
    return (
        Result("files with the proxy, the logins and the CAs", expected, "; ".join(differences))
        if differences
        else None
    )


def find_root_mismatch(view: View, active_since: int | None) -> Result | None:
    """Compare the start of a daemon with the CAs of the spec: it reads the trusted ones once."""
    times = [file.written_at or 0 for path, file in view[EGRESS].items() if path in AUTHORITIES.values()]
    if active_since is None or not times or active_since >= max(times):
        return None
    return Result(
        "start of containerd", "after the CAs of the spec were trusted", f"{max(times) - active_since} s before"
    )


def find_object_mismatch(view: View, step: str) -> Result | None:
    """Compare the Secret and the ConfigMaps by which the pods of a step leave the cluster with the spec. Return None if
    they match it, or the spec asks for none."""
    names = list_object_names(view.snapshot.inventory, list_consumers(view.spec)[step])
    if not names:
        return None
    words = {"other": "with different content", "none": "missing"}
    states = {name: view[POD_EGRESS].get(name, "none") for name in names}
    differences = [f"{name} {words[state]}" for name, state in states.items() if state != "same"]
    subject = "login of the proxy, CAs and package sources in the cluster"
    return Result(subject, "those of the spec", "; ".join(differences)) if differences else None


def find_daemon_mismatch(view: View, unit: str) -> Result | None:
    """Compare the proxy of a running unit with the spec. Return None if the unit is not running, is running with the
    proxy of the spec, or the spec has no proxy."""
    # Hosts without Kubernetes are asked for this only with a proxy; of a dead node it stays unknown.
    if view.spec.proxy is None and view.host.standalone:
        return None
    proxy_state = view[DAEMONS].get(unit, "same")
    if view.spec.proxy is None or proxy_state == "same":
        return None
    return Result(
        f"proxy of the running {unit}", "that of the spec", "a different one" if proxy_state == "other" else "none"
    )
