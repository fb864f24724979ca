"""Host engines and an API that keep what is set, so that a change can be followed to its end. As DCGM 4.6.0 does, dcgmi
sets all GPUs of a node at once (DcgmConfigManager.cpp, SetConfigGroup), and an annotation that stands is only
overwritten when that is asked for (kubectl annotate)."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from gpustack.engines.engine import Engines
from gpustack.probes.gpu.temporary_changes import PREFIX
from tests.worlds.programs.engines import ENGINES, Answer, Hosts, render_policy, render_setting
from tests.worlds.snapshots.build import TAKEN_AT

NODES = ("gpu1", "gpu2")
CONDITIONS = {
    "--eccerrors": "Double-bit ECC errors",
    "--pcierrors": "PCI errors and replays",
    "--maxpages": "Max retired pages threshold - {}",
    "--maxtemp": "Max temperature threshold - {}",
    "--maxpower": "Max power threshold - {}",
    "--nvlinkerrors": "NVLink Errors",
    "--xiderrors": "XID error detected.",
}
ACTIONS = ("None", "Reset GPU")
VALIDATIONS = ("None", "System Validation (Short)", "System Validation (Medium)", "System Validation (Long)")


def build_default_values() -> dict[str, str]:
    return {"Power_Limit": "300", "Memory_Application_Clock": "2619", "SM_Application_Clock": "1980"}


@dataclass
class Gpu:
    values: dict[str, str] = field(default_factory=build_default_values)
    policy: str = render_policy(0)


@dataclass
class LiveHosts(Hosts):
    """`after` is called when a command has had its effect. `stuck` are GPUs, by node, that take nothing."""

    gpus: dict[str, list[Gpu]] = field(default_factory=lambda: {node: [Gpu(), Gpu()] for node in NODES})
    annotations: dict[tuple[str, str], str] = field(default_factory=dict)
    stuck: set[tuple[str, int]] = field(default_factory=set)
    after: Callable[[str], None] = lambda _: None

    def answer(self, command: str) -> Answer:
        if any(key in command for key in self.answers):
            return super().answer(command)
        rc, stdout = self.apply_command(command)
        self.after(command)
        return rc, stdout

    def apply_command(self, command: str) -> Answer:
        if " annotate " in command:
            return next(
                (failure for part in command.split(" && ") if (failure := self.write_annotation(shlex.split(part)))[0]),
                (0, ""),
            )
        if match := re.search(r"exec nvidia-dcgm-(\w+) .* dcgmi (config|policy) --(\w+) (.*)--host", command):
            node, subsystem, verb, rest = match.groups()
            return (
                self.show(node, subsystem) if verb == "get" else self.change(node, subsystem, verb, shlex.split(rest))
            )
        return 0, ""

    def write_annotation(self, words: list[str]) -> Answer:
        *nodes, text = words[words.index("node") + 1 :]
        key, _, value = text.removeprefix(PREFIX).partition("=")
        for node in nodes:
            if text.endswith("-") and not value:
                self.annotations.pop((node, key.removesuffix("-")), None)
            elif (node, key) in self.annotations and "--overwrite" not in words:
                return 1, "error: --overwrite is false but found the following declared annotation(s)\n"
            else:
                self.annotations[node, key] = value
        return 0, ""

    def show(self, node: str, subsystem: str) -> Answer:
        gpus = self.gpus[node]
        if subsystem == "policy":
            return 0, "".join(gpu.policy.replace("GPU ID: 0", f"GPU ID: {index}") for index, gpu in enumerate(gpus))
        return 0, "".join(render_setting(index, **gpu.values) for index, gpu in enumerate(gpus))

    def change(self, node: str, subsystem: str, verb: str, words: list[str]) -> Answer:
        for index, gpu in enumerate(self.gpus[node]):
            if (node, index) in self.stuck:
                continue
            if subsystem == "policy":
                gpu.policy = build_policy(words) if verb == "set" else render_policy(0)
            else:
                gpu.values.update(build_values(words))
        return 0, "successfully set.\n"

    def build_engines(self, later: timedelta = timedelta()) -> Engines:
        """Build the engines of a snapshot that is so much later."""
        return replace(ENGINES, marks=dict(self.annotations), taken_at=TAKEN_AT + later)

    def read_values(self, name: str) -> set[str]:
        return {gpu.values[name] for gpus in self.gpus.values() for gpu in gpus}


def build_values(words: list[str]) -> dict[str, str]:
    options = dict(zip(words[::2], words[1::2], strict=True))
    values = {"Power_Limit": options["--powerlimit"]} if "--powerlimit" in options else {}
    if clocks := options.get("--appclocks"):
        values["Memory_Application_Clock"], values["SM_Application_Clock"] = clocks.split(",")
    return values


def build_policy(words: list[str]) -> str:
    """Build a policy as dcgmi prints it, in its order."""
    action, validation = words[0].split(",")
    texts = [
        text.format(words[words.index(option) + 1]) if "{}" in text else text
        for option, text in CONDITIONS.items()
        if option in words
    ]
    return render_policy(0, *texts, action=ACTIONS[int(action)], validation=VALIDATIONS[int(validation)])
