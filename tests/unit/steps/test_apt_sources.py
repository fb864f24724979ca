"""Sources of somebody else beside ours, and keys that end. Files as the vendors' own guides and packages write them:
docs.docker.com/engine/install, NVIDIA's cuda-keyring and container toolkit, kubernetes.io install-kubeadm."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from gpustack.config import resolution
from gpustack.config.spec import Spec
from gpustack.config.versions import read_version_set
from gpustack.rollout.overlay import build_host_facts
from gpustack.steps.containerd import step as containerd
from gpustack.steps.gpu import driver as gpu_driver
from gpustack.steps.gpu import runtime as gpu_runtime
from gpustack.steps.kubernetes import step as kubernetes
from gpustack.steps.prereqs import step as prereqs
from gpustack.steps.step import Step
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot, judge
from tests.worlds.snapshots.judge import list_failures

SOURCES = "packages.sources"
DOCKER = ("https://download.docker.com/linux/debian", "9DC858229FC7DD38854AE2D88D81803C0EBFCD88")
CUDA = ("https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/",
        "EB693B3035CD5710E231E123A4B469963BF863CC")  # fmt: skip
TOOLKIT = ("https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH)",
           "C95B321B61E88C1809C4F759DDCAE044F796ECB0")  # fmt: skip
KUBERNETES = ("https://pkgs.k8s.io/core:/stable:/v1.36/deb/", "DE15B14486CD377B9E876E1A234654DA9A296436")
OFFICIAL: dict[str, Any] = {"source": "official"}
HOST_STACK = {**OFFICIAL, "gpu": {"stack": "host"}}
STEPS: dict[str, tuple[Step, tuple[str, str], str, str]] = {
    "containerd": (containerd.STEP, DOCKER, "sources.list.d/docker.sources", "bookworm|{key}|yes|stable"),
    "kubernetes": (kubernetes.STEP, KUBERNETES, "sources.list.d/kubernetes.list", "/|{key}|yes|"),
    "nvidia": (gpu_driver.STEP, CUDA, "sources.list.d/cuda-debian12-x86_64.list", "/|{key}|yes|"),
    "toolkit": (gpu_runtime.STEP, TOOLKIT, "sources.list.d/nvidia-container-toolkit.list", "/|{key}|yes|"),
}
CHECKS = {"nvidia": "gpu.repository", "toolkit": "gpu.toolkit-repository"}
NAMES = pytest.mark.parametrize("name", STEPS)


def format_keys(path: str, *fingerprints: str, end: str = "") -> str:
    lines = [
        f"pub:-:4096:1:{fingerprint[24:]}:1487788586:{end}::-:::scSC::::::23::0:\nfpr:::::::::{fingerprint}:"
        for fingerprint in fingerprints
    ]
    return "\n".join([f"key 3000 {path}", *lines])


def build_answers(name: str, *lines: str, ours: bool = False, **ring: Any) -> dict[tuple[str, str], Any]:
    """Build the answers of a host without a file of ours, with `lines` as sources; by default the vendor's own, with
    its key."""
    _, (uri, fingerprint), file, rest = STEPS[name]
    sources = lines or (f"{file}|{uri}|{rest.format(key='/k.gpg')}",)
    rings = ring.get("keyring", format_keys("/k.gpg", fingerprint))
    answer = make_answer(SOURCES, "\n".join(["== sources", *sources, "== keys", rings, "== refused"]) + "\n")
    probe = CHECKS.get(name, "packages.repositories")
    state = "prepared-debian-12" if ours else "fresh-debian-12"
    return {(SOURCES, "h1"): answer, (probe, "h1"): read_case(probe, state)}


def judge_repository(name: str, answers: dict[tuple[str, str], Any]) -> Any:
    spec = HOST_STACK if name in CHECKS else OFFICIAL
    judgement = judge(STEPS[name][0], answers, spec)["repository"]
    assert judgement.outcome != "unknown", judgement.reason
    return judgement.result


@NAMES
def test_the_vendor_s_own_source_with_its_key_stands_for_ours(name: str) -> None:
    answers = build_answers(name)
    assert judge_repository(name, answers) is None
    facts = build_host_facts(build_snapshot(answers, HOST_STACK if name in CHECKS else OFFICIAL), "h1")
    assert facts
    assert facts["sources"] == {name: f"/etc/apt/{STEPS[name][2]}"}


@NAMES
def test_another_key_is_for_the_operator_and_the_file_goes_as_a_whole(name: str) -> None:
    other_key = "F" * 40
    answers = build_answers(name, keyring=format_keys("/k.gpg", other_key))
    judgement = judge_repository(name, answers)
    file = STEPS[name][2]
    assert (judgement.cure, judgement.actual) == ("operator", f"/etc/apt/{file} (key {other_key})")
    assert judgement.hint.startswith(f"mv /etc/apt/{file} /etc/apt/{file}.disabled ")
    facts = build_host_facts(build_snapshot(answers, OFFICIAL), "h1")
    assert facts
    assert facts["sources"] == {}


@pytest.mark.parametrize(
    ("line", "keyring", "reason"),
    [
        ("docker.list|https://download.docker.com/linux/debian|bookworm||yes|stable", "", "key nothing"),
        ("docker.list|https://download.docker.com/linux/debian/|bullseye|/k.gpg|yes|stable", "", "suite bullseye"),
        ("docker.list|https://download.docker.com/linux/debian|bookworm|/k.gpg|yes|test", "", "components test"),
        ("docker.list|http://download.docker.com/linux/debian|bookworm|/k.gpg|yes|stable", "", "http://download."),
        ("docker.list|https://download.docker.com/linux/debian|bookworm|/k.gpg|yes|stable",
         format_keys("/k.gpg", DOCKER[1], "F" * 40), "key 9DC858229FC7DD38854AE2D88D81803C0EBFCD88, FFFF"),
        ("docker.list|https://download.docker.com/linux/debian|bookworm|/k.gpg|yes|stable",
         format_keys("/k.gpg", DOCKER[1], end="1763000001"), "its key expired on 2025-11-13"),
        ("docker.list|https://download.docker.com/linux/debian|bookworm|/gone.gpg|yes|stable", "", "key /gone.gpg"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_stand_for_ours_has_its_reason(line: str, keyring: str, reason: str) -> None:
    options: dict[str, Any] = {"keyring": keyring} if keyring else {}
    judgement = judge_repository("containerd", build_answers("containerd", f"sources.list.d/{line}", **options))
    assert judgement.cure == "operator"
    assert f"/etc/apt/sources.list.d/docker.list ({reason}" in judgement.actual


def test_a_file_that_names_other_places_too_is_not_moved_away() -> None:
    place = "|https://download.docker.com/linux/debian|trixie|/k.gpg|yes|stable"
    rest = "|http://example.org/debian|bookworm|/d.gpg|yes|main"
    judgement = judge_repository(
        "containerd", build_answers("containerd", f"sources.list{place}", f"sources.list{rest}")
    )
    assert judgement.hint.startswith("put # before its line of https://download.docker.com/linux/debian in ")
    two = [f"sources.list.d/all.sources{ending}" for ending in (place, rest)]
    judgement = judge_repository("containerd", build_answers("containerd", *two))
    assert judgement.hint.startswith("add the line `Enabled: no` to its stanza of ")


def test_no_gpg_is_no_key() -> None:
    answers = build_answers("containerd", keyring="key ? /k.gpg")
    assert judge(containerd.STEP, answers, OFFICIAL)["repository"].outcome == "unknown"


def test_ours_goes_where_somebody_brought_the_same() -> None:
    """The package cuda-keyring came after us: two files of one key break apt, as their keyrings have two names."""
    judgement = judge_repository("containerd", build_answers("containerd", ours=True))
    assert (judgement.cure, judgement.actual) == ("install", "two, one of them by gpustack")
    assert "/etc/apt/sources.list.d/docker.sources with the same key" in judgement.expected


def test_a_source_that_is_off_or_of_another_place_is_nothing_to_us() -> None:
    unsigned_line = "sources.list.d/docker.sources|https://download.docker.com/linux/debian|bookworm|/o.gpg|no|stable"
    ubuntu_line = "sources.list.d/u.list|https://download.docker.com/linux/ubuntu|noble|/o.gpg|yes|stable"
    assert judge_repository("containerd", build_answers("containerd", unsigned_line, ubuntu_line)).actual == "nothing"


PREPARED_TIMES = "1795283488:2110643488"
RING = "/etc/apt/keyrings/gpustack-kubernetes.gpg"


def set_end(end: str) -> dict[tuple[str, str], Any]:
    return place_answers("h1", read_case(SOURCES, "prepared-debian-12", (PREPARED_TIMES, f"1795283488:{end}")))


def test_a_key_that_has_ended_is_fetched_again() -> None:
    """Recorded on 2026-11-21; 1795000000 is 2026-11-18."""
    failure = list_failures(judge(kubernetes.STEP, set_end("1795000000")))["repository"]
    assert failure == ("B02F2293F7B78A3111583174AF233E29F632E03B, expired on 2026-11-18", "install")
    assert list_failures(judge(kubernetes.STEP, set_end("1796000000"))) == {}


@pytest.mark.parametrize(
    ("end", "served_end", "expected"),
    [("1798502400", "2028-12-29", ("valid until 2026-12-29", "install")), ("1798502400", "2026-12-29", None)],
    ids=["known to be prolonged", "not known"],
)
def test_a_key_that_ends_soon_is_renewed_once_it_is_known_to_be_prolonged(
    end: str, served_end: str, expected: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = read_version_set("2026-11")
    apt = {**versions.apt, "kubernetes": replace(versions.apt["kubernetes"], expires=date.fromisoformat(served_end))}
    monkeypatch.setattr(resolution, "read_version_set", lambda name: replace(versions, apt=apt))
    file = read_case("packages.repositories", "prepared-debian-12")
    text = file.stdout.replace("http://10.77.1.1:8480/", "https://").replace(
        "B02F2293F7B78A3111583174AF233E29F632E03B", KUBERNETES[1]
    )
    changed_answers = {**set_end(end), ("packages.repositories", "h1"): make_answer("packages.repositories", text)}
    assert list_failures(judge(kubernetes.STEP, changed_answers, OFFICIAL)).get("repository") == expected
    older = Spec.model_validate({"kubernetes": {"version": "1.35.2"}})
    assert (resolution.find_key_expiry(Spec(), "kubernetes"), resolution.find_key_expiry(older, "kubernetes")) == (
        date.fromisoformat(served_end), None,
    )  # fmt: skip


def test_half_a_source_is_refused_before_anything_is_changed() -> None:
    words = "E: Malformed entry 1 in list file /etc/apt/sources.list.d/half.list (Suite)"
    edit = ("== refused\n", f"== refused\n{words}\nE: The list of sources could not be read.\n")
    answers = place_answers("h1", read_case(SOURCES, "prepared-debian-12", edit))
    result = judge(prereqs.STEP, answers)["package-sources"].result
    assert result
    assert (result.cure, result.hint) == ("operator", "gpustack explain apt-sources-refused")
    assert words in result.actual
    refusal = "E: Conflicting values set for option Signed-By regarding source x: /k.gpg != " + RING
    answers = place_answers(
        "h1", read_case(SOURCES, "prepared-debian-12", ("== refused\n", f"== refused\n{refusal}\n"))
    )
    assert "package-sources" not in list_failures(judge(prereqs.STEP, answers))


def test_a_source_of_gpustack_that_somebody_broke_is_written_again() -> None:
    """The words are those of apt 2.6.2 for a stanza without Types."""
    words = "E: Malformed stanza 1 in source list /etc/apt/sources.list.d/gpustack-containerd.sources (type)"
    edit = ("== refused\n", f"== refused\n{words}\nE: The list of sources could not be read.\n")
    answers = place_answers("h1", read_case(SOURCES, "prepared-debian-12", edit))
    assert "package-sources" not in list_failures(judge(prereqs.STEP, answers))
    assert list_failures(judge(containerd.STEP, answers))["repository"] == (words, "install")
    assert "repository" not in list_failures(judge(kubernetes.STEP, answers))
