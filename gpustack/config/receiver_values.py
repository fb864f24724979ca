"""Lists of Alertmanager in the operator's values that would take from it what the receivers of the spec need."""

from collections.abc import Mapping
from typing import Any

from gpustack.config.chart_actions import find_value
from gpustack.config.complaint import Complaint
from gpustack.config.sections.receiver import NULL_RECEIVER, Receivers

# The default of the chart, which mounts the files of `templateFiles` there (kube-prometheus-stack, values.yaml).
TEMPLATES = "/etc/alertmanager/config/*.tmpl"


def find_lost_entries(file: str, values: Mapping[str, Any], receivers: Receivers) -> list[Complaint]:
    """Return a complaint for each list that replaces gpustack's and lacks entries of it. Alertmanager would send
    messages without a text, or refuse the configuration and go on with the one before."""
    names = list(receivers.name_receivers())
    required_entries = {"templates": [TEMPLATES], "receivers": [NULL_RECEIVER, *names]} if names else {}
    complaints = []
    for key, entries in required_entries.items():
        operator_entries = find_value(values, ("alertmanager", "config", key))
        if isinstance(operator_entries, list):
            entry_names = [entry.get("name") if isinstance(entry, Mapping) else entry for entry in operator_entries]
            if lost_entries := [entry for entry in entries if entry not in entry_names]:
                rule = f"a list that also has {', '.join(lost_entries)}, or none"
                complaints.append(
                    Complaint(file, f"alertmanager.config.{key}", "a list that replaces gpustack's", rule)
                )
    return complaints
