"""Static pods that several files define, such as a copy that somebody made before a change."""

from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.control_plane.manifest_files import MANIFEST_FILES


def observe_files(view: View) -> Iterator[AbnormalState]:
    for pod, files in view[MANIFEST_FILES].items():
        if len(files) > 1:
            message = f"{format_value(files)} all define it, and the kubelet runs any one of them"
            command = Command("ls", "-l", "/etc/kubernetes/manifests")
            subject = f"static pod {pod}"
            yield AbnormalState("settings-contradict", "risk", (view.location,), (subject,), message, command)


OBSERVERS = (Observer("manifest-files", "Files of static pods", observe_files, (MANIFEST_FILES,), scope="host"),)
