"""Checks of step containerd: a listed image is pulled only with its digest."""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config import images
from gpustack.config.images import LIST, VERIFIER, VERIFIERS, text_digest, verifier_digest
from gpustack.config.resolved import mirror_of
from gpustack.probes.containerd.images import IMAGES
from gpustack.probes.containerd.mirror import SERVED

UNVERIFIED = "images-unverified"
OFF = "containerd.verify_images is false"
# With any other value containerd pulls past its transfer service, which alone asks verifiers
# (internal/cri/config/config.go of containerd 2.3, CheckLocalImagePullConfigs).
SETTINGS = {
    "use_local_image_pull": "false",
    "discard_unpacked_layers": "false",
    "max_concurrent_downloads": "3",
    "image_pull_with_sync_fs": "false",
    "disable_snapshot_annotations": "true",
}


def image_list(here: View) -> Result | None:
    """The host has the list of images and digests: the one that the mirror signs, or that of the version set."""
    found = here[IMAGES].list
    if not here.spec.containerd.verify_images:
        return Result(LIST, f"none: {OFF}", "present") if found else None
    wanted = here[SERVED].images if mirror_of(here.spec) else text_digest(images.image_list(here.spec))
    if found and wanted in ("", found):
        return None
    return Result(LIST, "that of the mirror or the version set", "different" if found else "none")


def image_verifier(here: View) -> Result | None:
    """The image verifier is where containerd looks for it."""
    found = here[IMAGES]
    if not here.spec.containerd.verify_images:
        return Result(VERIFIER, f"none: {OFF}", "present") if found.verifier else None
    if found.verifier == verifier_digest() and found.mode == "755 root":
        return None
    return Result(VERIFIER, "gpustack's, 755 root", f"different, {found.mode}" if found.verifier else "none")


def pulls_verified(here: View) -> Result | None:
    """containerd runs the verifier before each image pull."""
    settings = here[IMAGES].settings
    if not here.spec.containerd.verify_images or not settings:
        return None
    wrong = [
        f"{key} = {settings.get(key, '(unknown option)')}" for key in SETTINGS if settings.get(key) != SETTINGS[key]
    ]
    if settings.get("bin_dir") != VERIFIERS:
        wrong.append(f"bin_dir = {settings.get('bin_dir', '(unknown option)')}")
    if "registry" in settings:
        wrong.append("registry.mirrors, configs or auths")
    hint = Command("gpustack", "explain", UNVERIFIED)
    what = "image verification of containerd"
    return Result(what, "enabled", as_text(wrong), "operator", hint=hint) if wrong else None


def images_as_listed(here: View) -> Result | None:
    """Images that are already on the host have the listed digest."""
    others = here[IMAGES].others if here.spec.containerd.verify_images else ()
    return (
        Result("images", "with the digests of the list", f"with a different digest: {as_text(others)}")
        if others
        else None
    )


CHECKS = (image_list, image_verifier, pulls_verified, images_as_listed)
