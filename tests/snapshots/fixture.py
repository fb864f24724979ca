"""Recordings as fixtures: a healthy one, and of each fault only the answers that differ from it.

An answer from which the same fact is read as from the healthy one's is left out: verdicts come from facts alone. The
first line of a fixture is what that of its recording has otherwise than the healthy one's, with the name of the healthy
one in `base` and, in `gone`, which answers that one has and this has not. An output that is much like the healthy one
is given by `lines` in place of `stdout`: [from, to, [what is there now]], counted in the healthy one's lines; JSON has
a line for each value. Whole answers would take 13 MB in place of 4: after the faults before it no lab has the pods,
their addresses and the ports that it began with.

`healthy-vm` and what is based on it is of a host with a kernel of its own (cgroup v2, AppArmor), without GPUs and
monitoring: tests/lab/test_vm.py records it.
"""

import json
import re
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from gpustack.ask.probe import Answer, FactUnavailable, Probe
from gpustack.doctor.diagnose import list_probes

FOLDER = Path(__file__).parent
HEALTHY = FOLDER / "healthy.jsonl"
ARCHIVE = re.compile(r"http://[^/\s|]+/(debian(?:-security)?/)")
"""The archive of Debian, whose host is that of whoever played a recording."""
Key = tuple[str, str]


def keep_healthy(recording: Path, to: Path = HEALTHY) -> None:
    head, _, rest = hide_archive(recording.read_text()).partition("\n")
    to.write_text(f"{json.dumps(remove_path(json.loads(head)), ensure_ascii=False)}\n{rest}")


def remove_path(first: dict[str, Any]) -> dict[str, Any]:
    """Remove the path of whoever played a recording."""
    return {**first, "source": "lab/inventory"}


def hide_archive(text: str) -> str:
    return ARCHIVE.sub(r"http://example.org/\1", text)


def keep(case: str, recording: Path, base: Path = HEALTHY) -> None:
    """Keep everything but durations, which are no difference."""
    name = case.replace("/", "--").replace(" ", "")
    (FOLDER / f"{name}.jsonl").write_text(hide_archive(shorten_recording(base, recording)))


def shorten_recording(base: Path, recording: Path) -> str:
    """Shrink a recording to a fixture."""
    base_answers, current_answers = index_answers(base), index_answers(recording)
    was = read_header(base)
    first = {key: entry for key, entry in remove_path(read_header(recording)).items() if was.get(key) != entry}
    first |= {"base": base.name, "gone": [list(key) for key in base_answers if key not in current_answers]}
    probes = {probe.id: probe for probe in list_probes()}
    different = [
        shorten_answer(answer, base_answers.get(key))
        for key, answer in current_answers.items()
        if key not in base_answers or not has_same_fact(probes.get(key[0]), answer, base_answers[key])
    ]
    return "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in (first, *different))


def has_same_fact(probe: Probe[Any] | None, answer: dict[str, Any], base_answer: dict[str, Any]) -> bool:
    if answer == base_answer or probe is None:
        return answer == base_answer
    try:
        return bool(probe.extract_fact(Answer(**answer)) == probe.extract_fact(Answer(**base_answer)))
    except FactUnavailable:
        return False


def read_header(recording: Path) -> dict[str, Any]:
    first: dict[str, Any] = json.loads(recording.read_text().partition("\n")[0])
    return first


def index_answers(recording: Path) -> dict[Key, dict[str, Any]]:
    """Index answers by probe and location."""
    differences = {}
    for line in recording.read_text().splitlines()[1:]:
        document = json.loads(line)
        document.pop("seconds", None)
        differences[document["probe"], document["location"]] = document
    return differences


def shorten_answer(answer: dict[str, Any], base_answer: dict[str, Any] | None) -> dict[str, Any]:
    """Replace an answer by its difference, where that is shorter."""
    if base_answer is None:
        return answer
    was, current_lines = split_output(base_answer["stdout"]), split_output(answer["stdout"])
    codes = SequenceMatcher(None, was, current_lines).get_opcodes()
    lines = [[start, end, current_lines[i:j]] for tag, start, end, i, j in codes if tag != "equal"]
    short = {**answer, "lines": lines}
    del short["stdout"]
    return min(answer, short, key=lambda candidate: len(json.dumps(candidate)))


def restore_answer(answer: dict[str, Any], base_answer: dict[str, Any]) -> dict[str, Any]:
    """Restore the answer that `shorter` made short."""
    if "lines" not in answer:
        return answer
    lines_of_output = split_output(base_answer["stdout"])
    for start, end, current_lines in reversed(answer["lines"]):
        lines_of_output[start:end] = current_lines
    return {**{key: entry for key, entry in answer.items() if key != "lines"}, "stdout": "\n".join(lines_of_output)}


def split_output(output: str) -> list[str]:
    try:
        document = json.loads(output)
    except ValueError:
        document = None
    return (json.dumps(document, indent=0, ensure_ascii=False) if isinstance(document, dict | list) else output).split(
        "\n"
    )


def restore_recording(fixture: Path) -> str:
    """Restore the recording that a fixture stands for."""
    head, _, rest = fixture.read_text().partition("\n")
    first = json.loads(head)
    if "base" not in first:
        return fixture.read_text()
    base = fixture.parent / first.pop("base")
    first, merged_answers = read_header(base) | first, index_answers(base)
    for key in first.pop("gone"):
        merged_answers.pop(tuple(key), None)
    for line in rest.splitlines():
        document = json.loads(line)
        key = document["probe"], document["location"]
        merged_answers[key] = restore_answer(document, merged_answers.get(key, {}))
    return "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in (first, *merged_answers.values()))
