"""What every probe keeps to: a unique id, a script that shellcheck accepts, and no verb that changes anything."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import Shell
from gpustack.ask.script import command

probes = pytest.importorskip("gpustack.probes")
if not hasattr(probes, "ALL"):
    pytest.skip("gpustack.probes lists no probes yet", allow_module_level=True)
ALL = probes.ALL
SHELL = [probe for probe in ALL if isinstance(probe.ask, Shell)]
every_probe = pytest.mark.parametrize("probe", ALL, ids=lambda probe: probe.id)

# A program and what makes it change something; options may stand between.
MUTATING = (
    r"\b(apt|apt-get|dpkg)\b.*\b(install|remove|purge|update|upgrade|autoremove|configure|clean)\b",
    r"\bapt-mark\b.*\b(un)?hold\b",
    r"\bsystemctl\b.*\b(start|stop|restart|reload|try-restart|enable|disable|mask|unmask|daemon-reload|daemon-reexec|kill|set-property|isolate|reset-failed|edit)\b",
    r"\bsysctl\b.*(\s-w\b|\s--system\b|\s-p\b|=)",
    r"\bswapoff\b|\bswapon\s+(?!--show|-s\b|--summary)",
    r"\bmodprobe\b(?!.*(\s-n\b|--dry-run|--show-depends|\s-D\b|--showconfig|\s-c\b))|\brmmod\b|\binsmod\b",
    r"\b(rm|rmdir|mv|cp|ln|mkdir|touch|chmod|chown|truncate|tee|install|dd|mkfs\S*|wipefs|mktemp)\s",
    r"\bsed\b.*\s-[a-zA-Z]*i\b",
    r"\bkubectl\b.*\b(apply|create|delete|patch|replace|edit|label|annotate|taint|cordon|uncordon|drain|scale|rollout|exec|run|cp|debug)\b",
    r"\bkubeadm\b.*\b(init|join|reset|upgrade|token\s+(create|delete))\b",
    r"\bip6?tables(-nft|-legacy)?\b.*\s-(A|I|D|F|P|N|X|R|Z|E)\b|\bip6?tables(-nft|-legacy)?-restore\b",
    r"\bnft\b.*\b(add|create|insert|delete|destroy|flush|replace|rename|reset)\b",
    r"\b(ufw|firewall-cmd)\b.*\b(enable|disable|allow|deny|delete|insert|reload|--add-\S+|--remove-\S+)\b",
    r"\bip\b.*\b(add|del|delete|set|flush|replace|change)\b",
    r"\b(crictl|ctr)\b.*\b(rm|rmi|rmp|stop|stopp|run|runp|pull|exec|import|delete|kill|start|create)\b",
    r"\b(hostnamectl|timedatectl)\s+(set-\S+|hostname\s+\S+)",
    r"\b(kill|pkill|killall|reboot|shutdown|poweroff|mount\s+-\S*o|umount)\b",
)
# Output to a file; /dev/null and other descriptors are no files.
REDIRECT = r"(?<![-=<])>>?(?!\s*(/dev/null|&))"


def changes(script: str) -> list[str]:
    """The lines that could change the host. Text in quotes is skipped for redirections only (awk and jq compare)."""
    found = []
    for line in script.splitlines():
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", line)
        if any(re.search(verb, line) for verb in MUTATING) or re.search(REDIRECT, bare):
            found.append(line)
    return found


def test_ids_are_unique_and_name_their_subject() -> None:
    ids = [probe.id for probe in ALL]
    assert sorted({id for id in ids if ids.count(id) > 1}) == []
    assert [id for id in ids if not re.fullmatch(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*", id)] == []


def test_all_lists_every_probe_of_the_modules() -> None:
    from importlib import import_module

    from gpustack.ask.probe import Probe

    folder = Path(probes.__file__).parent
    found = {
        value.id
        for path in folder.glob("[a-z]*.py")
        for value in vars(import_module(f"gpustack.probes.{path.stem}")).values()
        if isinstance(value, Probe)
    }
    assert found == {probe.id for probe in ALL}


def test_the_steps_ask_only_listed_probes() -> None:
    steps = pytest.importorskip("gpustack.steps")
    unlisted = [
        (step.id, probe.id) for step in getattr(steps, "STEPS", ()) for probe in step.probes if probe not in ALL
    ]
    assert unlisted == []


@every_probe
def test_changes_nothing(probe: Any) -> None:
    assert changes(command(probe)) == []


@pytest.mark.parametrize(
    "script",
    [
        "apt-get -qq install curl",
        "systemctl --now enable ufw",
        "sysctl -w net.ipv4.ip_forward=1",
        "swapoff -a",
        "modprobe overlay",
        "echo x > /etc/hosts",
        "cat a >>/var/log/b",
        "kubectl --kubeconfig /etc/kubernetes/admin.conf delete pod x",
        "iptables -w -A FORWARD -j ACCEPT",
        "nft flush ruleset",
        "sed -ri s/a/b/ /etc/fstab",
        "test -f x || touch x",
    ],
)
def test_a_change_is_seen(script: str) -> None:
    assert changes(script) == [script]


@pytest.mark.parametrize(
    "script",
    [
        "dpkg-query -Wf '${Version}' containerd.io 2>/dev/null",
        "systemctl show -p ActiveState containerd",
        "iptables -w -S FORWARD && { iptables -S FLANNEL-FWD 2>&1 || :; }",
        "awk '$1 > 3' /proc/meminfo",
        "modprobe -n -q br_netfilter",
        "swapon --show --noheadings",
    ],
)
def test_a_question_is_let_through(script: str) -> None:
    assert changes(script) == []


@pytest.mark.parametrize("probe", SHELL, ids=lambda probe: probe.id)
def test_shellcheck(probe: Any) -> None:
    program = shutil.which("shellcheck")
    assert program, "shellcheck comes with the development lock: make env"
    done = subprocess.run(
        [program, "--shell=sh", "--severity=style", "--format=gcc", "-"],
        input=command(probe) + "\n", capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
