"""Programs that count what they fail to do: their pods are well, and their alerts wait for a quarter of an hour."""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.scraped_objects import has_monitoring
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.monitoring.failure_counters import COUNTERS_BY_NAME, FAILURE_COUNTS, FailureCount


def observe_counts(view: View) -> Iterator[AbnormalState]:
    """List the counters that have risen. A program may try again and succeed, so that each is a risk."""
    for count in view[FAILURE_COUNTS]:
        subject = f"{count.job} {count.instance}".strip()
        yield AbnormalState(
            "failures-counted", "risk", (CLUSTER,), (subject,), describe_count(count), build_command(view, count),
            topic=f"{count.counter} {count.detail} {count.job}",
        )  # fmt: skip


def describe_count(count: FailureCount) -> str:
    counter = COUNTERS_BY_NAME[count.counter]
    labels = f" ({count.detail})" if count.detail else ""
    return f"{count.rise:.0f} {counter.words}{labels} within {counter.minutes} minutes: {count.counter}"


def build_command(view: View, count: FailureCount) -> Command:
    monitoring = view.spec.monitoring
    service = f"/api/v1/namespaces/{monitoring.namespace}/services/http:{monitoring.release}-prometheus:http-web"
    return Command("kubectl", "get", "--raw", f"{service}/proxy/api/v1/query?query={count.counter}")


OBSERVERS = (
    Observer("failure-counts", "Counters of failures", observe_counts, (FAILURE_COUNTS,), is_needed=has_monitoring),
)
