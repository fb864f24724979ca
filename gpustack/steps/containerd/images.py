"""Checks of step containerd: a listed image is pulled only with its digest.

A host has the list, and a program that containerd asks before it pulls an image.
"""

import hashlib
from functools import cache

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.images import render_image_list
from gpustack.config.resolution import resolve_mirror
from gpustack.config.resources import locate_playbooks
from gpustack.config.sections.sources import Mirror
from gpustack.config.spec import Spec
from gpustack.config.versions import read_version_set
from gpustack.probes.containerd.images import IMAGES, LIST, VERIFIER, VERIFIERS
from gpustack.probes.containerd.mirror import MIRROR_STATE

PAGE = "images-unverified"
OPT_OUT = "containerd.verify_images is false"
# With any other value containerd pulls past its transfer service, which alone asks verifiers
# (internal/cri/config/config.go of containerd 2.3, CheckLocalImagePullConfigs).
SETTINGS = {
    "use_local_image_pull": "false",
    "discard_unpacked_layers": "false",
    "max_concurrent_downloads": "3",
    "image_pull_with_sync_fs": "false",
    "disable_snapshot_annotations": "true",
}


def render_pinned_images(spec: Spec) -> str:
    """Render the list of what the version set pins. It is empty with a mirror, which signs a list of its own."""
    return "" if isinstance(spec.source, Mirror) else render_image_list(read_version_set(spec.versions).images)


def compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def compute_verifier_digest() -> str:
    """Compute the SHA-256 of the program as the role installs it."""
    return compute_digest(
        (locate_playbooks() / "roles" / "containerd" / "files" / "image-verifier.sh").read_text(encoding="utf-8")
    )


def image_list(view: View) -> Result | None:
    """The host has the list of images and digests: the one that the mirror signs, or that of the version set."""
    image_list_digest = view[IMAGES].list
    if not view.spec.containerd.verify_images:
        return Result(LIST, f"none: {OPT_OUT}", "present") if image_list_digest else None
    expected_digest = (
        view[MIRROR_STATE].images if resolve_mirror(view.spec) else compute_digest(render_pinned_images(view.spec))
    )
    if image_list_digest and expected_digest in ("", image_list_digest):
        return None
    return Result(LIST, "that of the mirror or the version set", "different" if image_list_digest else "none")


def image_verifier(view: View) -> Result | None:
    """The image verifier is where containerd looks for it."""
    images = view[IMAGES]
    if not view.spec.containerd.verify_images:
        return Result(VERIFIER, f"none: {OPT_OUT}", "present") if images.verifier else None
    if images.verifier == compute_verifier_digest() and images.mode == "755 root":
        return None
    return Result(VERIFIER, "gpustack's, 755 root", f"different, {images.mode}" if images.verifier else "none")


def pulls_verified(view: View) -> Result | None:
    """The verifier is run by containerd before each image pull."""
    settings = view[IMAGES].settings
    if not view.spec.containerd.verify_images or not settings:
        return None
    differences = [
        f"{key} = {settings.get(key, '(unknown option)')}" for key in SETTINGS if settings.get(key) != SETTINGS[key]
    ]
    if settings.get("bin_dir") != VERIFIERS:
        differences.append(f"bin_dir = {settings.get('bin_dir', '(unknown option)')}")
    if "registry" in settings:
        differences.append("registry.mirrors, configs or auths")
    hint = Command("gpustack", "explain", PAGE)
    subject = "image verification of containerd"
    return Result(subject, "enabled", format_value(differences), "operator", hint=hint) if differences else None


def images_as_listed(view: View) -> Result | None:
    """Images that are already on the host have the listed digest."""
    mismatched_images = view[IMAGES].mismatched_images if view.spec.containerd.verify_images else ()
    if mismatched_images:
        return Result(
            "images", "with the digests of the list", f"with a different digest: {format_value(mismatched_images)}"
        )
    return None


CHECKS = (image_list, image_verifier, pulls_verified, images_as_listed)
