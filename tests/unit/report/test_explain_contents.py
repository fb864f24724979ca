"""`gpustack explain` finds a page by its id, by a number, and by words of its name and title."""

from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.cli.commands.explain import Kind
from gpustack.command import add_inventory
from gpustack.config.spec import Spec
from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus
from gpustack.profile.class_ids import Id
from gpustack.report.explain.contents import (
    HEADINGS,
    NUMBERED_KINDS,
    explain_topic,
    find_entries,
    list_sections,
    render_list,
)
from gpustack.report.explain.faults import list_faults, list_states, render_fault
from gpustack.report.explain.gpu import explain_metric
from gpustack.report.explain.settings import read_settings

ROOT = Path(__file__).parents[3]
runner = CliRunner()


@pytest.mark.parametrize("word", ["79", "Xid79", "xid79"])
def test_a_number_is_the_code_of_an_xid(word: str) -> None:
    assert explain_topic(word).startswith("Xid 79: ")


def test_a_number_of_two_things_has_both_pages() -> None:
    """150 is a temperature of DCGM and an Xid; tutorials take one for the other."""
    text = explain_topic("150")
    assert "Xid 150: " in text
    assert "field 150 of DCGM" in text


def test_a_metric_needs_no_kind() -> None:
    assert explain_topic("SM_ACTIVE").startswith("DCGM_FI_PROF_SM_ACTIVE: ")


def test_words_find_all_pages_that_have_them() -> None:
    lines = explain_topic("gpu", "driver").splitlines()
    assert any(line.startswith("  gpu-driver/secure-boot  ") for line in lines)
    assert all("gpu" in line.casefold() and "driver" in line.casefold() for line in lines)


def test_words_find_chapters_of_documents() -> None:
    assert "  docs/monitoring.md  A first GPU job: a load to look at\n" in explain_topic("gpu", "job")


@pytest.mark.parametrize("word", ["", "zzzz"])
def test_no_page_is_found_by_a_word_that_none_has(word: str) -> None:
    assert bool(find_entries([word])) == (word == "")
    with pytest.raises(UsageError):
        explain_topic("zzzz")


@pytest.mark.parametrize(
    ("words", "name", "line"),
    [
        ("amd", "docs/what-it-does-not-do.md", "GPUs of AMD or Intel"),
        ("FLOPS", "docs/what-it-does-not-do.md", "FLOPS of a workload"),
        ("GPUSTACK_PROMETHEUS", "docs/gpus.md", "stands for `--prometheus`"),
        ("useful work", "docs/profiling.md", "useful work per GPU-hour"),
    ],
)
def test_a_word_of_no_title_finds_documents_that_have_it(words: str, name: str, line: str) -> None:
    entries = [text for text in explain_topic(*words.split()).splitlines() if text.startswith(f"  {name}  ")]
    assert [line in text for text in entries] == [True]


def test_the_page_of_exit_codes_has_all_of_them() -> None:
    text = explain_topic("exit-codes")
    assert all(status.meaning in text for status in ExitStatus)


def test_a_confirmation_is_named_only_where_a_fix_can_be_run() -> None:
    for fault in list_faults().values():
        (line,) = (line for line in render_fault(fault) if line.startswith("\nFix ("))
        assert line.startswith("\nFix (manual: ") == (fault.remedy is None), fault.id


@pytest.mark.parametrize("kind", Kind)
def test_a_list_has_the_pages_of_one_kind(kind: Kind) -> None:
    result = runner.invoke(app, ["explain", "--list", kind])
    lines = result.stdout.splitlines()
    assert lines
    name = " ".join(lines[-1].split()[: 2 if kind in ("metrics", "xids") else 1])
    assert runner.invoke(app, ["explain", *name.split()]).exit_code == 0


def test_every_kind_of_page_can_be_listed() -> None:
    assert {*Kind} == {*HEADINGS, *NUMBERED_KINDS, "probes"}
    assert list(HEADINGS) == list(list_sections())


def test_a_document_is_printed_as_it_is() -> None:
    assert explain_topic("docs/limits.md") == (ROOT / "docs" / "limits.md").read_text()
    with pytest.raises(UsageError):
        explain_topic("docs/../README.md")


@pytest.mark.parametrize("words", ["doctor", "gpu top", "kubeconfig"])
def test_the_page_of_a_command_is_its_help(words: str) -> None:
    page = runner.invoke(app, ["explain", *words.split()]).stdout
    assert page.split() == runner.invoke(app, [*words.split(), "--help"]).stdout.split()


def test_a_step_goes_before_the_command_of_its_name() -> None:
    assert "Ansible" in runner.invoke(app, ["explain", "serve"]).stdout


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_a_page_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for page in (explain_topic("host-key-unknown"), explain_topic("GpuLost"), explain_metric("SM_ACTIVE")):
        lines = [line for line in page.splitlines()[1:] if not line.startswith(("  ", "Also", "Source"))]
        assert max(map(len, lines)) <= min(columns, 80)


def test_a_list_is_wrapped_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    line = next(line for line in render_list("checks").splitlines() if "prereqs/mirror-contents" in line)
    assert len(line) > 60
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert max(map(len, render_list("checks").splitlines())) <= 60
    assert " ".join(line.split()) in " ".join(render_list("checks").split())


def test_a_setting_is_found_by_its_key_and_by_words() -> None:
    page = explain_topic("kubelet.failCgroupV1")
    assert "false lets the kubelet run on a cgroup v1 host (KEP-5573)" in page
    assert "Default   true" in page
    assert "Default" not in explain_topic("source.fingerprint")
    assert "(refused | allowed)" in " ".join(explain_topic("source.simulated").split())
    assert "source.fingerprint" in dict(find_entries(["fingerprint"]))


@pytest.mark.long
def test_every_setting_has_a_page_or_is_a_command() -> None:
    for key in read_settings():
        if "." in key:
            assert explain_topic(key).startswith(f"{key}: "), key
        else:
            assert runner.invoke(app, ["explain", key]).exit_code == 0, key
    assert set(Spec.model_fields) <= {key.partition(".")[0] for key in read_settings()}


@pytest.mark.parametrize("name", [name for name in get_args(Id) if name != "pause"])
def test_every_class_of_a_profile_has_a_page(name: str) -> None:
    page = explain_topic(name)
    assert page.startswith(f"{name}: a class of `gpustack profile analyze`\n")
    assert "Conditions: " in page


@pytest.mark.parametrize("name", [*list_faults(), *list_states()])
def test_commands_of_faults_and_states_name_their_inventory(name: str) -> None:
    lines = [line for line in explain_topic(name).splitlines() if line.startswith("  gpustack ")]
    assert [line for line in lines if line != add_inventory(line, "INVENTORY")] == []
