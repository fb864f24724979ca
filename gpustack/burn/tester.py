"""Pods that load a GPU each, with dcgmproftester of DCGM's image. They request the GPU, so that the scheduler gives
free ones.

The kubelet chooses the GPU of a pod. To load certain GPUs, pods request all free ones, and a pod that gets another GPU
holds it until the others have ended.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpustack.proof.pod_run import START_LIMIT, Cluster, PodRun, require_pods
from gpustack.proof.workload import QUERY, PodResult, build_container, build_pod, compute_life, parse_gpus

CONTAINER = "load"
OVERHEAD, PAUSE = 60.0, 5.0
"""Seconds for the start and the end of the tester beside its load, and between two looks at the pods."""
OUTPUT_LIMIT = 2**18
"""Bytes of output to read. The output of an hour has 360 lines of 100 bytes."""
NO_QUERY, SEVERAL = 90, 91
EXIT_REASONS = {NO_QUERY: "nvidia-smi did not name its GPU", SEVERAL: "it asked for one GPU and sees several"}
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


@dataclass(frozen=True)
class LoadTester:
    """Describe a load. `words` are options of the tester in `image`, `seconds` is the duration of the load, and `uuids`
    select GPUs, empty for all."""

    image: str
    words: Sequence[str]
    seconds: float
    uuids: Sequence[str] = ()

    @property
    def life(self) -> float:
        """Return the longest time in seconds from the first pod to the end of all pods."""
        return START_LIMIT + self.seconds + OVERHEAD

    def load_gpus(self, pod_run: PodRun, gpu_counts: Mapping[str, int], watch: Callable[[], str]) -> str:
        """Load this number of GPUs by node, remove the pods, and return the reason of an early stop, or an empty text.
        `watch` is called after each look at the pods and returns a reason to stop. Raise RolloutError where no pod can
        be created."""
        try:
            with require_pods():
                pod_run.create("burn", gpu_counts, self.build_manifest)
            return pod_run.follow(self.judge, self.seconds + OVERHEAD, watch)
        finally:
            pod_run.remove()

    def build_manifest(self, name: str, node: str, run: str) -> dict[str, Any]:
        env = {"WANTED": " ".join(self.uuids), "LIFE": str(compute_life(self.life))}
        container = build_container(CONTAINER, "sh", "-c", SCRIPT, CONTAINER, *self.words)
        container |= {"image": self.image, "workingDir": "/tmp"}  # noqa: S108 - of the container
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
        return build_pod(name, node, run, self.life, container)

    def judge(self, cluster: Cluster, pod: PodResult) -> PodResult:
        """Add the GPU that the pod named, and its output once it has ended."""
        if pod.stage == "running" and pod.gpus:
            return pod
        output = cluster.read_log(pod.name, CONTAINER, OUTPUT_LIMIT) or ""
        pod = replace(pod, gpus=tuple(parse_gpus(output)) or pod.gpus)
        if pod.stage == "running":
            is_other_gpu = self.uuids and pod.gpus and pod.gpus[0].uuid not in self.uuids
            return replace(pod, stage="held") if is_other_gpu else pod
        reason = pod.reason if pod.code is None else EXIT_REASONS.get(pod.code, "")
        return replace(pod, output=output, reason=reason, code=None if reason else pod.code)
