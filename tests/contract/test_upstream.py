"""scripts/upstream against vendors that serve what is pinned, and against each kind that does not."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.vendors import Keyring, Server, Vendors, build_url, index, offer_packages, sign_old, strip_scheme

ROOT = Path(__file__).parents[2]
SCRIPT, LIST = ROOT / "scripts" / "upstream", ROOT / "scripts" / "upstream.list"
LINES = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
FILE, KEY, ZEROS = "https://get.example/a.tgz", "https://key.example/Release.key", "0" * 40
INDEX = "https://apt.example/deb/"
IMAGE = "docker.io/library/busybox:stable"
MANIFEST = b'{"manifests": []}'
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyring]:
    keyring = Keyring(tmp_path_factory.mktemp("keys") / "home")
    yield keyring
    subprocess.run(["gpgconf", "--homedir", str(keyring.home), "--kill", "all"], check=False, timeout=20)


@pytest.fixture(scope="module")
def keys(ring: Keyring) -> dict[str, str]:
    return {
        "good": ring.make("good"),
        "ending": ring.make("ending", "30d"),
        "ended": ring.make("ended", "10d", "--faked-system-time", "20200101T000000"),
        "weak": ring.make("weak", "never", "--cert-digest-algo", "SHA1", kind="rsa2048"),
    }


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    vendors = Vendors()
    server = Server(vendors)
    vendors.status["port"] = server.server_port
    yield vendors
    server.shutdown()
    server.server_close()


def check_vendors(
    vendors: Vendors, *lines: str, folder: Path, limit: str = "20"
) -> tuple[int, list[tuple[str, str]], str]:
    """Exit status, (verdict, text) of each line, the last line."""
    path = folder / "upstream.list"
    path.write_text("".join(f"{line}\n" for line in lines))
    env = {"PATH": os.environ["PATH"], "UPSTREAM_LIMIT": limit, "TMPDIR": str(folder)}
    env["UPSTREAM_AT"] = f"http://127.0.0.1:{vendors.status['port']}"
    process = subprocess.run([SCRIPT, path], capture_output=True, text=True, env=env, timeout=120, check=False)
    assert process.stderr == ""
    assert [path.name for path in folder.iterdir()] == ["upstream.list"]
    *rows, last = process.stdout.splitlines()
    return process.returncode, [(line[:25].strip(), line[26:]) for line in rows], last


def test_the_list_has_a_line_of_each_kind() -> None:
    """test_rules.py holds that the list is made from the version set, with the other generated files."""
    assert {line.split()[0] for line in LINES} >= {"file", "key", "signature", "deb"}


def test_pinned_data_that_vendors_serve_is_good(
    vendors: Vendors, ring: Keyring, keys: dict[str, str], tmp_path: Path
) -> None:
    """The vendors serve every line of the list with these checksums and fingerprints."""
    lines: list[str] = []
    packages: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for line in LINES:
        kind, *words = line.split()
        if kind == "file":
            vendors.files[strip_scheme(words[1])] = words[1].encode()
            words[0] = hashlib.sha256(words[1].encode()).hexdigest()
        elif kind == "key":
            vendors.files[strip_scheme(words[2])] = ring.export_key("good")
            words[0] = keys["good"]
        elif kind == "signature":
            vendors.files[strip_scheme(words[0])] = ring.sign_clear("good")
        elif kind == "image":
            vendors.manifests[build_url(words[0])], words[1] = MANIFEST, DIGEST
        else:
            version = words[1].replace("-*", "-1.1").replace(".*", ".6-1~ubuntu.24.04~noble")
            packages.setdefault((words[3], words[4]), []).append((words[0], version, words[2]))
        lines.append(" ".join((kind, *words)))
    for (base, place), listed_packages in packages.items():
        offer_packages(vendors, base, place, *listed_packages)
    status, rows, last = check_vendors(vendors, *lines, folder=tmp_path)
    assert {verdict for verdict, _ in rows} == {"as pinned"}
    assert (status, len(rows)) == (0, len(LINES))
    assert last == f"{len(LINES)} good, 0 differ or are gone, 0 without an answer"
    assert any(
        text.endswith("dists/noble/stable/binary-amd64/Packages: 2.3.6-1~ubuntu.24.04~noble") for _, text in rows
    )
    package_places = [place for place in vendors.requests if place.endswith(("Packages", ".tgz", ".tar.gz"))]
    assert len(package_places) == len(set(package_places))


def test_data_that_vendors_lack_is_gone(vendors: Vendors, tmp_path: Path) -> None:
    status, rows, last = check_vendors(vendors, *LINES, folder=tmp_path)
    assert status == 1
    assert {verdict for verdict, _ in rows} == {"gone"}
    assert last == f"0 good, {len(LINES)} differ or are gone, 0 without an answer"


@pytest.mark.parametrize(
    ("content", "status", "verdict", "text"),
    [
        (b"a", 0, "as pinned", FILE),
        (b"b", 1, "differs", f"{FILE}: expected SHA-256 {hashlib.sha256(b'a').hexdigest()}, actual 3e23e8160039594a"),
        (404, 1, "gone", f"{FILE}: HTTP 404"),
        (403, 1, "gone", f"{FILE}: HTTP 403"),
        (503, 2, "no answer", f"{FILE}: HTTP 503"),
        (None, 2, "no answer", f"{FILE}: curl: (28) "),
    ],
)
def test_a_file_is_compared_with_its_checksum(
    vendors: Vendors, tmp_path: Path, content: bytes | int | None, status: int, verdict: str, text: str
) -> None:
    if isinstance(content, bytes):
        vendors.files[strip_scheme(FILE)] = content
    elif content:
        vendors.status[strip_scheme(FILE)] = content
    else:
        vendors.silent.add(strip_scheme(FILE))
    line = f"file {hashlib.sha256(b'a').hexdigest()} {FILE}"
    outcome = check_vendors(vendors, line, folder=tmp_path, limit="1" if content is None else "20")
    assert (outcome[0], [outcome[1][0][0]], len(outcome[1])) == (status, [verdict], 1)
    assert outcome[1][0][1].startswith(text)


def test_something_wrong_outweighs_something_unknown(vendors: Vendors, tmp_path: Path) -> None:
    vendors.status[strip_scheme(FILE)] = 500
    status, rows, last = check_vendors(vendors, f"file {'a' * 64} {FILE}", f"file {'a' * 64} {FILE}x", folder=tmp_path)
    assert (status, [verdict for verdict, _ in rows]) == (1, ["no answer", "gone"])
    assert last == "0 good, 1 differ or are gone, 1 without an answer"


def test_a_server_that_is_not_reached_is_tried_once(
    vendors: Vendors, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check stops after two tries, since on a machine without internet each of a hundred lines would wait."""
    programs = tmp_path_factory.mktemp("programs")
    output = "curl: (6) Could not resolve host: get.example"
    (programs / "curl").write_text(f"#!/bin/sh\necho x >>{programs}/tried\necho '{output}' >&2\nprintf 000\nexit 6\n")
    (programs / "curl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    lines = [f"file {'a' * 64} {FILE}{number}" for number in range(3)]
    status, rows, last = check_vendors(vendors, *lines, f"image {IMAGE} unpinned", folder=tmp_path)
    assert (status, [verdict for verdict, _ in rows]) == (2, ["no answer"] * 4)
    assert all(text.endswith(output) for _, text in rows)
    assert (programs / "tried").read_text() == "x\n" * 2
    assert "4 without an answer; nobody answered" in last


@pytest.mark.parametrize(
    ("names", "key_name", "systems", "status", "verdict", "text"),
    [
        (["good"], "good", "sqv", 0, "as pinned", KEY),
        (["ending"], "ending", "sqv", 0, "key expires on {ends}", KEY),
        (["ended"], "ended", "-", 1, "differs", f"{KEY}: the key {{ended}} has ended: expired 2020-01-11"),
        (["good"], "ending", "-", 1, "differs", f"{KEY}: expected the key {{ending}} and no other, actual {{good}}"),
        (
            ["good", "weak"],
            "good",
            "-",
            1,
            "differs",
            f"{KEY}: expected the key {{good}} and no other, actual {{good}} ",
        ),
        (["weak"], "weak", "-", 0, "as pinned", KEY),
        (["weak"], "weak", "sqv", 1, "differs", f"{KEY}: the key {{weak}} is bound by SHA-1 alone, which Debian 13"),
        ([], "good", "-", 1, "differs", f"{KEY}: expected the key {{good}} and no other, actual none"),
    ],
)
def test_a_key_is_compared_with_its_fingerprint(
    vendors: Vendors, ring: Keyring, keys: dict[str, str], tmp_path: Path, names: list[str], key_name: str,
    systems: str, status: int, verdict: str, text: str,
) -> None:  # fmt: skip
    vendors.files[strip_scheme(KEY)] = ring.export_key(*names) if names else b"<html>moved</html>"
    outcome = check_vendors(vendors, f"key {keys[key_name]} {systems} {KEY}", folder=tmp_path)
    ends = ring.run_gpg("--list-keys", "ending").decode().partition("[expires: ")[2][:10]
    assert (outcome[0], [verdict_of_row for verdict_of_row, _ in outcome[1]]) == (status, [verdict.format(ends=ends)])
    assert outcome[1][0][1].startswith(text.format(**keys))


def test_a_signature_of_version_3_differs(
    vendors: Vendors, ring: Keyring, keys: dict[str, str], tmp_path: Path
) -> None:
    assert keys
    places = [f"https://apt.example/{name}/InRelease" for name in ("new", "old", "none")]
    for place, text in zip(places, (ring.sign_clear("good"), sign_old(), b"Origin: x\n"), strict=True):
        vendors.files[strip_scheme(place)] = text
    status, rows, _ = check_vendors(vendors, *(f"signature {place}" for place in places), folder=tmp_path)
    assert status == 1
    assert rows == [
        ("as pinned", places[0]),
        ("differs", f"{places[1]}: a signature of version 3, which Debian 13 and Ubuntu 26.04 refuse"),
        ("differs", f"{places[2]}: no signature in it"),
    ]


OFFERED_VERSIONS = [
    ("kubeadm", "1.36.5-1.1", "amd64"), ("kubeadm", "1.36.4-1.1", "amd64"), ("kubeadm", "1.36.4-2.1", "arm64"),
    ("containerd.io", "2.3.10-1~x", "amd64"), ("containerd.io", "2.3.9-1~x", "amd64"),
    ("docker-ce", "5:29.8.2-1~x", "amd64"), ("containerd.io", "2.4.0-1~x", "amd64"), ("docs", "1-1", "all"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "words", "status", "verdict", "text"),
    [
        ("deb", "kubeadm 1.36.4-* amd64", 0, "as pinned", "1.36.4-1.1"),
        ("deb", "kubeadm 1.36.4-* arm64", 0, "as pinned", "1.36.4-2.1"),
        ("deb", "containerd.io 2.3.* amd64", 0, "as pinned", "2.3.10-1~x"),
        ("deb", "docker-ce 29.* amd64", 0, "as pinned", "5:29.8.2-1~x"),
        ("deb", "docs 1-* arm64", 0, "as pinned", "1-1"),
        ("deb", "kubeadm 1.36.6-* amd64", 1, "differs", "not there; newest is 1.36.5-1.1"),
        ("deb", "kubeadm 1.36.5-* arm64", 1, "differs", "not there; newest is 1.36.4-2.1"),
        ("deb", "kube 1-* amd64", 1, "differs", "not there"),
        ("deb-asked", "kube 1-* amd64", 0, "not offered", "not there"),
        ("deb-asked", "docs 1-* amd64", 0, "as pinned", "1-1"),
    ],
)
def test_a_package_is_looked_up_in_the_index(
    vendors: Vendors, tmp_path: Path, kind: str, words: str, status: int, verdict: str, text: str
) -> None:
    offer_packages(vendors, INDEX, "Packages", *OFFERED_VERSIONS)
    outcome = check_vendors(vendors, f"{kind} {words} {INDEX} Packages", folder=tmp_path)
    assert outcome[:2] == (status, [(verdict, f"{words} in {INDEX}Packages: {text}")])


def test_a_package_that_only_the_index_has_is_gone(vendors: Vendors, tmp_path: Path) -> None:
    vendors.files[strip_scheme(f"{INDEX}Packages")] = index(("containerd.io", "2.2.1-1~x", "amd64"))
    status, rows, _ = check_vendors(vendors, f"deb containerd.io 2.2.* amd64 {INDEX} Packages", folder=tmp_path)
    missing = f"the index names 2.2.1-1~x, {INDEX}amd64/containerd.io_2.2.1-1~x.deb: HTTP 404"
    assert (status, rows) == (1, [("gone", f"containerd.io 2.2.* amd64 in {INDEX}Packages: {missing}")])


@pytest.mark.parametrize("kind", ["deb", "deb-asked"])
@pytest.mark.parametrize("content", [b"", b"<html>Sign in to the proxy</html>"])
def test_a_page_is_no_index(vendors: Vendors, tmp_path: Path, content: bytes, kind: str) -> None:
    vendors.files[strip_scheme(f"{INDEX}Packages")] = content
    outcome = check_vendors(vendors, f"{kind} kube 1-* amd64 {INDEX} Packages", folder=tmp_path)
    assert outcome[:2] == (1, [("differs", f"kube 1-* amd64 in {INDEX}Packages: no index of packages")])


@pytest.mark.parametrize(
    ("content", "digest", "status", "verdict", "text"),
    [
        (MANIFEST, DIGEST, 0, "as pinned", IMAGE),
        (MANIFEST, "unpinned", 0, "unpinned", f"{IMAGE}: {DIGEST}"),
        (MANIFEST, f"sha256:{ZEROS}", 1, "differs", f"{IMAGE}: expected sha256:{ZEROS}, actual {DIGEST}"),
        (None, DIGEST, 1, "gone", f"{IMAGE}: HTTP 404"),
    ],
)
def test_an_image_is_compared_with_its_digest(
    vendors: Vendors, tmp_path: Path, content: bytes | None, digest: str, status: int, verdict: str, text: str
) -> None:
    if content:
        vendors.manifests[build_url(IMAGE)] = content
    assert check_vendors(vendors, f"image {IMAGE} {digest}", folder=tmp_path)[:2] == (status, [(verdict, text)])


def test_a_registry_that_gives_no_token_is_no_answer(vendors: Vendors, tmp_path: Path) -> None:
    vendors.manifests[build_url(IMAGE)] = MANIFEST
    vendors.status["auth.registry-1.docker.io/token"] = 500
    outcome = check_vendors(vendors, f"image {IMAGE} {DIGEST}", folder=tmp_path)
    assert outcome[:2] == (2, [("no answer", f"{IMAGE}: HTTP 500")])


@pytest.mark.parametrize(
    ("text", "status", "last"),
    [
        ("picture a b\n", 2, "unknown line: picture"), ("# nothing\n\n", 2, "nothing to ask for"), (None, 2, ""),
        (f"file {'a' * 64} {FILE}", 1, "0 good, 1 differ or are gone, 0 without an answer"),
    ],
)  # fmt: skip
def test_an_unknown_line_of_the_list_is_refused(
    vendors: Vendors, tmp_path: Path, text: str | None, status: int, last: str
) -> None:
    """Nothing known is no success; a last line without an end is one."""
    path = tmp_path / "upstream.list"
    if text:
        path.write_text(text)
    env = {"PATH": os.environ["PATH"], "UPSTREAM_AT": f"http://127.0.0.1:{vendors.status['port']}"}
    process = subprocess.run([SCRIPT, path], capture_output=True, text=True, env=env, timeout=20, check=False)
    assert process.returncode == status
    assert (process.stdout + process.stderr).rstrip("\n").endswith(last)
