"""containerd asks a verifier before a pull, and a script brings the verifier, with a curl, a ctr and a crictl put
before it."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.containerd.images import LIST, VERIFIER
from gpustack.steps.containerd.images import compute_verifier_digest

FILES = locate_playbooks() / "roles" / "containerd" / "files"
SHARED_SCRIPTS = [(locate_playbooks() / "files" / name).read_text() for name in ("fetch.sh", "pinned.sh")]
PROXY, FLANNEL = "registry.k8s.io/kube-proxy:v1.36.4", "ghcr.io/flannel-io/flannel:v0.28.9"
FIRST, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
MIRROR = "http://mirror:8480"
CURL = """#!/bin/sh
cat >/dev/null
while [ $# -gt 1 ]; do case $1 in -o) file=$2 ;; esac; shift; done
cp "$WORLD/www/${1#http://*/}" "$file" || { printf '000 404'; exit 22; }
"""
CTR = """#!/bin/sh
cat "$WORLD/there"
"""
# A pull asks the verifier as containerd does, by what the mirror serves.
CRICTL = """#!/bin/sh
while [ $# -gt 1 ]; do shift; done
said=$("$WORLD/verifier/gpustack" -name "$1" -digest "$(cat "$WORLD/registry")" -stdin-media-type x </dev/null) ||
  { echo "image verifier bindir blocked pull of $1: $said" >&2; exit 1; }
echo "$1 t $(cat "$WORLD/registry")" >"$WORLD/there"
"""


def format_list(*lines: str) -> str:
    """Format a list with these lines, and the one that says how many."""
    return "".join(f"{line}\n" for line in (*lines, f"# end {len(lines)}"))


def move_paths(text: str, world: Path) -> str:
    for place, name in ((VERIFIER, "verifier/gpustack"), (LIST, "list"), (SOCKET.removeprefix("unix://"), "socket")):
        text = text.replace(place, str(world / name))
    return (
        text.replace("PATH=/usr/sbin:/usr/bin:/sbin:/bin\n", "")
        .replace("[ -S ", "[ -e ")
        .replace("'%a %U'", "'%a root'")
    )


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name, text in {"curl": CURL, "ctr": CTR, "crictl": CRICTL, "gpg": "#!/bin/sh\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "www").mkdir()
    serve(tmp_path, format_list(f"{FLANNEL} {TWO}", f"{PROXY} {FIRST}"))
    (tmp_path / "there").write_text("REF TYPE DIGEST\n")
    (tmp_path / "registry").write_text(FIRST)
    return tmp_path


def serve(world: Path, image_list: str) -> None:
    (world / "www" / "IMAGES").write_text(image_list)
    sums = f"# simulated: yes\n{hashlib.sha256(image_list.encode()).hexdigest()}  IMAGES\n"
    (world / "www" / "SHA256SUMS").write_text(sums)
    (world / "www" / "SHA256SUMS.asc").write_text("signature")


def run(world: Path, script: str, stdin: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    env = {"WORLD": str(world), "KEYRING": "/k", "PATH": f"{world}:{os.environ['PATH']}", **env}
    return subprocess.run(
        ["sh", "-c", script], input=stdin, capture_output=True, text=True, env=env, check=False, timeout=30
    )


def bring_list(
    world: Path, stdin: str = "", mirror: str = MIRROR, verify: str = "yes"
) -> "subprocess.CompletedProcess[str]":
    program = move_paths((FILES / "image-verifier.sh").read_text(), world).rstrip("\n")
    script = "\n".join([*SHARED_SCRIPTS, move_paths((FILES / "images.sh").read_text(), world)])
    return run(world, script, stdin, MIRROR=mirror, PROGRAM=program, VERIFY=verify)


def verify_image(world: Path, name: str, digest: str) -> tuple[int, str]:
    program = move_paths((FILES / "image-verifier.sh").read_text(), world)
    words = f"-name '{name}' -digest {digest} -stdin-media-type application/vnd.oci.descriptor.v1+json"
    process = run(world, f"set -- {words}\n{program}", "{}")
    return process.returncode, process.stdout


def test_a_listed_image_is_pulled_with_its_digest_and_no_other(world: Path) -> None:
    (world / "list").write_text(format_list(f"{PROXY} {FIRST}", f"{FLANNEL} {TWO}"))
    assert verify_image(world, PROXY, FIRST) == (0, "")
    code, reason = verify_image(world, PROXY, TWO)
    assert code == 1
    assert reason.startswith(f"it should be {FIRST}; somebody on the way changed it")
    assert reason.endswith("(gpustack explain image-changed)\n")


@pytest.mark.parametrize(
    "name", ["docker.io/library/nginx:1.29", f"{PROXY}-rc", f"{PROXY.rsplit(':', 1)[0]}@{TWO}", ".*"]
)
def test_others_are_pulled_as_ever(world: Path, name: str) -> None:
    (world / "list").write_text(format_list(f"{PROXY} {FIRST}"))
    assert verify_image(world, name, TWO) == (0, "")


def test_without_its_list_nothing_is_right(world: Path) -> None:
    code, reason = verify_image(world, PROXY, FIRST)
    assert code == 1
    assert "gpustack explain image-changed" in reason


LISTED_IMAGES = format_list(f"{PROXY} {FIRST}", f"{FLANNEL} {TWO}")


@pytest.mark.parametrize("length", range(len(LISTED_IMAGES) - 1))
def test_a_list_that_is_cut_off_lets_nothing_through(world: Path, length: int) -> None:
    """Cut to nothing, within a line, behind one, and within the number of the last."""
    (world / "list").write_text(LISTED_IMAGES[:length])
    code, reason = verify_image(world, "docker.io/library/nginx:1.29", FIRST)
    assert code == 1
    assert "cut off or cannot be read" in reason
    assert "gpustack install" in reason


@pytest.mark.parametrize(
    "text",
    [
        "\0" * len(LISTED_IMAGES),
        LISTED_IMAGES * 2,
        f"{LISTED_IMAGES}{PROXY} {FIRST}\n",
        LISTED_IMAGES.replace(" sha256", ""),
        "# end\n",
    ],
    ids=["zeroes", "twice", "more behind the end", "no digests", "no number"],
)
def test_a_list_that_is_not_as_it_was_written_lets_nothing_through(world: Path, text: str) -> None:
    (world / "list").write_text(text)
    assert verify_image(world, "docker.io/library/nginx:1.29", FIRST)[0] == 1


@pytest.mark.parametrize("words", ["", "-name", f"-name {PROXY}", f"-digest {FIRST}", f"-name '' -digest {FIRST}"])
def test_a_call_that_does_not_say_what_is_pulled_is_refused(world: Path, words: str) -> None:
    (world / "list").write_text(LISTED_IMAGES)
    program = move_paths((FILES / "image-verifier.sh").read_text(), world)
    process = run(world, f"set -- {words}\n{program}", "{}")
    assert process.returncode == 1
    assert "without -name or -digest" in process.stdout


def test_a_mirror_whose_list_has_no_end_changes_nothing(world: Path) -> None:
    bring_list(world)
    before = (world / "list").read_text()
    serve(world, f"{PROXY} {TWO}\n")
    process = bring_list(world)
    assert process.returncode == 1
    assert "has no last line '# end NUMBER'" in process.stderr
    assert (world / "list").read_text() == before


def test_a_new_list_is_put_in_the_place_of_the_old_one_whole(world: Path) -> None:
    """Who has the old one open reads it to its end: it is replaced, never written into."""
    bring_list(world)
    with (world / "list").open() as old:
        serve(world, format_list(f"{PROXY} {TWO}"))
        bring_list(world)
        assert old.read() == format_list(f"{FLANNEL} {TWO}", f"{PROXY} {FIRST}")
    assert not list(world.rglob("*.new"))


def test_the_list_of_a_mirror_is_the_signed_one(world: Path) -> None:
    process = bring_list(world)
    assert process.stdout.splitlines() == ["changed: fetched list", f"changed: wrote {world}/verifier/gpustack"]
    assert (world / "list").read_text() == (world / "www" / "IMAGES").read_text()
    assert (world / "verifier" / "gpustack").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in (world / "verifier").iterdir()] == ["gpustack"], "containerd runs all that lies there"
    assert bring_list(world).stdout == ""
    serve(world, format_list(f"{PROXY} {TWO}"))
    assert bring_list(world).stdout == "changed: fetched list\n"


def test_a_list_changed_on_the_way_is_refused(world: Path) -> None:
    (world / "www" / "IMAGES").write_text(f"{PROXY} {TWO}\n")
    process = bring_list(world)
    assert (process.returncode, process.stdout) == (1, "")
    assert "gpustack explain wrong-checksum" in process.stderr
    assert not (world / "list").exists()


def test_the_list_of_the_version_set_is_written(world: Path) -> None:
    process = bring_list(world, format_list(f"{PROXY} {FIRST}"), mirror="")
    assert process.stdout.splitlines() == [f"changed: wrote {world}/list", f"changed: wrote {world}/verifier/gpustack"]
    assert bring_list(world, format_list(f"{PROXY} {FIRST}"), mirror="").stdout == ""
    (world / "verifier" / "gpustack").chmod(0o600)
    assert (
        bring_list(world, format_list(f"{PROXY} {FIRST}"), mirror="").stdout
        == f"changed: wrote {world}/verifier/gpustack\n"
    )


def test_an_image_that_is_there_with_another_digest_is_pulled_anew(world: Path) -> None:
    (world / "socket").touch()
    (world / "there").write_text(
        f"REF TYPE DIGEST\n{PROXY} t {TWO}\nsha256:ab t {TWO}\ndocker.io/library/a:1 t {TWO}\n"
    )
    assert bring_list(world).stdout.splitlines()[-1] == f"changed: pulled {PROXY}"
    assert bring_list(world).stdout == ""


def test_an_image_that_still_differs_is_refused(world: Path) -> None:
    (world / "socket").touch()
    (world / "there").write_text(f"REF TYPE DIGEST\n{PROXY} t {TWO}\n")
    (world / "registry").write_text(TWO)
    process = bring_list(world)
    assert process.returncode == 1
    assert f"blocked pull of {PROXY}: it should be {FIRST}" in process.stderr


def test_both_go_where_images_are_taken_by_their_tag(world: Path) -> None:
    bring_list(world)
    assert bring_list(world, verify="no").stdout.splitlines() == [
        f"changed: removed {world}/verifier/gpustack",
        f"changed: removed {world}/list",
    ]
    assert bring_list(world, verify="no").stdout == ""


def test_the_role_and_the_checks_mean_the_same_files() -> None:
    script = (FILES / "images.sh").read_text()
    assert f"LIST={LIST}\n" in script
    assert f"VERIFIER={VERIFIER}\n" in script
    assert f"SOCKET={SOCKET}\n" in script
    program = (FILES / "image-verifier.sh").read_text()
    # As the lookup gives it to the role, which adds the line's end again.
    assert hashlib.sha256(f"{program.rstrip()}\n".encode()).hexdigest() == compute_verifier_digest()
