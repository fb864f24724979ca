"""A suggestion as a manifest with the reasons as its comments."""

from collections.abc import Iterator
from textwrap import wrap

from gpustack.autoscale.manifest import Draft, build_scaled_object
from gpustack.report.terminal import Terminal

WIDTH = 76
UNLIMITED_WIDTH = 2**31 - 1


def render_human(console: Terminal, draft: Draft) -> None:
    """Print the manifest without wrapping its lines, since it is meant for a file or for kubectl."""
    for line in list_lines(draft):
        console.print(console.clean(line), soft_wrap=True)


def list_lines(draft: Draft) -> Iterator[str]:
    suggestion, workload = draft.suggestion, draft.suggestion.workload
    name = f"{workload.namespace}/{workload.name}"
    head = f"{name} ({workload.kind}): " + (f"by {suggestion.metric}" if suggestion.metric else "no metric suits")
    yield from format_comment(head)
    for reason in suggestion.reasons:
        yield from format_comment(reason)
    if not suggestion.metric:
        return
    yield from format_comment(
        f"Now {suggestion.current_value:.3g}; more replicas above {suggestion.target:g}, fewer below."
    )
    for doubt in suggestion.doubts:
        yield from format_comment(f"But: {doubt}")
    import yaml

    yield from yaml.safe_dump(build_scaled_object(draft), sort_keys=False, width=UNLIMITED_WIDTH).splitlines()


def format_comment(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))
