"""containerd's files leave a host without secrets: the probes run on files with secrets in every place."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.probes.containerd.daemon import CONFIGURATION, MANAGED_HEADER, MIRRORS, Configuration
from gpustack.probes.containerd.tables import CONFIG_TABLES

RECORDED_CASES = sorted((Path(__file__).parents[2] / "cases" / "containerd.configuration").glob("*.json"))
AWKS = [name for name in ("mawk", "gawk", "original-awk", "busybox awk") if shutil.which(name.split()[0])]
CONFIG = """\
version = 2 # it is figleaf
imports = [
  "/etc/containerd/conf.d/*.toml", # figleaf
]
# figleaf
disabled_plugins = ["cri"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = 'figleaf'
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
[plugins."io.containerd.grpc.v1.cri".registry.configs."nvcr.io".auth]
  username = "$oauthtoken"
  password = "fig\\"leaf # figleaf"
  auth = 'figleaf'
[plugins."io.containerd.grpc.v1.cri".registry.headers]
  X-JFrog-Art-Api = ["figleaf",
    "figleaf"]
[stream_processors.x]
  env = ["TOKEN=figleaf"]
  text = \"\"\"
figleaf
\"\"\"
  other = '''figleaf'''
  inline = {a = "figleaf", b = 1}
"""
HOSTS = f"""\
{MANAGED_HEADER}
server = "https://mirror.example.com"

[host."https://mirror.example.com"]
  capabilities = ["pull", "resolve"]
[host."https://mirror.example.com".header]
  Authorization = "Basic figleaf"
  X-JFrog-Art-Api = "figleaf"
  Cookie = ["a=figleaf",
    "figleaf"]
"""


def run_probe(probe: Probe[Any], folder: Path, awk: str = "awk") -> Answer:
    assert isinstance(probe.question, Shell)
    text = probe.question.script.replace("/etc/containerd 2>", f"{folder} 2>").replace(
        "/etc/containerd/certs.d", str(folder)
    )
    process = subprocess.run(
        ["sh", "-c", text.replace("  awk -v", f"  {awk} -v")],
        env={"PATH": "/usr/bin:/bin", "SALT": "s", "MIRROR_LOGIN": ""},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert process.stderr == ""
    return Answer(probe.id, "h1", process.returncode, process.stdout)


@pytest.fixture(params=AWKS)
def awk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_of_the_configuration_no_text_leaves_but_what_is_read(tmp_path: Path, awk: str) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    answer = run_probe(CONFIGURATION, tmp_path, awk)
    assert "leaf" not in answer.stdout
    fact = CONFIGURATION.extract_fact(answer)
    assert (fact.imports, fact.parse_errors) == (("/etc/containerd/conf.d/*.toml",), {})
    assert fact.disabled_plugins == {"config.toml": ("cri",)}
    tables = CONFIG_TABLES.extract_fact(answer)["config.toml"]
    assert (tables.version, tables.systemd, tables.mirrors) == (2, frozenset({2}), True)


def test_of_the_mirrors_no_header_leaves(tmp_path: Path, awk: str) -> None:
    (tmp_path / "docker.io").mkdir()
    (tmp_path / "docker.io" / "hosts.toml").write_text(HOSTS)
    (tmp_path / "docker.io" / "hosts.toml").chmod(0o600)
    answer = run_probe(MIRRORS, tmp_path, awk)
    assert "figleaf" not in answer.stdout
    fact = MIRRORS.extract_fact(answer)["docker.io"]
    assert (fact.is_managed, fact.server, fact.login) == (True, "https://mirror.example.com", "other, mode 0600")


@pytest.mark.parametrize(
    "text",
    [
        "auth: figleaf",
        "auth figleaf = 1",
        "password = figleaf",
        "password = figleaf = 1",
        "[figleaf leaf",
        "[a] figleaf",
        'imports = ["a"\npassword = "figleaf"',
        'imports = [\n"a"\nfigleaf: "figleaf"\npassword = "figleaf"',
        'imports = ["a", figleaf: "figleaf"',
        'x = ["figleaf", {a = "figleaf", figleaf}]',
        'x = ["figleaf", """',
        'imports = """\nfigleaf',
        "x = 1 figleaf # figleaf",
    ],
)
def test_of_lines_that_are_no_toml_no_word_leaves(tmp_path: Path, awk: str, text: str) -> None:
    (tmp_path / "config.toml").write_text(f"version = 2\n{text}\n")
    answer = run_probe(CONFIGURATION, tmp_path, awk)
    assert "figleaf" not in answer.stdout
    assert CONFIGURATION.extract_fact(answer).parse_errors


def test_numbers_times_and_lines_of_windows_stay(tmp_path: Path, awk: str) -> None:
    text = (
        "a = 1\nb = -1.5e+3\nc = 0x1F\nd = [true, false, inf, +nan, 1_000]\n"
        'e = 1979-05-27T07:32:00-08:00\nf.g = {h = 1, "i" = "x#y", j.k = 2} # figleaf\n'
        "imports = [\"a#b\", # figleaf\n  'c']\n"
    )
    for end in ("\n", "\r\n"):
        (tmp_path / "config.toml").write_bytes(text.replace("\n", end).encode())
        answer = run_probe(CONFIGURATION, tmp_path, awk)
        assert (CONFIGURATION.extract_fact(answer).parse_errors, "figleaf" in answer.stdout) == ({}, False)
        assert CONFIGURATION.extract_fact(answer).imports == ("a#b", "c")


@pytest.mark.parametrize("line", ['password = "figleaf', "password = figleaf = 1", "[plugins", 'x = ["figleaf"'])
def test_what_is_broken_stays_broken_in_the_same_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "config.toml").write_text(f"version = 2\n# one\n{line}\nimports = []\n")
    (wrong,) = CONFIGURATION.extract_fact(run_probe(CONFIGURATION, tmp_path)).parse_errors.values()
    assert wrong


@pytest.mark.parametrize("path", RECORDED_CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize("probe", [CONFIGURATION, CONFIG_TABLES], ids=lambda probe: probe.id)
def test_recorded_files_say_the_same(path: Path, probe: Probe[Any], tmp_path: Path) -> None:
    """The time at which a file was written, and the column of a mistake, may differ."""
    answer = Answer(probe.id, "h1", **json.loads(path.read_text())["answer"])
    times = dict[str, str]()
    name = ""
    for line in answer.stdout.splitlines():
        if line.startswith("== "):
            name, times[name] = line.removeprefix("== ").rsplit(" ", 1)
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("")
        else:
            with (tmp_path / name).open("a") as file:
                file.write(f"{line}\n")
    second_answer = run_probe(CONFIGURATION, tmp_path)
    for line in second_answer.stdout.splitlines():
        if line.startswith("== "):
            name, time = line.removeprefix("== ").rsplit(" ", 1)
            second_answer = Answer(
                probe.id, "h1", 0, second_answer.stdout.replace(f"== {name} {time}\n", f"== {name} {times[name]}\n")
            )
    before, current_fact = probe.extract_fact(answer), probe.extract_fact(second_answer)
    if isinstance(current_fact, Configuration):
        assert sorted(current_fact.parse_errors) == sorted(before.parse_errors)
        current_fact = replace(current_fact, parse_errors=before.parse_errors)
    assert current_fact == before
