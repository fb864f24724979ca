"""Nothing on hosts asks anything of systemd that is younger than that of the oldest system: 249 of Ubuntu 22.04."""

import re

import pytest

from gpustack.ask.script import format_command
from gpustack.config.resources import locate_playbooks
from tests.worlds.snapshots.answers import list_all_probes

# By the version after "Added in version" in the manual pages of systemd 257 (Debian 13: systemctl(1), journalctl(1),
# timedatectl(1), networkctl(1)): all from 250 on.
YOUNGER = {
    "systemctl": (
        "--timestamp=unix", "list-automounts", "--kill-whom", "--image", "--no-warn", "--drop-in", "list-paths",
        "whoami", "soft-reboot", "--kill-value", "--when", "sleep", "--stdin", "-C", "--capsule",
    ),
    "journalctl": ("short-delta", "--truncate-newline", "-T", "--exclude-identifier", "-I", "--invocation",
                   "--list-invocations"),
    "timedatectl": ("-P",),
    "networkctl": ("edit", "cat", "mask", "unmask", "--drop-in", "--no-reload", "--stdin", "persistent-storage"),
}  # fmt: skip
SHELL = {
    **{str(path): path.read_text() for end in ("sh", "yml") for path in sorted(locate_playbooks().rglob(f"*.{end}"))},
    **{probe.id: format_command(probe) for probe in list_all_probes()},
}


def find_too_young(script: str) -> list[str]:
    options = []
    for program, words in YOUNGER.items():
        for call in re.findall(rf"\b{program}\b([^|;&)\n]*)", script):
            short_words = [word.split("=")[0] if word != "--timestamp=unix" else word for word in call.split()]
            options += [f"{program} {word}" for word in short_words if word in words]
    return options


def test_nothing_is_younger_than_the_oldest_systemd() -> None:
    assert {place: young_options for place, script in SHELL.items() if (young_options := find_too_young(script))} == {}


@pytest.mark.parametrize(
    "script",
    ["systemctl show --timestamp=unix -p Id x", "x=$(journalctl -u kubelet -I -o cat)", "systemctl reboot --when=+1h"],
)
def test_a_younger_word_is_found(script: str) -> None:
    assert find_too_young(script)
