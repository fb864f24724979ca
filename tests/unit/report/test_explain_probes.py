"""`gpustack explain` has a page for each name that `gpustack snapshot --list` prints."""

from pathlib import Path

import pytest

from gpustack.ask.recording import read_recording
from gpustack.cli.commands.explain import complete_name
from gpustack.doctor.probe_readers import list_probe_readers
from gpustack.errors import UsageError
from gpustack.report.explain.contents import explain_topic, render_list

EXAMPLES = Path(__file__).parents[3] / "examples" / "recordings"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_answer_of_a_recording_has_a_page(path: Path) -> None:
    names = {answer.probe for answer in read_recording(path).answers.values()}
    assert names
    for name in names:
        assert f"{name}: " in explain_topic(name)


def test_a_page_has_the_command_and_what_reads_the_answer() -> None:
    page = explain_topic("containerd.candidates")
    assert "It asks each host, and changes nothing." in page
    assert "By hand\n  apt-cache madison containerd.io\n" in page
    assert "Read by the checks of the steps\n  containerd\n" in page


def test_a_page_about_the_api_has_what_is_kept_and_who_looks_at_it() -> None:
    page = explain_topic("node.records")
    assert "By hand\n  kubectl get --raw /api/v1/nodes\n" in page
    assert "spec.unschedulable" in page
    assert "Read by the doctor's observers\n  Nodes that gpustack cordoned\n" in page


def test_a_page_names_the_faults_that_rest_on_it() -> None:
    assert "gpu-fell-off-bus" in explain_topic("gpu.smi")


def test_every_probe_is_read_and_can_be_asked_by_hand() -> None:
    for readers in list_probe_readers().values():
        assert readers.command, readers.id
        assert "\n" not in readers.command, readers.id
        assert readers.steps or readers.pages or readers.observations, readers.id


def test_probes_are_listed_and_completed_and_near_names_are_suggested() -> None:
    assert len(render_list("probes").splitlines()) == len(list_probe_readers())
    assert complete_name("containerd.cand") == ["containerd.candidates"]
    with pytest.raises(UsageError, match=r"no page container\.candidates") as excinfo:
        explain_topic("container.candidates")
    assert excinfo.value.hint == "gpustack explain containerd.candidates"
