"""The pinned modules against the version set, and which tool is compiled again when."""

import json
import re
import shutil
from pathlib import Path

import pytest

from gpustack.errors import BundleError
from gpustack_lab.bundle import driver_debs, kubernetes_module, modules, simulated_images
from gpustack_lab.bundle.tools import TOOLS, Tool
from gpustack_lab.bundle.versions import Versions, load

VERSIONS = load()


def read_required(tool: str) -> dict[str, str]:
    text = (modules.SOURCES / tool / "go.mod").read_text()
    return dict(re.findall(r"^(?:require)?\s*(\S+) (v\S+)", text, re.MULTILINE))


def test_every_tool_has_its_module() -> None:
    assert all((modules.SOURCES / tool.name / "go.mod").exists() for tool in TOOLS)
    assert {path.name for path in modules.SOURCES.iterdir()} == {tool.name for tool in TOOLS} | {"pause"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_module_is_pinned_to_the_version_of_the_set(tool: Tool) -> None:
    assert read_required(tool.name)[tool.module] == "v" + VERSIONS.select_module_version(tool.name)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_checksums_are_pinned(tool: Tool) -> None:
    sums = (modules.SOURCES / tool.name / "go.sum").read_text()
    version = VERSIONS.select_module_version(tool.name)
    assert re.search(rf"^{re.escape(tool.module)} v{re.escape(version)} h1:\S+=$", sums, re.MULTILINE)


def test_every_staging_module_is_of_the_same_release() -> None:
    text = (modules.SOURCES / "kubernetes" / "go.mod").read_text()
    matches = re.findall(r"^\s*(?:replace )?(k8s\.io/\S+) => (\S+) (\S+)$", text, re.MULTILINE)
    assert len(matches) > 30
    assert {(old == new, version) for old, new, version in matches} == {(True, f"v0.{VERSIONS['kubernetes'][2:]}")}


def test_a_change_of_python_code_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs: list[object] = []

    def digest(*values: object) -> str:
        inputs.extend(values)
        return "digest"

    for module in (modules, driver_debs, simulated_images):
        monkeypatch.setattr(module, "digest", digest)
    monkeypatch.setattr(modules, "read_go_version", lambda: "1.26.8")
    for module in (modules, driver_debs):
        monkeypatch.setattr(module, "run", lambda *_, **__: "")
    modules.declare_parts(VERSIONS, (VERSIONS["kubernetes"],))
    modules.declare_pause()
    driver_debs.declare_part(VERSIONS["nvidia-driver"])
    simulated_images.declare_part()
    folders = [path for path in inputs if isinstance(path, Path)]
    assert len(folders) == len(TOOLS) + 3
    assert [path for folder in folders for path in [folder, *folder.rglob("*")] if path.suffix == ".py"] == []


def collect_flags(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[str]:
    """Collect the linker flags that a tool is compiled with."""
    texts: list[str] = []

    def run(argv: list[str], **_: object) -> str:
        texts.extend(argv if argv[:2] == ["go", "build"] else [])
        return json.dumps({"Info": str(folder / "info.json")})

    folder.mkdir()
    (folder / "info.json").write_text('{"Time": "2026-01-02T03:04:05Z"}')
    monkeypatch.setattr(modules, "read_go_version", lambda: "1.26.8")
    monkeypatch.setattr(modules, "run", run)
    (part,) = [part for part in modules.declare_parts(VERSIONS, ()) if part.name == name]
    part.make(folder)
    return [texts[texts.index("-tags") + 1], texts[texts.index("-ldflags") + 1]]


def test_a_program_says_its_release_not_its_modules_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tags, flags = collect_flags("prometheus", monkeypatch, tmp_path / "out")
    assert tags == "netgo,remove_all_sd,enable_kubernetes_sd"
    assert "-X github.com/prometheus/common/version.Version=3.14.0" in flags
    assert "0.314.0" not in flags


@pytest.mark.parametrize(
    ("name", "linker_flags"),
    [("node-exporter", ""), ("runc", "'-extldflags=-static'"), ("k8s-device-plugin", "-Wl,-z,lazy'")],
)
def test_parts_in_c_are_linked_as_their_tool_wants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, linker_flags: str
) -> None:
    monkeypatch.setattr(modules, "_query_library_version", lambda _: "1")
    _, flags = collect_flags(name, monkeypatch, tmp_path / "out")
    assert linker_flags in flags
    assert bool(linker_flags) == ("extldflags" in flags)


@pytest.fixture
def known_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "read_go_version", lambda: "1.26.8")
    monkeypatch.setattr(modules, "run", lambda argv, **_: f"version of {argv[0]}")


