"""A key of NVIDIA signs the packages for a host: each system's repository has its own."""

from typing import Any

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

from gpustack.ask.view import View
from gpustack.config.resolution import build_apt_repositories
from gpustack.config.resources import locate_playbooks
from gpustack.config.spec import Spec
from gpustack.probes.gpu.packages import GPU_REPOSITORY
from gpustack.steps.apt_repository import find_repository_mismatch, resolve_repository
from gpustack.steps.prereqs.host import SYSTEMS
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

CUDA = "https://developer.download.nvidia.com/compute/cuda/repos"
OLD, DEBIAN13, UBUNTU2604 = (
    ("3bf863cc.pub", "EB693B3035CD5710E231E123A4B469963BF863CC"),
    ("8793F200.pub", "02182E60104FCDC26EAE1B8597A5D4CB8793F200"),
    ("60DF8A40.pub", "14BAFBC7562AD710CA04E69905FBB6DA60DF8A40"),
)
KEYS = [
    ("debian", "12", OLD), ("debian", "13", DEBIAN13),
    ("ubuntu", "22.04", OLD), ("ubuntu", "24.04", OLD), ("ubuntu", "26.04", UBUNTU2604),
]  # fmt: skip
MIRROR = {"source": {"mirror": "http://10.77.1.1:8480", "fingerprint": "B" * 40}}


def build_view(name: str, version: str, arch: str, spec: dict[str, Any]) -> View:
    release = f"{arch}\nID={name}\nVERSION_ID={version}\nVERSION_CODENAME=x\n"
    answers = place_answers("h1", make_answer("system.os", release), read_case("gpu.repository", "fresh-debian-12"))
    return View(build_snapshot(answers, {"source": "official", **spec}), "h1")


def build_role_words(spec: dict[str, Any], name: str, version: str, arch: str) -> list[str]:
    """Build the words that the role gives to apt-repositories.sh."""
    variables = yaml.safe_load((locate_playbooks() / "roles" / "gpu_driver" / "vars" / "main.yml").read_text())
    gpustack = {"apt": build_apt_repositories(Spec.model_validate(spec))}
    host_variables = {
        "gpustack": gpustack,
        "gpustack_host": {"os": name, "version": version, "arch": arch, "sources": {}},
    }
    for variable in ("arch", "source", "system", "key", "repository"):
        template = NativeEnvironment().from_string(variables[f"gpu_driver_{variable}"])
        host_variables[f"gpu_driver_{variable}"] = template.render(host_variables)
    return str(host_variables["gpu_driver_repository"]).split()


@pytest.mark.parametrize(("arch", "platform"), [("x86_64", "x86_64"), ("aarch64", "sbsa")])
@pytest.mark.parametrize(("name", "version", "key"), KEYS)
def test_the_key_is_that_of_the_system(name: str, version: str, key: tuple[str, str], arch: str, platform: str) -> None:
    system = f"{name}{version.replace('.', '')}"
    repository = resolve_repository(build_view(name, version, arch, {}), "nvidia")
    assert repository["key"] == f"{CUDA}/{system}/{platform}/{key[0]}"
    assert repository["fingerprint"] == key[1]


@pytest.mark.parametrize("spec", [{}, MIRROR, {"fingerprints": {"nvidia": "C" * 40}}])
@pytest.mark.parametrize(("name", "version"), [(name, version) for name, version, _ in KEYS])
def test_the_role_writes_what_the_check_expects(name: str, version: str, spec: dict[str, Any]) -> None:
    for arch, machine in (("amd64", "x86_64"), ("arm64", "aarch64")):
        expected = resolve_repository(build_view(name, version, machine, spec), "nvidia")
        words = [
            "nvidia",
            *(
                expected[word] or "-"
                for word in ("uri", "suite", "components", "key", "fingerprint", "end", "packages")
            ),
        ]
        assert build_role_words(spec, name, version, arch) == words


def test_a_mirror_signs_with_its_own_key_and_has_the_system_s_file() -> None:
    repository = resolve_repository(build_view("debian", "13", "x86_64", MIRROR), "nvidia")
    assert repository["key"].endswith("/developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64/8793F200.pub")
    assert repository["fingerprint"] == "B" * 40


def test_every_system_that_is_taken_has_a_key() -> None:
    assert {(name, version) for name, versions in SYSTEMS.items() for version in versions} == {
        (name, version) for name, version, _ in KEYS
    }


def test_a_system_without_a_known_key_is_refused_by_name() -> None:
    mismatch = find_repository_mismatch(build_view("debian", "14", "x86_64", {}), "nvidia", GPU_REPOSITORY)
    assert mismatch
    assert (mismatch.actual, mismatch.cure) == ("none for debian14", "operator")
    assert "gpu.driver.mode" in mismatch.hint
