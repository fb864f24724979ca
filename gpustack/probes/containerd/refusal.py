"""The probe that asks the installed containerd whether it takes its files, before anything restarts it."""

from gpustack.ask.probe import Answer, Lines, Probe


def parse_refusal(answer: Answer) -> str:
    """Parse the words with which containerd refuses its files, as at a start, empty where it accepts them. Raise
    ValueError for words that are not containerd's."""
    words = answer.stdout.strip()
    if words and not words.startswith("containerd: "):
        raise ValueError(words[:80])
    return words.removeprefix("containerd: ")


REFUSAL = Probe(
    "containerd.refusal",
    Lines(r"""command -v containerd >/dev/null || exit 0
output=$(containerd config dump 2>&1 >/dev/null) || printf '%s\n' "$output" | tail -n 1"""),
    parse_refusal,
    manual_command="containerd config dump >/dev/null",
)
