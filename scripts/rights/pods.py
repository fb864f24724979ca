"""Rights of containers on their host: privileges, host namespaces, host paths, capabilities, user and token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
TEMPLATE_KINDS = ("DaemonSet", "Deployment", "StatefulSet", "Job")
# The Prometheus operator makes pods of these; it says what they may beside, in its own code.
OPERATOR_KINDS = ("Prometheus", "Alertmanager")
NO_TOKEN = "none"  # noqa: S105 - a word of the page
HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")


@dataclass(frozen=True, order=True)
class Access:
    """Hold the rights of one container beyond one without any; `special` is false where that is a token at most."""

    workload: str
    container: str
    host: str
    user: str
    token: str

    @property
    def special(self) -> bool:
        return bool(self.host) or self.user == "0"


def find_access(objects: Sequence[Object], namespace: str) -> list[Access]:
    """Find the rights of all containers; `namespace` is that of objects which name none."""
    accounts = {
        (item["metadata"].get("namespace", namespace), item["metadata"]["name"]): item
        for item in objects
        if item["kind"] == "ServiceAccount"
    }
    accesses = []
    for kind, metadata, pod in list_pods(objects):
        space = metadata.get("namespace", namespace)
        token = read_token(pod, accounts.get((space, pod.get("serviceAccountName", "default"))), space)
        for container in [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]:
            host = ", ".join(
                [*list_host_namespaces(pod), *list_privileges(container), *list_host_paths(pod, container)]
            )
            accesses.append(
                Access(
                    f"{kind} {space}/{metadata['name']}",
                    container.get("name", "-"),
                    host,
                    find_user(pod, container),
                    token,
                )
            )
    return sorted(accesses)


def list_pods(objects: Sequence[Object]) -> Iterator[tuple[str, Object, Object]]:
    """Yield (kind, metadata, spec of the pod)."""
    for item in objects:
        kind, spec = item["kind"], item.get("spec", {})
        if kind in TEMPLATE_KINDS:
            yield kind, item["metadata"], spec["template"]["spec"]
        elif kind == "CronJob":
            yield kind, item["metadata"], spec["jobTemplate"]["spec"]["template"]["spec"]
        elif kind == "Pod":
            yield kind, item["metadata"], spec
        elif kind in OPERATOR_KINDS:
            pod = {key: spec[key] for key in ("serviceAccountName", "securityContext", "hostNetwork") if key in spec}
            token = {"automountServiceAccountToken": spec.get("automountServiceAccountToken", True)}
            yield kind, item["metadata"], {**pod, **token, "containers": [{"name": kind.lower()}]}
        elif kind == "ConfigMap" and "helperPod.yaml" in item.get("data", {}):
            import yaml

            helper = yaml.safe_load(item["data"]["helperPod.yaml"])
            space = item["metadata"].get("namespace")
            volumes = {"volumes": [{"name": "data", "hostPath": {"path": "the directory of a volume"}}]}
            containers = [
                {**container, "volumeMounts": [{"name": "data"}]} for container in helper["spec"]["containers"]
            ]
            pod = {**helper["spec"], **volumes, "containers": containers}
            yield "Pod", {"name": helper["metadata"]["name"], **({"namespace": space} if space else {})}, pod


def list_host_namespaces(pod: Object) -> list[str]:
    return [name for name in HOST_NAMESPACES if pod.get(name)]


def list_privileges(container: Object) -> list[str]:
    context = container.get("securityContext") or {}
    capabilities = context.get("capabilities") or {}
    added_capabilities = [f"capability {name}" for name in capabilities.get("add") or ()]
    dropped_capabilities = [f"drops {name}" for name in capabilities.get("drop") or ()] if added_capabilities else []
    return ["privileged"] * bool(context.get("privileged")) + added_capabilities + dropped_capabilities


def list_host_paths(pod: Object, container: Object) -> list[str]:
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod.get("volumes") or () if "hostPath" in volume}
    return [
        f"hostPath {paths[mount['name']]}{' (read only)' if mount.get('readOnly') else ''}"
        for mount in container.get("volumeMounts") or ()
        if mount["name"] in paths
    ]


def find_user(pod: Object, container: Object) -> str:
    """Find the user: that of the container, of the pod, or else of the image."""
    contexts = (container.get("securityContext") or {}, pod.get("securityContext") or {})
    users = [context["runAsUser"] for context in contexts if "runAsUser" in context]
    if users:
        return str(users[0])
    return "not 0" if any(context.get("runAsNonRoot") for context in contexts) else "of the image"


def read_token(pod: Object, account: Object | None, space: str) -> str:
    """Read the ServiceAccount whose token is in the pod; `none` where none is."""
    automount = pod.get("automountServiceAccountToken", (account or {}).get("automountServiceAccountToken", True))
    return f"{space}/{pod.get('serviceAccountName', 'default')}" if automount else NO_TOKEN
