"""The text of the state of simulated GPUs, which gpustack_lab/simulated/driver/state.h describes.

    driver 595.91.07
    cuda 13020
    load 1004 util=100 …
    gpu uuid=GPU-… bus=0000:65:00.0 minor=0 name=NVIDIA_H100_80GB_HBM3 mem=81559 … temp=92

There is one line per GPU. The facts of its silicon are first, then the live settings; other values follow from the
model and the load. A line `load` has what a process sets that works on a GPU: only other programs read it, and it is
kept.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

FACTS = (
    *("uuid", "bus", "minor", "name", "serial", "pciid", "arch", "cc", "mem", "maxlimit", "idle", "smmax", "memmax"),
    *("maxop", "slowdown", "pcie_gen", "mig"),
)
REQUIRED_FACTS = ("uuid", "bus", "minor", "name")
WORD = re.compile(r"([a-z][a-z0-9_]*)=([^\s=]+)")


@dataclass(frozen=True)
class Gpu:
    """Describe a GPU. `facts` and `live` map keys to their values as text, without spaces."""

    facts: Mapping[str, str]
    live: Mapping[str, str] = field(default_factory=dict)

    @property
    def minor(self) -> int:
        return int(self.facts["minor"])

    @property
    def name(self) -> str:
        return self.facts["name"].replace("_", " ")

    @property
    def uuid(self) -> str:
        return self.facts["uuid"]

    def replace_live(self, **live: str) -> "Gpu":
        return replace(self, live={**self.live, **live})

    def remove_live(self, *keys: str) -> "Gpu":
        return replace(self, live={key: value for key, value in self.live.items() if key not in keys})


@dataclass(frozen=True)
class State:
    """Describe all GPUs of a host. `cuda` is 1000 times the major version and 10 times the minor one. `unknown_lines`
    are lines of other kinds."""

    driver: str
    cuda: int
    gpus: tuple[Gpu, ...]
    unknown_lines: tuple[str, ...] = ()


def render(state: State) -> str:
    lines = [f"driver {state.driver}", f"cuda {state.cuda}", *state.unknown_lines]
    for gpu in state.gpus:
        words = [f"{key}={value}" for key, value in {**gpu.facts, **gpu.live}.items()]
        lines.append(" ".join(["gpu", *words]))
    return "".join(f"{line}\n" for line in lines)


def parse(text: str) -> State:
    """Parse a state. Raise ValueError that names the line which cannot be read."""
    driver, cuda, gpus, unknown_lines = "", 0, [], []
    for number, line in enumerate(text.split("\n"), 1):
        kind, _, rest = line.strip(" ").partition(" ")
        try:
            if kind == "driver":
                driver = rest
            elif kind == "cuda":
                cuda = int(rest)
            elif kind == "gpu":
                gpus.append(_parse_gpu(rest))
            elif kind:
                unknown_lines.append(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    if not driver:
        raise ValueError("there is no line `driver VERSION`")
    return State(driver, cuda, tuple(gpus), tuple(unknown_lines))


def _parse_gpu(text: str) -> Gpu:
    values: dict[str, str] = {}
    for word in text.split(" "):
        match = WORD.fullmatch(word)
        if not match:
            raise ValueError(f"{word!r} is not KEY=VALUE")
        if match[1] in values:
            raise ValueError(f"{match[1]} stands twice")
        values[match[1]] = match[2]
    missing_keys = [key for key in REQUIRED_FACTS if key not in values]
    if missing_keys:
        raise ValueError(f"a GPU without {', '.join(missing_keys)}")
    int(values["minor"])
    facts = {key: value for key, value in values.items() if key in FACTS}
    return Gpu(facts, {key: value for key, value in values.items() if key not in FACTS})
