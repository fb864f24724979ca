"""The list of images with their digests, as hosts and mirrors have it."""

from collections.abc import Mapping


def render_image_list(digests: Mapping[str, str]) -> str:
    """Render lines `REFERENCE DIGEST`, and a last one with their number, which tells a list that is cut off from one
    that lacks an image."""
    lines = [f"{name} {digest}\n" for name, digest in sorted(digests.items())]
    return "".join((*lines, f"# end {len(lines)}\n"))
