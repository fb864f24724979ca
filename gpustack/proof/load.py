"""Pods that load a GPU each, with dcgmproftester of DCGM's image. They request the GPU, so that the scheduler gives
free ones, and end by themselves at their deadline, even if gpustack is killed.

The kubelet chooses the GPU of a pod. To load certain GPUs, pods request all free ones, and a pod that gets another GPU
holds it until the others have ended.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.errors import GpustackError, RolloutError
from gpustack.events import Event, Reporter, format_count
from gpustack.proof.hold import NOT_HELD, Cluster, remove_pods
from gpustack.proof.pod import ApiRefused
from gpustack.proof.workload import (
    QUERY,
    STUCK,
    VisibleGpu,
    build_container,
    build_pod,
    explain_wait,
    join_words,
    list_states,
    parse_gpus,
)

CONTAINER = "load"
# Limits in seconds: for a pod to start, which may pull its image; for an unschedulable pod to find a node; for the
# start and the end of the tester beside its load; and between two reads of the pods.
START, PLACE, BESIDE, LOOK = 180.0, 20.0, 60.0, 5.0
MOST = 2**18
"""Bytes of output to read. The output of an hour has 360 lines of 100 bytes."""
NO_QUERY, SEVERAL = 90, 91
ENDED = {NO_QUERY: "nvidia-smi did not name its GPU", SEVERAL: "it asked for one GPU and sees several"}
SIGNALS = range(129, 166)
"""Exit codes of signals in a shell. Larger codes are return codes of DCGM, which are negative, plus 256."""
# A binary supports the major version of CUDA of the driver, and the newest binary supports later ones. Other binaries
# end with DCGM_ST_VER_MISMATCH, -12 (DCGM 4.6.0, dcgmproftester/DcgmProfTester.cpp, main). The image has binaries for
# 12 and 13 (docker/Dockerfile.ubuntu22.04). They write results and a log to the working directory.
SCRIPT = f"""
gpus=$({" ".join(QUERY)}) || exit {NO_QUERY}
printf '%s\\n' "$gpus"
[ "$gpus" = "${{gpus%%
*}}" ] || exit {SEVERAL}
case " $WANTED " in
'  ' | *" ${{gpus%%,*}} "*) ;;
*) exec sleep "$LIFE" ;;
esac
for cuda in 13 12; do
  dcgmproftester$cuda "$@"
  code=$?
  [ $code = 244 ] || [ $code = 127 ] || break
