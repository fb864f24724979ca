"""Locks, sources and keys keep apt from its work."""

import pytest

from tests.unit.doctor.checks.evaluation import evaluate, judge_host, summarize
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

CLEAN = "== locks\n== updates\n0\n== unfinished\n"
HELD_LOCK = CLEAN.replace("== updates", "/var/lib/dpkg/lock-frontend 812 40 unattended-upgr\n== updates")


@pytest.mark.parametrize(
    ("output", "lock", "interruption"),
    [
        (CLEAN, "ok", "ok"),
        (HELD_LOCK, "failed", "ok"),
        (CLEAN.replace("updates\n0", "updates\n1"), "ok", "failed"),
        (CLEAN + "iF |curl\n", "ok", "failed"),
        ("== none\n", "ok", "ok"),
        ("locks\n", "unknown", "unknown"),
    ],
)
def test_a_lock_and_interrupted_work_fail(output: str, lock: str, interruption: str) -> None:
    answers = {"packages.dpkg": make_answer("packages.dpkg", output)}
    assert judge_host("host-apt-lock", answers).outcome == lock
    assert judge_host("host-dpkg-interrupted", answers).outcome == interruption


@pytest.mark.parametrize(
    ("errors", "end"),
    [("pahole", "nvidia-drm.ko] Error 126"), ("usual", "linux-image-6.12.96+deb13-amd64, linux-image-amd64")],
)
def test_a_package_whose_script_fails_was_not_interrupted(errors: str, end: str) -> None:
    """NVIDIA/open-gpu-kernel-modules#1258: what configures the packages again fails again."""
    answers = {"packages.dpkg": read_case("packages.dpkg", "half-configured")}
    answers["packages.build-errors"] = read_case("packages.build-errors", errors)
    result = judge_host("host-dpkg-interrupted", answers).result
    assert result
    assert (result.certain, bool(result.person)) == (False, True)
    assert result.actual.endswith(end)


@pytest.mark.parametrize(
    "output",
    [CLEAN.replace("updates\n0", "updates\n1") + "iF |curl\n", CLEAN + "iU |wget\niF |curl\n", CLEAN + "iHR|curl\n"],
)
def test_an_interrupted_run_is_certain(output: str) -> None:
    result = judge_host("host-dpkg-interrupted", {"packages.dpkg": make_answer("packages.dpkg", output)}).result
    assert result
    assert (result.certain, bool(result.person)) == (True, False)


def test_who_holds_the_lock_is_named() -> None:
    summary = summarize(judge_host("host-apt-lock", {"packages.dpkg": make_answer("packages.dpkg", HELD_LOCK)}))
    assert summary[1] == "held: /var/lib/dpkg/lock-frontend by unattended-upgr (812) for 40 s"


KEY = "DA41ECC667A818B1D7357565BE7AA98313B729F0"
OWN_KEYRING = "/etc/apt/keyrings/gpustack-kubernetes.gpg"
SPEC = {"source": {"mirror": "http://10.77.2.1:8480", "fingerprint": KEY}}


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (("", ""), ""),
        ((f"key 229 {OWN_KEYRING}\n", f"key 0 {OWN_KEYRING}\nkey 1 /x\n"), f"{OWN_KEYRING} has no key"),
        ((f"key 229 {OWN_KEYRING}\n", f"key - {OWN_KEYRING}\nkey 1 /x\n"), f"{OWN_KEYRING} is missing"),
        (("1795283488:2110643488", "1795283488:1795283489"), ""),
        (("== keys", "sources.list|http://example.org/debian|bookworm||yes\n== keys"), "has different keys"),
        (("== keys", "sources.list|https://apt.kubernetes.io|kubernetes-xenial||yes\n== keys"), "no longer exists"),
        (("== keys", "sources.list|https://apt.kubernetes.io|kubernetes-xenial||no\n== keys"), ""),
    ],
)
def test_sources_that_apt_does_not_trust_fail(edit: tuple[str, str], text: str) -> None:
    answers = place_answers("h1", read_case("packages.sources", "debian-12", edit))
    summary = summarize(evaluate("host-apt-repo-key", hosts.build_snapshot(answers, SPEC)))
    assert summary[0] == ("failed" if text else "ok")
    assert text in summary[1]


def test_an_ended_key_and_another_key_fail() -> None:
    expired_key = read_case("packages.sources", "debian-12", ("1795283488:2110643488", "1763000000:1763000001"))
    summary = summarize(
        evaluate("host-apt-repo-key", hosts.build_snapshot({("packages.sources", "h1"): expired_key}, SPEC))
    )
    assert summary[0] == "failed"
    assert f"{OWN_KEYRING} expired on 2025-11-13" in summary[1]
    other_key = read_case("packages.sources", "debian-12", (KEY, KEY[::-1]))
    summary = summarize(
        evaluate("host-apt-repo-key", hosts.build_snapshot({("packages.sources", "h1"): other_key}, SPEC))
    )
    assert f"{OWN_KEYRING} is not the key {KEY}" in summary[1]
