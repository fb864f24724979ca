"""Files of static pods. The kubelet reads all in its folder that do not begin with a dot, whatever they end with
(https://kubernetes.io/docs/tasks/configure-pod-container/static-pod)."""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script


def parse_manifest_files(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Parse lines `POD FILE` to the files by pod. Those without a name are left out."""
    files: dict[str, tuple[str, ...]] = {}
    for line in answer.stdout.splitlines():
        pod, file = line.split(" ", 1)
        if pod != "-":
            files[pod] = (*files.get(pod, ()), file)
    return files


MANIFEST_FILES = Probe(
    "kubeadm.manifest-files",
    Lines(read_script(__file__, "manifest_files.sh")),
    parse_manifest_files,
    manual_command="grep '^  name:' /etc/kubernetes/manifests/*",
)
