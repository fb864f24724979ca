"""The GPUs of a lab host: put into its root before it boots, changed from outside while it runs.

    /var/lib/simulated-gpus/state    see state_text
    /var/lib/simulated-gpus/events   lines `xid MINOR CODE SECONDS`, appended
    /var/lib/simulated-gpus/pci/     what lab-init shows at /sys/bus/pci/devices

They lie in the host's root: they reboot, are saved and restored, and go with it. The files are written in place: the
simulated driver links them to where containers have them mounted.
"""

import fcntl
import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.simulated import pci, words
from gpustack_lab.simulated.models import DEFAULT, Model, select_model
from gpustack_lab.simulated.state_text import Gpu, State, parse, render

DIRECTORY = Path("var/lib/simulated-gpus")
DRIVER, CUDA = "595.91.07", 13020
GPU_LIMIT = 16  # GPUs of one host
UUID_NAMESPACE = uuid.UUID("7a0f4a4e-6f0c-5d0e-9d3c-5f1f3f0a6c21")
REQUEST_PATTERN = re.compile(r"(?:([a-z0-9-]+):)?([0-9]{1,3})(?:x([A-Za-z0-9]+))?")
HINT = Command("gpustack", "lab", "up", "--gpus", "2", "--model", "H100")


def parse_fleet(hosts: Sequence[str], gpu_request: str, key: str = "") -> dict[str, tuple[int, str]]:
    """Parse how many GPUs of which model each host has. `gpu_request` is "2" for every host, "host2:4" for one,
    "host2:4xL4" for one with GPUs of its own model; several are separated by commas. Raise LabError with all that is
    wrong."""
    select_model(key or DEFAULT)
    gpus_by_host = dict.fromkeys(hosts, (0, ""))
    reasons = []
    for word in gpu_request.split(",") if gpu_request else []:
        match = REQUEST_PATTERN.fullmatch(word.strip())
        if not match or int(match[2]) > GPU_LIMIT:
            reasons.append(f"{word!r}: N, HOST:N or HOST:NxMODEL, at most {GPU_LIMIT} on a host")
        elif match[1] and match[1] not in gpus_by_host:
            reasons.append(f"{word!r}: the hosts are {', '.join(hosts)}")
        else:
            model_key = select_model(match[3] or key or DEFAULT).key
            gpus_by_host |= dict.fromkeys(
                [match[1]] if match[1] else hosts, (int(match[2]), model_key if int(match[2]) else "")
            )
    if reasons:
        raise LabError("lab-bad-request", f"There can be no such GPUs: {gpu_request}.", "\n".join(reasons), HINT)
    return gpus_by_host


def install_gpus(root: Path, lab: str, host: str, count: int, key: str) -> None:
    """Put GPUs into the root of a host that has none yet."""
    home = root / DIRECTORY
    if not count or (home / "state").exists():
        return
    gpu_model = select_model(key)
    for index in range(count):
        pci.write(home / "pci", index, gpu_model)
    (home / "events").touch()
    # Last: what is complete has a state.
    new_file = home / "state.new"
    gpus = tuple(build_gpu(lab, host, index, gpu_model) for index in range(count))
    loads = tuple(f"load {field} {keys}" for field, keys in words.FIELD_LOADS.items())
    new_file.write_text(render(State(DRIVER, CUDA, gpus, loads)))
    new_file.rename(home / "state")


def build_gpu(lab: str, host: str, index: int, gpu_model: Model) -> Gpu:
    """Build a GPU, which has the same UUID for the same place in a lab of the same name."""
    gpu_uuid = uuid.uuid5(UUID_NAMESPACE, f"{lab}/{host}/{index}")
    facts = {
        "uuid": f"GPU-{gpu_uuid}",
        "bus": pci.format_bus(index),
        "minor": str(index),
        "name": gpu_model.name.replace(" ", "_"),
        "serial": f"{gpu_uuid.int % 10**13:013}",
        "pciid": f"{gpu_model.device:#06x}",
        "arch": str(gpu_model.architecture),
        "cc": gpu_model.capability,
        "mem": str(gpu_model.memory),
        "maxlimit": str(gpu_model.limit),
        "idle": str(gpu_model.idle),
        "smmax": str(gpu_model.sm_clock),
        "memmax": str(gpu_model.memory_clock),
        "maxop": str(gpu_model.warm),
        "slowdown": str(gpu_model.hot),
        "pcie_gen": str(gpu_model.pcie),
    }
    return Gpu(facts | ({"mig": "0"} if gpu_model.mig else {}))


def parse_gpu_name(name: str) -> tuple[str, int | None]:
    """Parse host and index of "host1:0"; "host1" stands for all its GPUs. Raise LabError for anything else."""
    host, colon, index = name.partition(":")
    if not host or (colon and not (index.isascii() and index.isdigit())):
        reason = "A GPU is written as host1:0, all of a host as host1."
        raise LabError(
            "lab-unknown-gpu", f"{name!r} is no GPU of a lab.", reason, Command("gpustack", "lab", "gpu", "list")
        )
    return host, int(index) if colon else None


def read(root: Path) -> State | None:
    """Read the state of a host's GPUs. Return None for a host without GPUs. Raise LabError for a broken state."""
    try:
        return parse((root / DIRECTORY / "state").read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _build_state_error(root, error) from error


def change(root: Path, indices: Sequence[int], settings: Sequence[str]) -> list[Gpu]:
    """Apply the words to those GPUs, all at once or none, and return the changed GPUs. Raise LabError."""
    effects: dict[int, words.GpuChange] = {}

    def set_all(state: State) -> State:
        effects.update({index: words.apply(state.gpus[index], settings) for index in indices})
        gpus = tuple(effects[i].gpu if i in effects else gpu for i, gpu in enumerate(state.gpus))
        return State(state.driver, state.cuda, gpus, state.unknown_lines)

    _rewrite(root, set_all)
    lines = [
        f"xid {effect.gpu.minor} {code} {int(time.time())}\n" for effect in effects.values() for code in effect.xids
    ]
    with (root / DIRECTORY / "events").open("a") as events:
        events.write("".join(lines))
    return [effect.gpu for effect in effects.values()]


def _rewrite(root: Path, change: Callable[[State], State]) -> None:
    """Write the state in place, in one piece that is no shorter than before: a reader meanwhile finds whole lines."""
    with (root / DIRECTORY / "state").open("r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        old_content = file.read()
        try:
            text = render(change(parse(old_content.decode()))).encode()
        except ValueError as error:
            raise _build_state_error(root, error) from error
        os.pwrite(file.fileno(), text.ljust(len(old_content), b"\n"), 0)
        file.truncate(len(text))


def _build_state_error(root: Path, error: ValueError) -> LabError:
    path = root / DIRECTORY / "state"
    return LabError(
        "lab-gpu-state-broken",
        f"The state of simulated GPUs cannot be read: {error}.",
        str(path),
        Command("cat", str(path)),
    )