done
exit $code
"""
Stage = Literal["waiting", "running", "held", "ended", "stuck"]
OVER: tuple[Stage, ...] = ("held", "ended", "stuck")


class Reader(Cluster, Protocol):
    """Declare the methods of `Pods` in gpustack/proof/pod.py, with its logs."""

    def read_log(self, pod: str, container: str, max_bytes: int) -> str | None: ...


@dataclass(frozen=True)
class LoadPod:
    """Describe a pod of a load. In stage `held` it holds a GPU that is not to be loaded. In stage `ended` the tester
    ended with `code` and printed `output`. In stage `stuck` it will not run, or was removed, for `reason`."""

    name: str
    node: str
    stage: Stage = "waiting"
    reason: str = ""
    code: int | None = None
    gpus: tuple[VisibleGpu, ...] = ()
    output: str = ""


@dataclass
class Loader:
    """Run a load. `connect` opens a new connection to the API each time, because a load may outlive a certificate.
    `words` are options of the tester, `seconds` is the duration of the load, and `uuids` select GPUs, empty for all.
    `cleanup_error` is why pods remain after it."""

    connect: Callable[[], Any]
    report: Reporter
    image: str
    words: Sequence[str]
    seconds: float
    uuids: Sequence[str] = ()
    find_stop_reason: Callable[[], str] = lambda: ""
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    pods: dict[str, LoadPod] = field(default_factory=dict)
    cleanup_error: str = ""

    @property
    def life(self) -> float:
        """Return the longest time in seconds from the first pod to the end of all pods."""
        return START + self.seconds + BESIDE

    def load(self, nodes: Mapping[str, int], watch: Callable[[Sequence[LoadPod]], str]) -> str:
        """Load this number of GPUs by node, remove the pods, and return the reason of an early stop, or an empty text.
        `watch` is called between reads and returns a reason to stop. Raise RolloutError where no pod can be created."""
        try:
            self.create(nodes)
            return self.follow(watch)
        finally:
            self.cleanup_error = remove_pods(self.connect, self.run)

    def create(self, nodes: Mapping[str, int]) -> None:
        pod_nodes = [node for node, number in nodes.items() for _ in range(number)]
        try:
            with self.connect() as cluster:
                cluster.open()
                self.report(Event("step", "", f"{format_count(len(pod_nodes), 'pod')} on {', '.join(nodes)}"))
                for number, node in enumerate(pod_nodes):
                    name = f"burn-{self.run}-{number}"
                    cluster.create(self.build_manifest(name, node))
                    self.pods[name] = LoadPod(name, node)
        except (ApiRefused, HostRefused) as error:
            message = f"{NOT_HELD}; nothing was loaded."
            raise RolloutError("gpu-not-held", message, str(error), Command("gpustack", "verify")) from error

    def build_manifest(self, name: str, node: str) -> dict[str, Any]:
        manifest = build_pod(name, node, self.run, self.life)
        del manifest["spec"]["initContainers"]
        env = {"WANTED": " ".join(self.uuids), "LIFE": str(manifest["spec"]["activeDeadlineSeconds"])}
        container = build_container(CONTAINER, "sh", "-c", SCRIPT, CONTAINER, *self.words)
        container |= {"image": self.image, "workingDir": "/tmp"}  # noqa: S108 - of the container
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
        manifest["spec"]["containers"] = [container]
        return manifest

    def follow(self, watch: Callable[[Sequence[LoadPod]], str]) -> str:
        started_at = self.clock()
        while True:
            try:
                with self.connect() as cluster:
                    while not self.is_over():
                        self.update(cluster, self.clock() - started_at)
                        if stop := self.check_stop(watch, started_at):
                            return stop
                    return ""
            except (ApiRefused, GpustackError) as error:
                self.report(Event("note", "", f"the pods could not be looked at: {error}"))
            if stop := self.check_stop(watch, started_at):
                return stop

    def check_stop(self, watch: Callable[[Sequence[LoadPod]], str], started_at: float) -> str:
        if stop := self.find_stop_reason() or watch(tuple(self.pods.values())):
            return stop
        if self.clock() - started_at > self.life:
            return f"it did not end within {self.life:.0f} s"
        if not self.is_over():
            self.wait(LOOK)
        return ""

    def is_over(self) -> bool:
        return all(pod.stage in OVER for pod in self.pods.values())

    def update(self, cluster: Reader, age: float) -> None:
        documents = {document["metadata"]["name"]: document for document in cluster.list_pods(self.run)}
        for name, load_pod in self.pods.items():
            if load_pod.stage not in OVER:
                current_document = documents.get(name)
                judged_pod = (
                    judge_pod(load_pod, current_document, age)
                    if current_document
                    else replace(load_pod, stage="stuck", reason="somebody removed it")
                )
                self.pods[name] = self.read(cluster, judged_pod)
        finished_pods = sum(pod.stage in OVER for pod in self.pods.values())
        self.report(
            Event("waiting", "", f"{finished_pods} of {format_count(len(self.pods), 'pod')} through, {age:.0f} s")
        )

    def read(self, cluster: Reader, load_pod: LoadPod) -> LoadPod:
        """Add the GPU that the pod named to its state, and its output once it has ended."""
        if load_pod.stage not in ("running", "ended") or (load_pod.stage == "running" and load_pod.gpus):
            return load_pod
        output = cluster.read_log(load_pod.name, CONTAINER, MOST) or ""
        load_pod = replace(
            load_pod,
            gpus=tuple(parse_gpus(output)) or load_pod.gpus,
            output=output if load_pod.stage == "ended" else "",
        )
        is_other_gpu = self.uuids and load_pod.gpus and load_pod.gpus[0].uuid not in self.uuids
        return replace(load_pod, stage="held") if is_other_gpu and load_pod.stage == "running" else load_pod


def judge_pod(load_pod: LoadPod, document: Mapping[str, Any], age: float) -> LoadPod:
    """Judge a pod by its API object. `age` is in seconds since it was created."""
    status = document.get("status", {})
    states = dict(list_states(status))
    state = states.get(CONTAINER, {})
    if termination := state.get("terminated"):
        code = int(termination["exitCode"])
        signal_text = (
            f"it was ended by signal {code - 128} ({termination.get('reason', '')})" if code in SIGNALS else ""
        )
        reason = status.get("reason", "") or signal_text or ENDED.get(code, "")
        return replace(load_pod, stage="ended", code=None if reason else code, reason=reason)
    if status.get("phase") == "Failed":
        reason = join_words(status.get("reason", "Failed"), status.get("message", ""))
        return replace(load_pod, stage="stuck", reason=reason)
    if "running" in state:
        return replace(load_pod, stage="running")
    condition, reason = explain_wait(status, states)
    late = age > START or (condition == "Unschedulable" and age > PLACE)
    stuck = late or condition in STUCK
    return replace(
        load_pod, stage="stuck" if stuck else "waiting", reason=reason or f"it did not start within {age:.0f} s"
    )
