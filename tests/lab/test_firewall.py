"""The flows of a cluster through each firewall, with real packets: before, after, again, and after a reboot."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
import yaml

from gpustack import lab
from gpustack.ask.gather import gather
from gpustack.ask.judge import Judgement, judge
from gpustack.ask.view import View
from gpustack.config.flows import flows
from gpustack.config.inventory import load
from gpustack.config.shipped import playbooks
from gpustack.config.spec import Spec
from gpustack.errors import LabError
from gpustack.steps.firewall import STEP
from tests.lab.firewalls import DIAL, DRIFTS, MANAGERS, RELOADS, RULES, dial, give_pods, root

pytestmark = [pytest.mark.lab, pytest.mark.slow]

Play = Callable[[], "dict[str, int]"]
MakePlay = Callable[[lab.Lab], Play]
PORTS = [
    *("tcp/6443", "tcp/10250", "tcp/10256", "tcp/8081", "tcp/9100", "tcp/30080", "tcp/10249", "tcp/10259"),
    *("udp/30080", "udp/8472", "tcp/9999", "tcp/7777"),
]
CONTROL_PLANE = {"tcp/6443", "tcp/10259"}
NOT_FROM_PODS = {"tcp/8081", "udp/8472"}
FROM_ANYWHERE = {"tcp/6443", "tcp/10256", "tcp/30080", "udp/30080", "tcp/9999"}
ALWAYS, NEVER = "tcp/9999", "tcp/7777"


@pytest.fixture(scope="module")
def bare() -> Iterator[lab.Lab]:
    name = f"t{os.getpid()}-firewall"
    found = lab.up(name, releases=["debian-12", "debian-13"])
    try:
        for host in found.hosts:
            root(found, host.name, "apt-get -q update")
            for package in ("ufw", "firewalld", "iptables-persistent"):
                root(found, host.name, f"apt-get -qy install --download-only --no-install-recommends {package}")
        found.save("bare")
        yield found
    finally:
        found.down()


def reboot(at: lab.Lab, snapshot: str) -> None:
    """With these disks. The kernel ends the network of a killed host in its own time, now and then in more than the lab
    waits: then without its link, once more."""
    try:
        at.restore(snapshot)
    except LabError as error:
        if "File exists" not in error.why:
            raise
        for port in Path(f"/sys/class/net/{at.record.bridge}/brif").iterdir():
            subprocess.run(["ip", "link", "delete", port.name], check=False, timeout=60)
        at.restore(snapshot)


@pytest.fixture(params=MANAGERS)
def walled(bare: lab.Lab, request: pytest.FixtureRequest) -> lab.Lab:
    """Both hosts behind a firewall that denies by default, with pods and listeners."""
    reboot(bare, "bare")
    for host in bare.hosts:
        root(bare, host.name, MANAGERS[request.param])
    give_pods(bare, PORTS)
    return bare


@pytest.fixture
def make_play(tmp_path: Path) -> MakePlay:
    return lambda at: partial(run, at, tmp_path / "overlay.yml")


@pytest.fixture
def play(walled: lab.Lab, make_play: MakePlay) -> Play:
    return make_play(walled)


def run(at: lab.Lab, overlay: Path) -> dict[str, int]:
    """Runs the playbook; the tasks that changed something, by host."""
    spec = {
        "firewall": {"manage": True, "flows": flows(Spec(), [host.address for host in at.hosts])},
        "kubernetes": {"pod_cidr": "10.244.0.0/16"},
    }
    overlay.write_text(yaml.safe_dump({"all": {"hosts": {host.name: {"gpustack": spec} for host in at.hosts}}}))
    program = Path(sys.executable).with_name("ansible-playbook")
    command = [program, "-i", at.inventory, "-i", overlay, playbooks() / "firewall.yml"]
    env = os.environ | {"ANSIBLE_ROLES_PATH": str(playbooks() / "roles"), "ANSIBLE_NOCOLOR": "True"}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, capture_output=True, text=True, env=env, timeout=300, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    recap = [line for line in done.stdout.splitlines() if "unreachable=" in line]
    return {line.split()[0]: int(line.split("changed=")[1].split()[0]) for line in recap}


def judgements(at: lab.Lab) -> list[Judgement]:
    found = gather(load(at.inventory), STEP.probes)
    return [judge(check, View(found, host.name)) for host in at.hosts for check in STEP.checks]


def broken(at: lab.Lab) -> set[str]:
    said = judgements(at)
    assert [one for one in said if one.outcome == "unknown"] == []
    return {one.check for one in said if one.outcome == "broken"}


def rules(at: lab.Lab) -> dict[str, list[str]]:
    """All rules of each host. The pod network as a source of firewalld's zone `trusted` is ours."""
    ours = re.compile(r"10\.244\.0\.0/16$| \(active\)$")
    return {
        host.name: [ours.sub("", line).strip() for line in root(at, host.name, RULES).splitlines()] for host in at.hosts
    }


