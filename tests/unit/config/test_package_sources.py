"""The package sources of driver containers: which files are refused before a host is asked."""

from pathlib import Path
from typing import Any

import pytest

from gpustack.config.package_sources import read_package_sources
from gpustack.errors import ConfigError
from tests.unit.config.specs import list_complaint_ids, list_complaints

KEY = "gpustack.gpu.driver.repo_config"
# As in NVIDIA/gpu-operator issue 255, and as ubuntu:24.04 has it.
LIST = "deb [arch=amd64] http://192.0.2.9/ubuntu/mirror/archive.ubuntu.com/ubuntu focal main universe\n"
SOURCES = "Types: deb\nURIs: http://192.0.2.9/ubuntu/\nSuites: noble\nComponents: main\n"


def build_spec(path: object, **driver: str) -> dict[str, Any]:
    return {"gpu": {"driver": {"repo_config": str(path), **driver}}}


@pytest.mark.parametrize(("name", "text"), [("custom-repo.list", LIST), ("ubuntu.sources", f"# ours\n{SOURCES}")])
def test_both_forms_of_apt_are_right(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert list_complaints(build_spec(tmp_path / name)) == []
    assert read_package_sources(str(tmp_path / name)) == text


@pytest.mark.parametrize(
    ("name", "text", "actual"),
    [
        ("repo.txt", LIST, "a name that apt ignores"),
        ("my repo.list", LIST, "a name that apt ignores"),
        ("repo.list", "", "a file without a source"),
        ("repo.list", "# deb http://192.0.2.9/ubuntu focal main\n", "a file without a source"),
        ("repo.list", SOURCES, "a file without a source"),
        ("repo.sources", LIST, "a file without a source"),
        ("repo.list", LIST.replace("//", "//kube:word@"), "a file with a login in an address"),
        ("repo.list", f"# für uns\n{LIST}", "a file with other characters than those of ASCII"),
        ("repo.list", f"{LIST}\x1b", "a file with other characters than those of ASCII"),
    ],
)
def test_an_unfit_file_is_refused(tmp_path: Path, name: str, text: str, actual: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    (complaint,) = list_complaints(build_spec(path))
    assert (complaint.key, complaint.reference) == (KEY, "config-package-sources")
    assert complaint.actual == f"{path}: {actual}"
    assert "word" not in str(complaint)
    with pytest.raises(ConfigError, match=actual):
        read_package_sources(str(path))


@pytest.mark.parametrize("path", ["relative/repo.list", "/nowhere/repo.list", "/etc"])
def test_what_is_no_file_is_refused(path: str) -> None:
    assert list_complaint_ids(build_spec(path)) == [(KEY, "config-package-sources")]


@pytest.mark.parametrize("mode", ["host", "none"])
def test_a_file_that_nothing_would_read_is_refused(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "repo.list"
    path.write_text(LIST)
    (complaint,) = list_complaints(build_spec(path, mode=mode))
    assert (complaint.key, complaint.actual) == (KEY, f"a file beside gpu.driver.mode: {mode}")
    (complaint,) = list_complaints({"gpu": {"stack": "host", "driver": {"repo_config": str(path)}}})
    assert complaint.actual == "a file beside gpu.stack: host"
