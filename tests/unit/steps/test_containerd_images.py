"""Checks of step containerd on the list of images, who compares with it, and what is on the host already."""

from typing import Any

import pytest

from gpustack.config.spec import Spec
from gpustack.steps.containerd.images import compute_digest, compute_verifier_digest, render_pinned_images
from gpustack.steps.containerd.step import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import SPEC, judge
from tests.worlds.snapshots.judge import list_failures

IMAGES, SERVED_SUMS = "containerd.images", "mirror.checksums"
OTHER_DIGEST = "f" * 64


def judge_images(images: str, spec: dict[str, Any] | None = None, list_case: str = "prepared-debian-12") -> Any:
    answers = place_answers("h1", read_case(IMAGES, images), read_case(SERVED_SUMS, list_case))
    return list_failures(judge(STEP, answers, spec))


def test_a_host_of_an_earlier_release_gets_the_list_and_who_compares_with_it() -> None:
    assert judge_images("before") == {"image-list": ("none", "install"), "image-verifier": ("none", "install")}


def test_an_outdated_image_list_is_for_install() -> None:
    answers = place_answers("h1", read_case(SERVED_SUMS, "prepared-debian-12", ("5f0c", "0f0c")))
    assert list_failures(judge(STEP, answers)) == {"image-list": ("different", "install")}


@pytest.mark.parametrize("list_case", ["no-answer", "older-release", "no-list"])
def test_without_word_of_the_mirror_the_list_that_is_there_counts(list_case: str) -> None:
    assert judge_images("prepared-debian-12", list_case=list_case) == {}
    assert judge_images("before", list_case=list_case)["image-list"] == ("none", "install")


def test_from_the_publishers_the_list_is_that_of_the_version_set() -> None:
    official = {"source": "official"}
    assert judge_images("prepared-debian-12", official)["image-list"] == ("different", "install")
    pins = compute_digest(render_pinned_images(Spec.model_validate(official)))
    listed_images = make_answer(IMAGES, f"list {pins}\nverifier {compute_verifier_digest()} 755 root\n")
    assert (
        not {"image-list", "image-verifier"}
        & list_failures(judge(STEP, {(IMAGES, "h1"): listed_images}, official)).keys()
    )
    assert "registry.k8s.io/pause:3.10.2 sha256:f548e0e8" in render_pinned_images(Spec())
    assert "unpinned" not in render_pinned_images(Spec())


@pytest.mark.parametrize(
    "verifier",
    [f"{OTHER_DIGEST} 755 root", f"{compute_verifier_digest()} 600 root", f"{compute_verifier_digest()} 755 ops"],
)
def test_another_verifier_in_the_place_of_ours_is_for_install(verifier: str) -> None:
    answer = read_case(IMAGES, "prepared-debian-12", (f"{compute_verifier_digest()} 755 root", verifier))
    mode = verifier.split(" ", 1)[1]
    assert list_failures(judge(STEP, {(IMAGES, "h1"): answer})) == {"image-verifier": (f"different, {mode}", "install")}


def test_images_with_another_digest_are_for_install() -> None:
    actual = "with a different digest: ghcr.io/flannel-io/flannel:v0.28.9, registry.k8s.io/kube-proxy:v1.36.4"
    assert judge_images("other-digest") == {"images-as-listed": (actual, "install")}


def test_images_are_taken_by_tag_where_the_spec_says_so() -> None:
    disabled_spec = {"containerd": SPEC["containerd"] | {"verify_images": False}}
    assert judge_images("other-digest", disabled_spec) == {
        "image-list": ("present", "install"),
        "image-verifier": ("present", "install"),
    }
    assert judge_images("before", disabled_spec) == {}


def test_what_cannot_be_read_is_unknown() -> None:
    judgements = judge(STEP, place_answers("h1", read_case(IMAGES, "unreadable")))
    checks = ("image-list", "image-verifier", "pulls-verified", "images-as-listed")
    assert {judgements[check].outcome for check in checks} == {"unknown"}


@pytest.mark.parametrize(
    ("case", "actual"),
    [
        ("tuned", "max_concurrent_downloads = 10, registry.mirrors, configs or auths"),
        ("containerd-2.0", "use_local_image_pull = (unknown option)"),
        ("containerd-2.0", "bin_dir = /srv/verifiers"),
    ],
)
def test_a_containerd_that_asks_no_verifier_is_for_the_operator(case: str, actual: str) -> None:
    text, cure = list_failures(judge(STEP, place_answers("h1", read_case(IMAGES, case))))["pulls-verified"]
    assert actual in text
    assert cure == "operator"
    assert "pulls-verified" not in list_failures(
        judge(STEP, place_answers("h1", read_case(IMAGES, case)), {"containerd": {"verify_images": False}})
    )