def lost(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> list[str]:
    """Rules that were there and are not any more, or not in their order."""
    gone = []
    for host, lines in before.items():
        rest = iter(after[host])
        gone += [f"{host}: {line}" for line in lines if line not in rest]
    return gone


def through(answered: Mapping[str, bool]) -> set[str]:
    parts = (word.split("/") for word, ok in answered.items() if ok)
    return {f"{proto}/{port}" for proto, _, port in parts}


def reached(at: lab.Lab) -> dict[str, set[str]]:
    """Who reaches which ports of a host: `node` the other node, `own` the host itself, `pod` a pod on the host,
    `stranger` none of them. `forward` is from a pod or node to a pod or node of the other host."""
    one, two = at.hosts
    found: dict[str, set[str]] = {}
    for host, peer, other in ((one, two, "10.244.2.5"), (two, one, "10.244.1.5")):
        words = [port.replace("/", f"/{host.address}/") for port in PORTS]
        pods = [f"tcp/{other}/9100", f"udp/{other}/30080"]
        name = host.name
        found[f"node {name}"] = through(dial(at, peer.name, words))
        found[f"own {name}"] = through(dial(at, name, words))
        found[f"pod {name}"] = through(dial(at, name, words, netns="pod"))
        found[f"stranger {name}"] = through(stranger(words))
        found[f"forward pod of {name} to pod"] = through(dial(at, name, pods, netns="pod"))
        found[f"forward {name} to pod"] = through(dial(at, name, pods))
        found[f"forward pod of {name} to node"] = through(dial(at, name, [f"tcp/{peer.address}/10250"], netns="pod"))
    return found


def stranger(words: Sequence[str]) -> Mapping[str, bool]:
    """From this machine, which is on the hosts' network and no node."""
    done = subprocess.run(
        [sys.executable, "-", *words], input=DIAL, capture_output=True, text=True, timeout=60, check=True
    )
    answered: Mapping[str, bool] = json.loads(done.stdout)
    return answered


def expected(at: lab.Lab) -> dict[str, set[str]]:
    one, two = at.hosts
    found: dict[str, set[str]] = {}
    for host in (one, two):
        mine = {port for port in PORTS if port != NEVER and (host is one or port not in CONTROL_PLANE)}
        found[f"node {host.name}"] = mine
        # Loopback is open in each of these firewalls.
        found[f"own {host.name}"] = set(PORTS)
        found[f"pod {host.name}"] = mine - NOT_FROM_PODS
        found[f"stranger {host.name}"] = mine & FROM_ANYWHERE
        found[f"forward pod of {host.name} to pod"] = {"tcp/9100", "udp/30080"}
        found[f"forward {host.name} to pod"] = {"tcp/9100", "udp/30080"}
        found[f"forward pod of {host.name} to node"] = {"tcp/10250"}
    return found


def test_flows(walled: lab.Lab, play: Play, request: pytest.FixtureRequest) -> None:
    manager = request.node.callspec.params["walled"]
    before, theirs = reached(walled), rules(walled)
    for host in walled.hosts:
        assert before[f"node {host.name}"] == {ALWAYS}, "the firewall denies by default"
        assert before[f"stranger {host.name}"] == {ALWAYS}
    assert "flows-pass" in broken(walled)

    assert all(changed > 0 for changed in play().values())
    assert broken(walled) == set()
    wanted = expected(walled)
    if manager == "firewalld":
        # A zone that forwards for pods accepts from them as well.
        for host in walled.hosts:
            wanted[f"pod {host.name}"] = set(PORTS)
    assert reached(walled) == wanted
    installed = rules(walled)
    assert lost(theirs, installed) == []

    assert set(play().values()) == {0}, "a second run changes nothing"
    assert rules(walled) == installed

    walled.save("installed")
    reboot(walled, "installed")
    give_pods(walled, PORTS)
    assert broken(walled) == set()
    assert reached(walled) == wanted
    assert lost(theirs, rules(walled)) == []
    assert set(play().values()) == {0}

    for host in walled.hosts:
        root(walled, host.name, RELOADS[manager])
    assert broken(walled) == set()

    for drift in DRIFTS[manager]:
        for host in walled.hosts:
            root(walled, host.name, drift)
        assert broken(walled) != set(), drift
        assert all(changed > 0 for changed in play().values()), drift
        assert broken(walled) == set(), drift


def test_without_a_firewall_nothing_is_changed(bare: lab.Lab, make_play: MakePlay) -> None:
    reboot(bare, "bare")
    before = rules(bare)
    assert broken(bare) == set()
    assert set(make_play(bare)().values()) == {0}
    assert rules(bare) == before


def test_firewalld_is_not_reloaded_over_what_was_not_stored(bare: lab.Lab, make_play: MakePlay) -> None:
    """SSH itself may be such a setting."""
    reboot(bare, "bare")
    for host in bare.hosts:
        root(bare, host.name, MANAGERS["firewalld"] + "; firewall-cmd --add-port=5555/tcp")
    with pytest.raises(AssertionError, match="would forget what was set without --permanent"):
        make_play(bare)()
    for host in bare.hosts:
        assert "5555/tcp" in root(bare, host.name, "firewall-cmd --list-ports")
        root(bare, host.name, "firewall-cmd --runtime-to-permanent")
    make_play(bare)()
    assert broken(bare) == set()
    for host in bare.hosts:
        assert "5555/tcp" in root(bare, host.name, "firewall-cmd --list-ports")
