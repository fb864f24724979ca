"""Routes from paths to answers, as pure functions. The server has the connections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

from gpustack.serve import answers
from gpustack.serve.measures import MEASURES
from gpustack.serve.models import GpuAnswer, GpuList, Health, Measurement, Model, PodAnswer, PodList
from gpustack.serve.moment import Moment
from gpustack.serve.refusal import Refusal, quote_input, refuse_missing

INSTANCE = {"instance": "Id of a MIG instance of the GPU."}


@dataclass(frozen=True)
class Route:
    """Hold a route. `path` has its parameters in braces; `query` has the parameters behind the question mark."""

    path: str
    model: type[Model]
    answer: Callable[[Moment, Mapping[str, str]], Model]
    summary: str
    query: Mapping[str, str] = field(default_factory=dict)


ROUTES = (
    Route("/v1/gpus", GpuList, answers.list_gpus, "All GPUs.", {"node": "Only GPUs of this node."}),
    Route("/v1/gpus/{uuid}", GpuAnswer, answers.show_gpu, "A GPU.", INSTANCE),
    Route("/v1/gpus/{uuid}/{measure}", Measurement, answers.show_gpu_value, "One value of a GPU.", INSTANCE),
    Route(
        "/v1/pods",
        PodList,
        answers.list_pods,
        "All pods that have GPUs.",
        {"namespace": "Only pods of this namespace."},
    ),
    Route("/v1/pods/{namespace}/{pod}", PodAnswer, answers.show_pod, "A pod, or all pods whose name begins so."),
    Route("/v1/pods/{namespace}/{pod}/{measure}", Measurement, answers.show_pod_value, "One value of a pod."),
)
HEALTH, OPENAPI = "/healthz", "/openapi.json"
# Descriptions of the parameters in braces.
PARAMETERS = {
    "uuid": "UUID of the GPU, or NODE:INDEX where its exporter sends no UUID.",
    "namespace": "Namespace of the pod.",
    "pod": "Name of the pod. `vllm-*` combines all pods whose name begins so.",
    "measure": "Name of the value.",
}
MAX_PARAMETERS = 8


def respond(target: str, latest: Callable[[], Moment], openapi: Callable[[], str]) -> str:
    """Return the JSON for `target`, the path of a request with its query. Raise Refusal."""
    try:
        split = urlsplit(target)
        segments = [unquote(part, errors="strict") for part in split.path.split("/")]
        query = parse_qsl(
            split.query,
            keep_blank_values=True,
            strict_parsing=bool(split.query),
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except ValueError:
        raise Refusal(HTTPStatus.BAD_REQUEST, "serve-request", "The path or the query cannot be decoded.") from None
    if split.path in (HEALTH, OPENAPI):
        check_query(query, {})
        return Health(outcome="ok").model_dump_json() if split.path == HEALTH else openapi()
    route, parameters = find_route(segments)
    parameters |= check_query(query, route.query)
    if parameters.get("measure", "sm") not in MEASURES:
        reason = f"There is no value {quote_input(parameters['measure'])}: there are {', '.join(MEASURES)}."
        raise refuse_missing("serve-path", reason)
    return route.answer(latest(), parameters).model_dump_json()


def find_route(segments: list[str]) -> tuple[Route, dict[str, str]]:
    for route in ROUTES:
        pattern = route.path.split("/")
        pairs = list(zip(pattern, segments, strict=False))
        if len(pattern) == len(segments) and all(
            pattern_part == segment or (pattern_part[:1] == "{" and segment) for pattern_part, segment in pairs
        ):
            return route, {placeholder[1:-1]: value for placeholder, value in pairs if placeholder[:1] == "{"}
    paths = ", ".join([*(route.path for route in ROUTES), HEALTH, OPENAPI])
    raise refuse_missing("serve-path", f"There is no such path. There are {paths}.")


def check_query(query: list[tuple[str, str]], parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a query. Raise Refusal for one that the path does not have, that is there twice, or
    that is empty."""
    for name, value in query:
        if name not in parameters:
            hint = f"it takes {', '.join(parameters)}" if parameters else "it takes none"
            reason = f"The path has no parameter {quote_input(name)}: {hint}."
        elif not value or [parameter for parameter, _ in query].count(name) > 1:
            reason = f"The parameter {name} is empty, or there twice."
        else:
            continue
        raise Refusal(HTTPStatus.BAD_REQUEST, "serve-parameter", reason)
    return dict(query)