def list_inputs(versions: Versions = VERSIONS, kubernetes: tuple[str, ...] = ("1.36.4",)) -> dict[str, str]:
    return {part.name: part.inputs for part in modules.declare_parts(versions, kubernetes)}


@pytest.mark.usefixtures("known_compilers")
def test_another_patch_compiles_kubernetes_alone() -> None:
    before, after = list_inputs(), list_inputs(kubernetes=("1.36.4", "1.36.5"))
    assert {name for name in after if before.get(name) != after[name]} == {"kubernetes-1.36.5"}


@pytest.mark.usefixtures("known_compilers")
def test_another_go_compiles_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list_inputs()
    monkeypatch.setattr(modules, "read_go_version", lambda: "1.26.9")
    after = list_inputs()
    assert all(before[name] != after[name] for name in before)


@pytest.mark.usefixtures("known_compilers")
def test_a_changed_pin_compiles_its_tool_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = list_inputs()
    shutil.copytree(modules.SOURCES, tmp_path / "modules")
    pins = tmp_path / "modules" / "etcd" / "go.sum"
    pins.write_text(pins.read_text().replace("=\n", "\n", 1))
    monkeypatch.setattr(modules, "SOURCES", tmp_path / "modules")
    after = list_inputs()
    assert {name for name in after if before[name] != after[name]} == {"etcd"}


def test_the_checksum_database_is_always_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSUMDB", "off")
    monkeypatch.setenv("GONOSUMDB", "*")
    env = modules.build_go_environment(cgo=False)
    assert (env["GOSUMDB"], env["GONOSUMDB"], env["GOPRIVATE"]) == ("", "", "")


@pytest.mark.parametrize("text", ["go1.26.7", "go1.26", "go1.25.9", "go1.9", "unknown"])
def test_an_old_go_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(modules, "run", lambda *_, **__: f"{text}\n")
    with pytest.raises(BundleError) as excinfo:
        modules.read_go_version()
    assert excinfo.value.reference == "bundle-go-old"


@pytest.mark.parametrize("text", ["go1.26.8", "go1.27rc1", "go2.0", "go1.26.8 X:nodwarf5", "devel go1.28-4f3ac2b"])
def test_a_new_go_is_taken(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(modules, "run", lambda *_, **__: f"{text}\n")
    assert modules.read_go_version() == text.removeprefix("go")


def test_another_release_replaces_all_its_staging_modules() -> None:
    """Constructed after what `go mod edit -json` prints of k8s.io/kubernetes v1.37.1."""
    foreign_module = json.loads("""{"Go": "1.27.0", "Godebug": [{"Key": "default", "Value": "go1.27"}], "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "k8s.io/brand-new"}, "New": {"Path": "./staging/src/k8s.io/brand-new"}},
        {"Old": {"Path": "example.org/fork"}, "New": {"Path": "example.org/other", "Version": "v1.0.0"}}]}""")
    own_module: dict[str, object] = {
        "Module": {"Path": "gpustack.local/bundle/kubernetes"},
        "Tool": [{"Path": "k8s.io/kubernetes/cmd/kubeadm"}],
    }
    assert kubernetes_module.render_go_mod(own_module, foreign_module, "1.37.1").splitlines() == [
        "module gpustack.local/bundle/kubernetes",
        "go 1.27.0",
        "godebug default=go1.27",
        "require k8s.io/kubernetes v1.37.1",
        "tool k8s.io/kubernetes/cmd/kubeadm",
        "replace k8s.io/api => k8s.io/api v0.37.1",
        "replace k8s.io/brand-new => k8s.io/brand-new v0.37.1",
    ]


def test_the_pinned_release_is_left_as_it_is(tmp_path: Path) -> None:
    source = Path(shutil.copytree(modules.SOURCES / "kubernetes", tmp_path / "source"))
    before = (source / "go.mod").read_bytes()
    kubernetes_module.pin(source, VERSIONS["kubernetes"], {})
    assert (source / "go.mod").read_bytes() == before
