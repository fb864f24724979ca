"""The names of metrics that commands query, by command."""

from urllib.parse import unquote


def list_readers() -> dict[str, frozenset[str]]:
    """List the fields and recorded series that commands read, out of their own lists and queries."""
    from gpustack.autoscale.candidates import RECORDED_METRICS
    from gpustack.burn import watch
    from gpustack.gpus import activity, fleet
    from gpustack.gpus.dependents import NAME
    from gpustack.health import gpu_signs
    from gpustack.probes.gpu import dcgm
    from gpustack.probes.monitoring import scrape
    from gpustack.profile.windows import NAMES
    from gpustack.proof.prometheus import METRICS
    from gpustack.serve.measures import MEASURES
    from gpustack.vocabulary import usage_series

    def find_names(module: object) -> frozenset[str]:
        return frozenset(NAME.findall(unquote(repr(list(vars(module).values())))))

    usage = find_names(usage_series)
    return {
        "autoscale suggest": frozenset(RECORDED_METRICS.values()),
        "capacity report": usage,
        "cost report": usage,
        "doctor": find_names(scrape),
        "gpu burn": frozenset(watch.FIELDS),
        "gpu health": frozenset(gpu_signs.FIELDS),
        "gpu list": frozenset(fleet.FIELDS),
        "gpu top": frozenset(activity.FIELDS),
        "profile": NAMES,
        "prove": frozenset(METRICS),
        "serve": frozenset(measure.field for measure in MEASURES.values()),
        "verify": find_names(dcgm),
    }
