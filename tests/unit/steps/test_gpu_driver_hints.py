"""A hint that names a setting leads on: with that setting, and what else the hint asks for, the same facts give no
refusal by the check that gave it, and none that was not there before."""

import re
from typing import Any

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER
from gpustack.steps.gpu.driver import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import MACHINES
from tests.worlds.snapshots.hosts import UBUNTU, judge

SETTING = re.compile(r"gpu\.driver\.(mode|kernel_module): (\w+)|version: (\d+)\.…, kernel_module: (\w+)")
VERSIONS = {"580": "580.178.04"}
BARE_DRIVER = "module -\nlibrary -\npersistence none\ninstaller others\n"
SYSTEMS: dict[str, Answers] = {"debian": {}, "ubuntu": {("system.os", "h1"): UBUNTU}}
DRIVERS = {
    "bare": ("fresh-debian-12", make_answer("gpu.driver", BARE_DRIVER), "fresh-debian-12"),
    "secure-boot": (
        "fresh-debian-12",
        make_answer("gpu.driver", f"secure-boot\nkey /k\n{BARE_DRIVER}"),
        "fresh-debian-12",
    ),
    "nvidia": ("ubuntu-nvidia", read_case("gpu.driver", "installed-by-others"), "prepared-debian-12"),
    "debian-archive": (
        "debian-archive",
        read_case("gpu.driver", "installed-by-others", ("595.91.07", "550.163.01")),
        "prepared-debian-12",
    ),
    "half-removed": ("ubuntu-nvidia", make_answer("gpu.driver", BARE_DRIVER), "fresh-debian-12"),
    "run-installer": (
        "fresh-debian-12",
        make_answer("gpu.driver", read_case("gpu.driver", "run-installer").stdout + "installer others\n"),
        "prepared-debian-12",
    ),
}
DEVICES = {"hopper": "2330", "volta": "1db4", "blackwell": "2901"}
SPECS: tuple[dict[str, Any], ...] = (
    {}, {"mode": "host"}, {"mode": "container"}, {"mode": "none"}, {"kernel_module": "proprietary"},
    {"version": "615.10.01", "kernel_module": "proprietary"},
)  # fmt: skip


def build_host(system: str, driver: str, device: str) -> Answers:
    packages, driver_answer, smi = DRIVERS[driver]
    gpu = make_answer("gpu.devices", f"0000:17:00.0 0x{DEVICES[device]} 0x030200 -\n")
    answers = place_answers("h1", read_case("gpu.packages", packages), driver_answer, read_case("gpu.smi", smi), gpu)
    return {**SYSTEMS[system], **answers}


def judge_driver(answers: Answers, driver: dict[str, Any], stack: str) -> dict[str, Judgement]:
    return judge(STEP, answers, {"gpu": {"stack": stack, "driver": driver}}, state="fresh")


def list_refusals(judgements: dict[str, Judgement]) -> dict[str, str]:
    results = {check: judgement.result for check, judgement in judgements.items()}
    return {check: str(result.hint) for check, result in results.items() if result and result.cure != "install"}


def find_settings(hint: str) -> list[dict[str, str]]:
    """Find the settings that a hint names, each as the changed keys of gpu.driver."""
    return [
        {match[1]: match[2]} if match[1] else {"version": VERSIONS[match[3]], "kernel_module": match[4]}
        for match in SETTING.finditer(hint)
    ]


def follow(answers: Answers, hint: str) -> Answers:
    """Change the facts as the hint asks for besides the setting."""
    if "enrol" not in hint:
        return answers
    driver = answers["gpu.driver", "h1"]
    return {**answers, **place_answers("h1", make_answer("gpu.driver", f"key-enrolled\n{driver.stdout}"))}


@pytest.mark.parametrize("stack", ["operator", "host"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_setting_that_a_hint_names_leads_on(system: str, driver: str, device: str, stack: str) -> None:
    answers = build_host(system, driver, device)
    for spec in SPECS:
        refusals = list_refusals(judge_driver(answers, spec, stack))
        for check, hint in refusals.items():
            for setting in find_settings(hint):
                remaining = list_refusals(judge_driver(follow(answers, hint), {**spec, **setting}, stack))
                # A version of installed packages is changed by a person: the setting says which.
                upgrade = {"version"} if "version" in setting else set()
                assert check not in remaining, (spec, hint, setting, remaining)
                assert set(remaining) <= set(refusals) | upgrade, (spec, hint, setting, remaining)


def test_settings_are_found_in_hints() -> None:
    hints = [
        hint
        for system in SYSTEMS
        for driver in DRIVERS
        for spec in SPECS
        for hint in list_refusals(judge_driver(build_host(system, driver, "volta"), spec, "operator")).values()
    ]
    settings = [str(setting) for hint in hints for setting in find_settings(hint)]
    assert {"{'mode': 'auto'}", "{'mode': 'none'}", "{'version': '580.178.04', 'kernel_module': 'proprietary'}"} <= set(
        settings
    )


def test_the_node_of_a_host_is_named_to_be_rebooted() -> None:
    machine = read_case("system.identity", "prepared-debian-12").stdout.split()[0]
    nodes = place_answers(CLUSTER, read_case("kube.nodes", "control-plane", (MACHINES["k2"], machine)))
    mismatch = place_answers("h1", read_case("gpu.driver", "mismatch"))
    result = judge(STEP, nodes | mismatch)["matching"].result
    assert result
    assert result.hint == "gpustack node reboot -i hosts.yml k2"
