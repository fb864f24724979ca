"""Pods that put a load on a GPU each, with dcgmproftester of DCGM's image. They ask for the GPU, so that the scheduler
gives free ones, and end by themselves at their deadline, whatever becomes of us.

No pod chooses its GPU: the kubelet does. Where certain GPUs are wanted, pods ask for all that are free, and one that
gets another GPU keeps it until the others are through.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.errors import GpustackError, RolloutError
from gpustack.events import Event, Reporter, count
from gpustack.proof.hold import NOT_HELD, Cluster, remove_pods
from gpustack.proof.pod import ApiRefused
from gpustack.proof.workload import (
    QUERY,
    STUCK,
    VisibleGpu,
    container_manifest,
    container_states,
    explain_wait,
    join_words,
    parse_gpus,
    pod_manifest,
)

CONTAINER = "load"
# Seconds: until a pod runs, which may have to pull its image; that it may find no place; that the tester may take
# beside its load, to begin and to end; and between looks.
START, PLACE, BESIDE, LOOK = 180.0, 20.0, 60.0, 5.0
MOST = 2**18
"""Bytes of output: an hour has 360 lines of 100."""
NO_QUERY, SEVERAL = 90, 91
ENDED = {NO_QUERY: "nvidia-smi did not name its GPU", SEVERAL: "it asked for one GPU and sees several"}
SIGNALS = range(129, 166)
"""As a shell sees them; what is beyond are return codes of DCGM, less 256."""
# Each binary is for the major version of CUDA that the driver has, the newest one also for later ones; any other ends
# with DCGM_ST_VER_MISMATCH, -12 (DCGM 4.6.0, dcgmproftester/DcgmProfTester.cpp, main). The image has those for 12 and
# 13 (docker/Dockerfile.ubuntu22.04). Its results and its log go into the working directory.
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
    def log(self, pod: str, container: str, most: int) -> str | None: ...


@dataclass(frozen=True)
class LoadPod:
    """`held`: it has a GPU that is not wanted. `ended`: the tester ended with `code`, and `output` is all that it
    printed. `stuck`: it will not run, or was ended; `why` in words."""

    name: str
    node: str
    stage: Stage = "waiting"
    why: str = ""
    code: int | None = None
    gpus: tuple[VisibleGpu, ...] = ()
    output: str = ""


@dataclass
class Loader:
    """`connect` leads to the API anew: a load may outlive a certificate. `words` are the tester's options, `seconds`
    how long it loads, `wanted` UUIDs or none for all."""

    connect: Callable[[], Any]
    report: Reporter
    image: str
    words: Sequence[str]
    seconds: float
    wanted: Sequence[str] = ()
    cancelled: Callable[[], str] = lambda: ""
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    pods: dict[str, LoadPod] = field(default_factory=dict)
    left: str = ""

    @property
    def life(self) -> float:
        """Seconds from the first pod's birth to the end of all."""
        return START + self.seconds + BESIDE

    def load(self, nodes: Mapping[str, int], watch: Callable[[Sequence[LoadPod]], str]) -> str:
        """GPUs by node. `watch` is called between looks and says why to stop; so does what is returned. Afterwards all
        pods are gone, or `left` says why not. Raises RolloutError where nothing can be made."""
        try:
            self.create(nodes)
            return self.follow(watch)
        finally:
            self.left = remove_pods(self.connect, self.run)

    def create(self, nodes: Mapping[str, int]) -> None:
        wanted = [node for node, number in nodes.items() for _ in range(number)]
        try:
            with self.connect() as cluster:
                cluster.open()
                self.report(Event("step", "", f"{count(len(wanted), 'pod')} on {', '.join(nodes)}"))
                for number, node in enumerate(wanted):
                    name = f"burn-{self.run}-{number}"
                    cluster.create(self.manifest(name, node))
                    self.pods[name] = LoadPod(name, node)
        except (ApiRefused, HostRefused) as error:
            message = f"{NOT_HELD}; nothing was loaded."
            raise RolloutError("gpu-not-held", message, str(error), Command("gpustack", "verify")) from error

    def manifest(self, name: str, node: str) -> dict[str, Any]:
        made = pod_manifest(name, node, self.run, self.life)
        del made["spec"]["initContainers"]
        env = {"WANTED": " ".join(self.wanted), "LIFE": str(made["spec"]["activeDeadlineSeconds"])}
        container = container_manifest(CONTAINER, "sh", "-c", SCRIPT, CONTAINER, *self.words)
        container |= {"image": self.image, "workingDir": "/tmp"}  # noqa: S108 - of the container
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
        made["spec"]["containers"] = [container]
        return made

    def follow(self, watch: Callable[[Sequence[LoadPod]], str]) -> str:
        begun = self.clock()
        while True:
            try:
                with self.connect() as cluster:
                    while not self.is_over():
                        self.update(cluster, self.clock() - begun)
                        if stop := self.why_stop(watch, begun):
                            return stop
                    return ""
            except (ApiRefused, GpustackError) as error:
                self.report(Event("note", "", f"the pods could not be looked at: {error}"))
            if stop := self.why_stop(watch, begun):
                return stop

    def why_stop(self, watch: Callable[[Sequence[LoadPod]], str], begun: float) -> str:
        if stop := self.cancelled() or watch(tuple(self.pods.values())):
            return stop
        if self.clock() - begun > self.life:
            return f"it did not end within {self.life:.0f} s"
        if not self.is_over():
            self.wait(LOOK)
        return ""

    def is_over(self) -> bool:
        return all(one.stage in OVER for one in self.pods.values())

    def update(self, cluster: Reader, age: float) -> None:
        found = {one["metadata"]["name"]: one for one in cluster.all(self.run)}
        for name, one in self.pods.items():
            if one.stage not in OVER:
                there = found.get(name)
                looked = judge_pod(one, there, age) if there else replace(one, stage="stuck", why="somebody removed it")
                self.pods[name] = self.read(cluster, looked)
        through = sum(one.stage in OVER for one in self.pods.values())
        self.report(Event("waiting", "", f"{through} of {count(len(self.pods), 'pod')} through, {age:.0f} s"))

    def read(self, cluster: Reader, one: LoadPod) -> LoadPod:
        """With the GPU that it names, and once it has ended with all that it printed."""
        if one.stage not in ("running", "ended") or (one.stage == "running" and one.gpus):
            return one
        output = cluster.log(one.name, CONTAINER, MOST) or ""
        one = replace(one, gpus=tuple(parse_gpus(output)) or one.gpus, output=output if one.stage == "ended" else "")
        other = self.wanted and one.gpus and one.gpus[0].uuid not in self.wanted
        return replace(one, stage="held") if other and one.stage == "running" else one


def judge_pod(one: LoadPod, found: Mapping[str, Any], age: float) -> LoadPod:
    """`found` as the API has it, `age` in seconds since it was made."""
    status = found.get("status", {})
    states = dict(container_states(status))
    state = states.get(CONTAINER, {})
    if ended := state.get("terminated"):
        code = int(ended["exitCode"])
        killed = f"it was ended by signal {code - 128} ({ended.get('reason', '')})" if code in SIGNALS else ""
        why = status.get("reason", "") or killed or ENDED.get(code, "")
        return replace(one, stage="ended", code=None if why else code, why=why)
    if status.get("phase") == "Failed":
        why = join_words(status.get("reason", "Failed"), status.get("message", ""))
        return replace(one, stage="stuck", why=why)
    if "running" in state:
        return replace(one, stage="running")
    reason, why = explain_wait(status, states)
    late = age > START or (reason == "Unschedulable" and age > PLACE)
    stuck = late or reason in STUCK
    return replace(one, stage="stuck" if stuck else "waiting", why=why or f"it did not start within {age:.0f} s")
