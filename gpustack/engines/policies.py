"""Policies of host engines as one text, which a mark can hold: `ecc temperature=85`, empty without conditions.

Texts: DCGM 4.6.0, dcgmi/Policy.cpp, DisplayCurrentViolationPolicy, in its order; options: dcgmi/CommandLineParser.cpp,
ProcessPolicyCommandLine. A policy that dcgmi cannot set (validation `Extended`, an action without a condition) has no
text.
"""

from collections.abc import Mapping, Sequence

# Our name, dcgmi's text, dcgmi's option; a limit stands behind the text.
CONDITIONS = (
    ("ecc", "Double-bit ECC errors", "--eccerrors"),
    ("pcie", "PCI errors and replays", "--pcierrors"),
    ("pages", "Max retired pages threshold", "--maxpages"),
    ("temperature", "Max temperature threshold", "--maxtemp"),
    ("power", "Max power threshold", "--maxpower"),
    ("nvlink", "NVLink Errors", "--nvlinkerrors"),
    ("xid", "XID error detected.", "--xiderrors"),
)
NAMES = {text: name for name, text, _ in CONDITIONS}
OPTIONS = {name: option for name, _, option in CONDITIONS}
LIMIT = " - "
ACTIONS = {"None": "0", "Reset GPU": "1"}
VALIDATIONS = {
    "None": "0",
    "System Validation (Short)": "1",
    "System Validation (Medium)": "2",
    "System Validation (Long)": "3",
}


def translate_policy(conditions: Sequence[str], action: str, validation: str) -> str:
    """Translate dcgmi's texts of a policy. Raise KeyError or ValueError for a policy that dcgmi cannot set again."""
    words = list[str]()
    for condition in conditions:
        text, _, limit = condition.partition(LIMIT)
        words.append(f"{NAMES[text]}={int(limit)}" if limit else NAMES[text])
    responses = {"action": ACTIONS[action], "validation": VALIDATIONS[validation]}
    response_words = [f"{name}={code}" for name, code in responses.items() if code != "0"]
    if response_words and not words:
        raise ValueError(f"{action}, {validation}")
    return " ".join(words + response_words)


def format_policy(limits: Mapping[str, bool | int | None]) -> str:
    """Format limits by gpustack's names of the conditions; a limit of True is a condition without a number."""
    named_limits = [(name, limit) for name, _, _ in CONDITIONS if (limit := limits.get(name))]
    return " ".join(name if limit is True else f"{name}={limit}" for name, limit in named_limits)


def build_policy_options(policy: str) -> tuple[str, ...]:
    """Build the options with which dcgmi sets a policy."""
    pairs = [word.partition("=")[::2] for word in policy.split()]
    values = dict(pairs)
    options = [word for name, limit in pairs if name in OPTIONS for word in (OPTIONS[name], limit) if word]
    if not options:
        return ("policy", "--clear")
    return ("policy", "--set", f"{values.get('action', 0)},{values.get('validation', 0)}", *options)
