"""Proxy and logins: which files there have to be, who may read them, and that no secret leaves this machine."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.egress import (
    APT,
    APT_LOGIN,
    ENVIRONMENT,
    MIRROR_LOGIN,
    UNITS,
    build_digests,
    list_host_files,
    list_no_proxy,
)
from gpustack.ask.redact.redact import redact
from gpustack.ask.variables import build_probe_variables
from gpustack.rollout.resolved_spec import resolve_spec
from tests.unit.config.specs import build_inventory, list_complaint_ids, list_complaints

PASSWORD = 's3cret/with:odd#chars%$"x'
MIRROR = {"mirror": "https://10.0.0.5:8480", "fingerprint": "A" * 40}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n")
    path.chmod(0o600)
    return str(path)


def test_without_a_proxy_and_a_login_there_is_nothing() -> None:
    assert list_host_files(build_inventory()) == list_host_files(build_inventory(source=MIRROR)) == {}


def test_a_proxy_without_a_login_needs_no_password_file() -> None:
    host_files = list_host_files(
        build_inventory(proxy={"http": "http://p:3128", "no_proxy": ["a.b", ".c", "10.0.0.0/8"]})
    )
    assert sorted(host_files) == sorted([APT, ENVIRONMENT, *UNITS.values()])
    assert host_files[APT].text.splitlines()[1:] == [
        'Acquire::http::Proxy "http://p:3128";',
        'Acquire::https::Proxy "http://p:3128";',
        'Acquire::http::Proxy::a.b "DIRECT";',
        'Acquire::https::Proxy::a.b "DIRECT";',
    ]
    assert "HTTPS_PROXY=http://p:3128\n" in host_files[ENVIRONMENT].text
    assert not any(host_file.password_file for host_file in host_files.values())


def test_the_cluster_itself_is_never_asked_through_the_proxy() -> None:
    spec = {"proxy": {"https": "http://p:1", "no_proxy": ["x"]}, "kubernetes": {"endpoint": "kube.example.com:6443"}}
    assert list_no_proxy(build_inventory(**spec)) == [
        "x", "localhost", "127.0.0.1", "kube.example.com", "10.9.9.1", "192.0.2.2", ".svc", ".cluster.local",
        "10.244.0.0/16", "10.96.0.0/12",
    ]  # fmt: skip


def test_files_with_a_login_are_for_root_alone(file: str) -> None:
    login = {"user": "kube", "password_file": file}
    host_files = list_host_files(build_inventory(proxy={"http": "http://p:3128", **login}, source={**MIRROR, **login}))
    assert {path for path, host_file in host_files.items() if host_file.password_file} == {
        APT_LOGIN,
        ENVIRONMENT,
        MIRROR_LOGIN,
    }
    assert {host_file.mode for host_file in host_files.values() if host_file.password_file} == {"0600"}


def test_what_roles_get_and_probes_read_has_no_secret(file: str) -> None:
    login = {"user": "kube", "password_file": file}
    inventory = build_inventory(proxy={"http": "http://p:3128", **login}, source={**MIRROR, **login})
    texts = [
        yaml.safe_dump(resolve_spec(inventory, "e:1", {})),
        yaml.safe_dump(build_probe_variables(inventory, inventory.hosts[0])),
        repr(list_host_files(inventory)),
    ]
    assert [text for text in texts if PASSWORD in text or "s3cret" in text] == []
    assert file in texts[0]


def test_no_two_askings_have_the_same_hashes(file: str) -> None:
    inventory = build_inventory(proxy={"http": "http://p:3128", "user": "kube", "password_file": file})
    first_digests, second_digests = (build_digests(inventory, inventory.hosts[0]) for _ in range(2))
    assert {value for value in first_digests.values() if value}.isdisjoint(
        second_digests.values()
    )  # empty: there is no such secret


@pytest.mark.parametrize(
    ("proxy", "key", "actual"),
    [
        ({}, "proxy", "neither http nor https"),
        ({"http": "http://p:1", "user": "me"}, "proxy", "user without password_file"),
        ({"http": "http://me:secret@p:1"}, "proxy.http", "me:secret"),
        ({"http": "http://p:1", "no_proxy": ["a b"]}, "proxy.no_proxy.0", "'a b'"),
        ({"http": "http://p:1", "password": "x"}, "proxy.password", "does not exist"),
    ],
)
def test_mistakes_in_a_proxy_are_reported(proxy: Any, key: str, actual: str) -> None:
    (complaint,) = list_complaints({"proxy": proxy})
    assert complaint.key == f"gpustack.{key}"
    assert actual in complaint.actual


@pytest.mark.parametrize(
    ("content", "mode", "actual"),
    [
        (b"", 0o600, "an empty file"),
        (b" \n", 0o600, "an empty file"),
        (b"two words\n", 0o600, "more than one word"),
        (b"one\ntwo\n", 0o600, "more than one word"),
        ("gehéim".encode(), 0o600, "not plain text"),
        (b"right\n", 0o644, "mode 0644, which others can read"),
        (b"right\n", 0o640, "mode 0640"),
    ],
)
def test_unfit_password_files_are_refused(tmp_path: Path, content: bytes, mode: int, actual: str) -> None:
    path = tmp_path / "password"
    path.write_bytes(content)
    path.chmod(mode)
    (complaint,) = list_complaints({"source": {**MIRROR, "user": "me", "password_file": str(path)}})
    assert (complaint.key, complaint.reference) == ("gpustack.source.password_file", "config-secret-file")
    assert actual in complaint.actual
    assert "right" not in str(complaint)


@pytest.mark.timeout(20)
def test_a_password_file_that_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    """A device could be read for ever, as could a pipe."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (str(tmp_path / "pipe"), "/dev/null"):
        (complaint,) = list_complaints({"source": {**MIRROR, "user": "me", "password_file": path}})
        assert (complaint.key, complaint.reference) == ("gpustack.source.password_file", "config-secret-file")
        assert "no plain file" in complaint.actual


@pytest.mark.parametrize("source", [{"user": "me"}, {"password_file": "FILE"}, {"user": "me", "password_file": "FILE"}])
def test_a_login_for_a_mirror_without_tls_is_refused(file: str, source: dict[str, str]) -> None:
    """apt, curl and containerd would send it in clear."""
    plain = {**MIRROR, "mirror": "http://10.0.0.5:8480"}
    login = {key: file if value == "FILE" else value for key, value in source.items()}
    complaint = {mistake.reference: mistake for mistake in list_complaints({"source": {**plain, **login}})}[
        "config-login-in-clear"
    ]
    assert (complaint.file, complaint.key) == ("nowhere/site/group_vars/all/gpustack.yml", "gpustack.source.mirror")
    assert "http://10.0.0.5:8480" in complaint.actual
    assert "https://" in complaint.rule
    assert list_complaint_ids({"source": plain}) == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_login_in_the_address_of_a_mirror_is_refused(scheme: str) -> None:
    """The login would stand in files that everybody on a host may read, and in arguments of programs."""
    (complaint,) = list_complaints({"source": {**MIRROR, "mirror": f"{scheme}://me:right@10.0.0.5:8480"}})
    assert complaint.key == "gpustack.source.mirror"
    assert "right" not in redact(str(complaint))


@pytest.mark.parametrize("path", ["relative/file", "/nowhere/password", "/etc"])
def test_missing_password_files_are_refused(path: str) -> None:
    assert list_complaint_ids({"proxy": {"http": "http://p:1", "user": "me", "password_file": path}}) == [
        ("gpustack.proxy.password_file", "config-secret-file")
    ]
