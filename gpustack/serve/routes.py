"""Which path answers what. Pure functions; the server has the connections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

from gpustack.serve import answers
from gpustack.serve.measures import MEASURES
from gpustack.serve.models import GpuAnswer, GpuList, Health, Measured, Model, PodAnswer, PodList
from gpustack.serve.moment import Moment
from gpustack.serve.refusal import Refusal, refuse_missing, shown

INSTANCE = {"instance": "Id of a MIG instance of the GPU."}


@dataclass(frozen=True)
class Route:
    """`path` has the names of its parameters in braces; `query` has those behind the question mark."""

    path: str
    model: type[Model]
    answer: Callable[[Moment, Mapping[str, str]], Model]
    summary: str
    query: Mapping[str, str] = field(default_factory=dict)


ROUTES = (
    Route("/v1/gpus", GpuList, answers.list_gpus, "All GPUs.", {"node": "Only GPUs of this node."}),
    Route("/v1/gpus/{uuid}", GpuAnswer, answers.show_gpu, "A GPU.", INSTANCE),
    Route("/v1/gpus/{uuid}/{measure}", Measured, answers.show_gpu_value, "One value of a GPU.", INSTANCE),
    Route("/v1/pods", PodList, answers.list_pods, "All pods that have GPUs.", {"namespace": "Only pods in it."}),
    Route("/v1/pods/{namespace}/{pod}", PodAnswer, answers.show_pod, "A pod, or all whose name begins so."),
    Route("/v1/pods/{namespace}/{pod}/{measure}", Measured, answers.show_pod_value, "One value of it."),
)
HEALTH, OPENAPI = "/healthz", "/openapi.json"
# What stands in braces.
PARAMETERS = {
    "uuid": "UUID of the GPU; NODE:INDEX where its exporter sends none.",
    "namespace": "Namespace of the pod.",
    "pod": "Name of the pod. `vllm-*` is all pods whose name begins so, together.",
    "measure": "Name of the value.",
}
MOST_WORDS = 8


def respond(target: str, latest: Callable[[], Moment], openapi: Callable[[], str]) -> str:
    """JSON. `target` is the path of a request with its query. Raises Refusal."""
    try:
        split = urlsplit(target)
        segments = [unquote(part, errors="strict") for part in split.path.split("/")]
        query = parse_qsl(
            split.query,
            keep_blank_values=True,
            strict_parsing=bool(split.query),
            errors="strict",
            max_num_fields=MOST_WORDS,
        )
    except ValueError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "serve-request", "The path or the query cannot be decoded.") from None
    if split.path in (HEALTH, OPENAPI):
        check_query(query, {})
        return Health(status="ok").model_dump_json() if split.path == HEALTH else openapi()
    route, words = find_route(segments)
    words |= check_query(query, route.query)
    if words.get("measure", "sm") not in MEASURES:
        reason = f"There is no value {shown(words['measure'])}: there are {', '.join(MEASURES)}."
        raise refuse_missing("serve-path", reason)
    return route.answer(latest(), words).model_dump_json()


def find_route(segments: list[str]) -> tuple[Route, dict[str, str]]:
    for route in ROUTES:
        wanted = route.path.split("/")
        pairs = list(zip(wanted, segments, strict=False))
        if len(wanted) == len(segments) and all(want == got or (want[:1] == "{" and got) for want, got in pairs):
            return route, {want[1:-1]: got for want, got in pairs if want[:1] == "{"}
    paths = ", ".join([*(route.path for route in ROUTES), HEALTH, OPENAPI])
    raise refuse_missing("serve-path", f"There is no such path. There are {paths}.")


def check_query(query: list[tuple[str, str]], known: Mapping[str, str]) -> dict[str, str]:
    """Raises Refusal for a parameter that the path does not have, is there twice, or is empty."""
    for name, value in query:
        if name not in known:
            there = f"it takes {', '.join(known)}" if known else "it takes none"
            reason = f"The path has no parameter {shown(name)}: {there}."
        elif not value or [one for one, _ in query].count(name) > 1:
            reason = f"The parameter {name} is empty, or there twice."
        else:
            continue
        raise Refusal(HTTPStatus.BAD_REQUEST, "serve-parameter", reason)
    return dict(query)
