"""A suggestion as a manifest to look at: the reasons are its comments."""

from collections.abc import Iterator
from textwrap import wrap

from gpustack.autoscale.manifest import Draft, scaled_object
from gpustack.report.terminal import Terminal

WIDTH = 76
UNBROKEN = 2**31 - 1


def draft(console: Terminal, found: Draft) -> None:
    """No line of the manifest is wrapped: it is meant for a file, or for kubectl."""
    for line in lines(found):
        console.print(console.clean(line), soft_wrap=True)


def lines(found: Draft) -> Iterator[str]:
    suggestion, workload = found.suggestion, found.suggestion.workload
    what = f"{workload.namespace}/{workload.name}"
    head = f"{what} ({workload.kind}): " + (f"by {suggestion.metric}" if suggestion.metric else "no metric suits")
    yield from comment(head)
    for reason in suggestion.why:
        yield from comment(reason)
    if not suggestion.metric:
        return
    yield from comment(f"Now {suggestion.now:.3g}; more replicas above {suggestion.target:g}, fewer below.")
    for doubt in suggestion.doubts:
        yield from comment(f"But: {doubt}")
    import yaml

    yield from yaml.safe_dump(scaled_object(found), sort_keys=False, width=UNBROKEN).splitlines()


def comment(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))
