"""Rights of Prometheus to list, as the API server answers, and other Deployments that run an operator of it.

Each question is a SubjectAccessReview, as that of `kubectl auth can-i` is (kubernetes/kubectl pkg/cmd/auth/cani.go):
the API server answers it and stores nothing. A service account has these groups
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects). The kinds that Prometheus reads:
prometheus-operator Documentation/platform/rbac.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.kubernetes.nodes import list_objects

SLICES = "endpointslices.discovery.k8s.io"
ANSWERS = {"yes": True, "no": False, "unknown": None}


@dataclass(frozen=True)
class Rights:
    """Hold in `lists` whether the service account `account` (namespace/name) may list a kind in a namespace; None is
    unknown."""

    account: str
    lists: Mapping[tuple[str, str], bool | None]


@dataclass(frozen=True)
class Operator:
    """Describe a Deployment that runs prometheus-operator. `narrowed`: it is limited to some namespaces or objects."""

    namespace: str
    name: str
    running: bool
    narrowed: bool


def parse_rights(answer: Answer) -> Rights | None:
    """Parse the rights, or None without a Prometheus of gpustack.

    Raise ValueError or KeyError where the answer has another shape, and where there is no admin.conf to ask with.
    """
    if answer.stdout == "none\n":
        return None
    lines = [line.split(" ") for line in answer.stdout.splitlines()]
    (account,) = {account for account, *_ in lines}
    return Rights(account, {(kind, space): ANSWERS[answer_word] for _, kind, space, answer_word in lines})


def parse_operators(answer: Answer) -> tuple[Operator, ...]:
    return tuple(
        Operator(
            entry["metadata"]["namespace"],
            entry["metadata"]["name"],
            entry.get("status", {}).get("readyReplicas", 0) > 0,
            any(has_flag(container, *NARROWING_FLAGS) for container in operator_containers),
        )
        for entry in list_objects(answer)
        if (
            operator_containers := [
                candidate
                for candidate in entry["spec"]["template"]["spec"]["containers"]
                if is_operator_image(candidate.get("image", ""))
            ]
        )
    )


def is_operator_image(image: str) -> bool:
    return image.rpartition("/")[2].partition(":")[0].partition("@")[0] == "prometheus-operator"


def has_flag(container: Any, *flags: str) -> bool:
    return any(word.startswith(flags) for word in container.get("args") or ())


NARROWING_FLAGS = (
    "--namespaces=", "--prometheus-instance-namespaces=", "--controller-id=", "--prometheus-instance-selector="
)  # fmt: skip


RIGHTS = Probe(
    "monitoring.rights",
    Lines(read_script(__file__, "rights.sh").replace("SLICES", SLICES)),
    parse_rights,
    limit=10,
    manual_command="kubectl auth can-i list endpointslices -n NAMESPACE --as=system:serviceaccount:NAMESPACE:NAME",
)
OPERATORS = Probe(
    "monitoring.operators",
    Api(
        "/apis/apps/v1/deployments",
        (
            "metadata.name", "metadata.namespace", "status.readyReplicas", "spec.template.spec.containers.image",
            "spec.template.spec.containers.args",
        ),
    ),
    parse_operators,
)  # fmt: skip
