"""A probe has a unique id and a script that shellcheck accepts, with no verb that changes anything."""

import re
import shutil
import subprocess
from typing import Any

import pytest

from gpustack.ask.probe import Probe, Shell
from gpustack.ask.script import format_command
from gpustack.doctor.diagnose import list_probes
from tests.worlds.snapshots.answers import CASES, list_all_probes

SHELL = [probe for probe in list_all_probes() if isinstance(probe.question, Shell)]
every_probe = pytest.mark.parametrize("probe", list_all_probes(), ids=lambda probe: probe.id)

# Programs that always change something, and those that do with certain words.
ALWAYS_INSTALLED = (
    "chmod|chown|cp|dd|insmod|install|kill|killall|ln|mkdir|mkfs.*|mktemp|mv|pkill|poweroff|reboot|rm|rmdir|rmmod|"
    r"modprobe(?![^;|&]* (?:-n|-D|-c|--dry-run|--show\S*))|shutdown|swapoff|"
    "tee|touch|truncate|umount|wipefs|ip6?tables(-nft|-legacy)?-restore"
)
PROGRAMS_OF_PACKAGES = {
    "apt|apt-get|dpkg": r"install|remove|purge|update|upgrade|autoremove|--configure|clean",
    "apt-mark": r"hold|unhold|auto|manual",
    "systemctl": r"start|stop|restart|reload|try-restart|enable|disable|mask|unmask|daemon-reload|daemon-reexec|kill|"
    r"set-property|isolate|reset-failed|edit",
    "sysctl": r"-w|--system|-p|\S+=.*",
    "swapon": r"-a|/\S+",
    "sed": r"-[a-zA-Z]*i\S*",
    "kubectl": r"apply|create|delete|patch|replace|edit|label|annotate|taint|cordon|uncordon|drain|scale|rollout|exec|"
    r"run|cp|debug",
    "kubeadm": r"init|join|reset|upgrade|create|delete",
    "ip6?tables(-nft|-legacy)?": r"-[ADEFINPRXZ]",
    "nft": r"add|create|insert|delete|destroy|flush|replace|rename|reset|-f",
    "ufw|firewall-cmd": r"enable|disable|allow|deny|delete|insert|--reload|reload|--add-\S+|--remove-\S+",
    "ip": r"add|del|delete|set|flush|replace|change",
    "crictl|ctr": r"rm|rmi|rmp|stop|stopp|run|runp|pull|exec|import|delete|kill|start|create",
    "hostnamectl|timedatectl": r"set-\S+|hostname \S+",
    "mount": r"-\S+|/\S+",
}
# Where a program may stand: at the start, or after what ends or precedes a command.
PLACE = r"(?:^|[;&|({`!]|\b(?:then|do|else|if|while|exec|xargs|env|timeout [0-9]+) )\s*(?:/\S*/)?"
MUTATING = re.compile(
    "|".join(
        [rf"{PLACE}(?:{ALWAYS_INSTALLED})(?=[ ;|&)]|$)"]
        + [
            rf"{PLACE}(?:{program}) (?:[^;|&]* )?(?:{words})(?=[ ;|&)]|$)"
            for program, words in PROGRAMS_OF_PACKAGES.items()
        ]
    )
)
# Output to a file; /dev/null and other descriptors are no files, and what stands in quotes is awk's or jq's.
REDIRECT = re.compile(r">>?(?!\s*(?:/dev/null|&[0-9]))")
QUOTED_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")


def find_changes(script: str) -> list[str]:
    """Find the lines of a script that could change the host."""
    return [
        line for line in script.splitlines() if MUTATING.search(line) or REDIRECT.search(QUOTED_TEXT.sub("''", line))
    ]


def test_ids_are_unique_and_name_their_subject() -> None:
    assert list_all_probes()
    ids = [probe.id for probe in list_all_probes()]
    assert sorted({id for id in ids if ids.count(id) > 1}) == []
    assert [id for id in ids if not re.fullmatch(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*", id)] == []


@every_probe
def test_a_probe_has_recorded_answers(probe: Probe[Any]) -> None:
    assert list((CASES / probe.id).glob("*.json"))


@every_probe
def test_a_probe_changes_nothing(probe: Probe[Any]) -> None:
    assert find_changes(format_command(probe)) == []


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
        "if true; then /sbin/modprobe overlay; fi",
        "x=$(mktemp)",
    ],
)
def test_a_change_is_found(script: str) -> None:
    assert find_changes(script) == [script]


@pytest.mark.parametrize(
    "script",
    [
        "dpkg-query -Wf '${Version}' containerd.io 2>/dev/null",
        "systemctl show -p ActiveState containerd",
        "iptables -w -S FORWARD && { iptables -S FLANNEL-FWD 2>&1 || :; }",
        "awk '$1 > 3' /proc/meminfo",
        "modprobe -n -q br_netfilter",
        "swapon --show --noheadings",
        "stat -c %a /etc/kubernetes/gpustack-kubeadm.yaml /run/gpustack-join.yaml",
        "systemctl list-unit-files --state=enabled",
        "sysctl -n net.ipv4.ip_forward; ip -j address show",
    ],
)
def test_a_question_is_let_through(script: str) -> None:
    assert find_changes(script) == []


@pytest.mark.parametrize("probe", SHELL, ids=lambda probe: probe.id)
def test_shellcheck_accepts_each_script(probe: Probe[Any]) -> None:
    program = shutil.which("shellcheck")
    assert program, "shellcheck comes with the development lock: make env"
    process = subprocess.run(
        [program, "--shell=sh", "--severity=style", "--format=gcc", "-"],
        input=format_command(probe) + "\n", capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize("probe", list_probes(), ids=lambda probe: probe.id)
def test_what_a_diagnosis_asks_can_be_typed(probe: Probe[Any]) -> None:
    """A report shows the command behind a finding on one line."""
    command = probe.manual_command or format_command(probe).strip()
    assert len(command.splitlines()) == 1
