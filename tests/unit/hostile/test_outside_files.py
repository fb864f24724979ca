"""Files of others that a command reads may be no regular files, or stand for more than they have: each is an error with
the name of the file. Nothing waits, nothing grows, and nothing is a bug of gpustack's own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.ask.recording import read_recording, render_lines
from gpustack.cli.app import app
from gpustack.cli.gpu.prometheus import read_file
from gpustack.config import inventory
from gpustack.config.ansible.cfg import read_ansible_cfg
from gpustack.config.ansible.inventory_listing import Listing, start_listing
from gpustack.config.dashboards.json_model import load as load_dashboard
from gpustack.config.secrets.secret_file import read_secret
from gpustack.config.secrets.secret_values import PLACEHOLDER, redact_secrets
from gpustack.config.values import read_operator_values
from gpustack.errors import ConfigError, GpustackError, UsageError
from gpustack.profile.file import read_profile
from tests.unit.files.irregular import HOSTILE_YAML, UNREADABLE, make_bomb, make_dangling, make_loop
from tests.worlds.snapshots.reset_hosts import build_snapshot

pytestmark = pytest.mark.timeout(60)
HOSTS = "kube_control_plane: {hosts: {h1: }}\nkube_node: {hosts: {h1: }}\n"
CHART = "kube-prometheus-stack-88.5.3"


def read_values(path: Path) -> None:
    """Read values beside an inventory. `path` is values/monitoring.yaml."""
    values, wrong = read_operator_values(path.parent.parent, "monitoring", CHART)
    assert values == {}
    if wrong:
        raise ConfigError(wrong[0].reference, wrong[0].file, wrong[0].actual)


def read_dashboard(path: Path) -> None:
    board, reason = load_dashboard(path)
    assert board is None
    raise ConfigError("config-dashboard", str(path), reason)


def read_local(path: Path) -> None:
    inventory.read_mapping(path)


def begin_listing(path: Path) -> Listing:
    """Begin the listing of an inventory, and end it at once. `path` is hosts.yml, or group_vars/all.yml beside it."""
    source = path if path.name == "hosts.yml" else path.parent.parent / "hosts.yml"
    listing = start_listing(source)
    listing.process.kill()
    listing.process.communicate()
    return listing


PLACES: dict[str, Callable[[Path], object]] = {
    "taken.jsonl": read_recording,
    "profile.json": read_profile,
    "values/monitoring.yaml": read_values,
    "password": lambda path: read_secret(str(path)),
    "board.json": read_dashboard,
    "gpustack.yml": read_local,
    "token": lambda path: read_file("--token-file", path),
    "hosts.yml": begin_listing,
    "group_vars/all.yml": begin_listing,
}


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path: Path = tmp_path / request.param
    path.parent.mkdir(exist_ok=True)
    if path.name != "hosts.yml":
        (tmp_path / "hosts.yml").write_text(HOSTS)
    return path


# Folders of variables, and links to nothing, are Ansible's; Helm's values need not be there.
LEFTOVERS: dict[str, set[Callable[[Path], None]]] = {
    "hosts.yml": {Path.mkdir, make_dangling, make_loop},
    "group_vars/all.yml": {Path.mkdir, make_dangling, make_loop},
    "values/monitoring.yaml": {make_dangling, make_loop},
}


@pytest.mark.parametrize(
    ("place", "make"),
    [(name, make) for name in PLACES for make in UNREADABLE if make not in LEFTOVERS.get(name, ())],
    indirect=["place"],
)
def test_files_that_are_not_regular_are_refused(place: Path, make: Callable[[Path], None], tmp_path: Path) -> None:
    make(place)
    with pytest.raises(GpustackError) as excinfo:
        PLACES[str(place.relative_to(tmp_path))](place)
    assert place.name in f"{excinfo.value.message}{excinfo.value.reason}"


@pytest.mark.parametrize("place", ["values/monitoring.yaml", "gpustack.yml"], indirect=True)
@pytest.mark.parametrize("text", HOSTILE_YAML.values(), ids=HOSTILE_YAML)
def test_yaml_that_stands_for_much_is_refused(place: Path, text: str, tmp_path: Path) -> None:
    place.write_text(text)
    with pytest.raises(ConfigError) as excinfo:
        PLACES[str(place.relative_to(tmp_path))](place)
    assert excinfo.value.reference == "config-file-limit"
    assert place.name in f"{excinfo.value.message}{excinfo.value.reason}"


@pytest.mark.parametrize("place", ["hosts.yml", "group_vars/all.yml"], indirect=True)
@pytest.mark.parametrize("levels", [8, 10])
def test_ansible_gets_no_bomb(place: Path, levels: int) -> None:
    place.write_text(make_bomb(levels))
    with pytest.raises(ConfigError, match="1 mistake") as excinfo:
        begin_listing(place)
    assert excinfo.value.reference == "config-file-limit"


@pytest.mark.parametrize("place", ["group_vars/all.yml"], indirect=True)
def test_anchors_of_the_operator_stay(place: Path) -> None:
    place.write_text("common: &common {a: 1}\nown: {<<: *common, b: .inf}\ntext: !unsafe '*{{ x }}'\n")
    assert begin_listing(place).process.pid


def test_an_ansible_cfg_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ansible.cfg"
    path.touch()
    with path.open("r+b") as file:
        file.truncate(64 * 2**30)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_ansible_cfg({"ANSIBLE_CONFIG": str(path)})


def change_header(**fields: object) -> str:
    first, *rest = render_lines(build_snapshot())
    return "".join([json.dumps({**json.loads(first), **fields}) + "\n", *rest])


@pytest.mark.parametrize("command", [["--list"], ["--out", "-"], ["--redact", "addresses", "--out", "-"]])
@pytest.mark.parametrize("levels", [8, 10])
def test_a_bomb_in_the_values_of_a_recording_is_not_printed(tmp_path: Path, command: list[str], levels: int) -> None:
    path = tmp_path / "sent.jsonl"
    path.write_text(change_header(values={"monitoring": {"x": make_bomb(levels)}}))
    result = CliRunner().invoke(app, ["snapshot", "--from", str(path), *command])
    assert result.exit_code == 0, result.exception
    assert "a0: &a0" not in result.stdout


@pytest.mark.parametrize(
    "fields",
    [
        {"spec": {"kubernetes": {"cert_sans": ["\ud800"]}}},
        {"values": {"monitoring": {"x": "\udfff"}}},
        {"values": {"monitoring": {"\ud800": 1}}},
        {"values": {"monitoring": {"x": float("inf")}}},
        {"seconds": float("nan")},
        {"seconds": 1e400},
        {"seconds": int("9" * 400)},
        {"values": {"monitoring": json.loads("[" * 150 + "]" * 150)}},
        {"started_at": "9" * 50},
        {"source": "a\x00b\ud800"},
    ],
    ids=repr,
)
def test_a_header_out_of_bounds_is_refused(tmp_path: Path, fields: dict[str, object]) -> None:
    path = tmp_path / "sent.jsonl"
    path.write_text(change_header(**fields))
    with pytest.raises(UsageError) as excinfo:
        read_recording(path)
    assert excinfo.value.reference == "recording-unreadable"


def test_documents_within_documents_end() -> None:
    """A level costs the reading of all below it."""
    text = "a: 1\n"
    for _ in range(300):
        text = "a: |\n" + "".join(f" {line}\n" for line in text.splitlines())
    assert redact_secrets({"x": text}) == {"x": PLACEHOLDER}
    assert redact_secrets({"x": "a: |\n b: |\n  password: hunter2\n"}) == {"x": PLACEHOLDER}
    assert redact_secrets({"x": "a: |\n b: |\n  c: d\n"}) == {"x": "a: |\n b: |\n  c: d\n"}
