"""The real script of packages.sources, with the real apt and gpg, on a root of its own: sources as vendors' guides
write them, as do-release-upgrade leaves them, and half written."""

import os
import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.script import format_command
from gpustack.probes.packages.dpkg import SOURCES, Source, Sources
from tests.worlds.programs.signing_keys import Vendor

pytestmark = pytest.mark.skipif(not shutil.which("apt-get") or not shutil.which("gpg"), reason="needs apt and gpg")
# docs.docker.com/engine/install/debian
DOCKER = """Types: deb
URIs: https://download.docker.com/linux/debian
Suites: bookworm
Components: stable
Architectures: amd64
Signed-By: {keys}/docker.asc
"""
DOCKER_PLACE = "https://download.docker.com/linux/debian"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{tmp_path}"; Dir::State "{tmp_path}"; Dir::Cache "{tmp_path}";')
    return tmp_path


def read_sources(root: Path, path: str = "") -> Sources:
    script = f"LC_ALL=C; export LC_ALL\n{format_command(SOURCES)}".replace("/etc/apt", str(root))
    env = {"PATH": path or os.environ["PATH"], "APT_CONFIG": str(root / "apt.conf")}
    process = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=60
    )
    return SOURCES.extract_fact(
        Answer(SOURCES.id, "h1", rc=process.returncode, stdout=process.stdout, stderr=process.stderr)
    )


def write(root: Path, name: str, text: str) -> None:
    (root / "sources.list.d" / name).write_text(text.replace("{keys}", str(root)))


def test_a_vendor_s_stanza_is_read_with_its_armoured_key(root: Path) -> None:
    vendor = Vendor(root / "vendor", "2y")
    (root / "docker.asc").write_bytes(vendor.public)
    write(root, "docker.sources", DOCKER)
    sources = read_sources(root)
    key = f"{root}/docker.asc"
    assert sources.sources == (Source("sources.list.d/docker.sources", DOCKER_PLACE, "bookworm", key, "stable"),)
    assert sources.keyrings[key].fingerprints == (vendor.fingerprint,)
    assert sources.errors == ()
    vendor.end()


def test_a_key_that_has_ended_is_read_with_its_end(root: Path) -> None:
    """gpg says nothing of it without a database of trust, which a probe does not make."""
    vendor = Vendor(root / "vendor", "seconds=1")
    time.sleep(2)
    (root / "docker.asc").write_bytes(vendor.public)
    write(root, "docker.sources", DOCKER)
    ring = read_sources(root).keyrings[f"{root}/docker.asc"]
    assert ring.fingerprints == (vendor.fingerprint,)
    assert ring.expires_at
    assert ring.expires_at < datetime.now(UTC)
    vendor.end()


@pytest.mark.parametrize("line", ["Enabled: no", "enabled: No", "Enabled:  false"])
def test_a_stanza_that_is_off_is_no_source(root: Path, line: str) -> None:
    """do-release-upgrade leaves such stanzas behind."""
    write(root, "docker.sources", f"{DOCKER}{line}\n\n{DOCKER.replace('bookworm', 'trixie')}")
    assert [source.suites for source in read_sources(root).sources] == ["trixie"]


@pytest.mark.parametrize(
    "line",
    [
        "deb [arch=amd64 signed-by=/k.gpg] https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /",
        "deb [ signed-by=/k.gpg arch=amd64 ] https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /  # x",
    ],
)
def test_a_line_with_options_is_read(root: Path, line: str) -> None:
    write(root, "nvidia.list", f"# deb https://x.example.org /\n{line}\n")
    (source,) = read_sources(root).sources
    assert source.uri == "https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH)"
    assert (source.suites, source.components, source.key) == ("/", "", "/k.gpg")


def test_fields_are_continued_on_the_next_line(root: Path) -> None:
    text = (
        "types: deb deb-src\nuris: https://a.example.org\n https://b.example.org\n# so\nSUITES: s\nComponents: x\n y\n"
    )
    write(root, "two.sources", f"{text}Signed-By: /k.gpg\n")
    assert [(source.uri, source.components, source.key) for source in read_sources(root).sources] == [
        ("https://a.example.org", "x y", "/k.gpg"), ("https://b.example.org", "x y", "/k.gpg"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.list", "deb [trusted=yes signed-by=/k.gpg] https://x.example.org s main\n"),
        ("x.list", "deb [signed-by=/k.gpg allow-insecure=yes] https://x.example.org s main\n"),
        ("x.sources", DOCKER + "Trusted: yes\n"),
        ("x.list", "deb https://x.example.org s main\n"),
        (
            "x.sources",
            DOCKER.replace("{keys}/docker.asc", "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDM\n -----END"),
        ),
    ],
)
def test_a_source_whose_signature_does_not_count_names_no_key(root: Path, name: str, text: str) -> None:
    write(root, name, text)
    assert [source.key for source in read_sources(root).sources] == [""]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("half.list", "deb [signed-by=/a.gpg] http://x.example.org/debian\n", "Malformed entry 1"),
        ("half.list", "deb [signed-by=/a.gpg http://x.example.org/debian s main\n", "[option] not assignment"),
        ("half.sources", "Types: deb\nURIs: http://x.example.org\n", "(Suite)"),
        ("half.sources", "Types: deb\nSuites: s\nComponents: main\n", "(URI)"),
        (
            "two.list",
            "deb [signed-by=/a.gpg] http://x s m\ndeb [signed-by=/b.gpg] https://x/ s n\n",
            "Conflicting values",
        ),
    ],
)
def test_what_apt_cannot_read_is_reported_in_its_words(root: Path, name: str, text: str, words: str) -> None:
    write(root, name, text)
    errors = read_sources(root).errors
    assert words in errors[0]
    assert name in errors[0] or "http://x/ s: /a.gpg != /b.gpg" in errors[0]


def test_without_gpg_it_is_not_known_which_keys_a_file_holds(root: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("awk", "grep", "sed", "sort", "stat"):
        (programs / name).symlink_to(shutil.which(name) or "")
    (programs / "apt-get").write_text("#!/bin/sh\n")
    (programs / "apt-get").chmod(0o755)
    write(root, "docker.sources", DOCKER)
    sources = read_sources(root, str(programs))
    assert sources.keyrings[f"{root}/docker.asc"].fingerprints is None
