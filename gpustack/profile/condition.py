"""Conditions of classes: a value beyond a threshold. A value that was not measured fulfils no condition and refutes
none."""

from dataclasses import dataclass

from gpustack.vocabulary.amounts import format_value

CLEAR, CLOSE = 0.10, 0.05
"""Distances from a threshold, as shares of it: from the first on nothing is left to doubt, below the second all is."""


@dataclass(frozen=True)
class Condition:
    """Describe a condition: `quantity` must be above (or below) `threshold`. `level` is the value as people read it,
    where that is more than a share. `source` names what would measure an unknown value."""

    quantity: str
    value: float | None
    must_exceed: bool
    threshold: float
    level: str = ""
    unit: str = "ratio"
    source: str = ""

    @property
    def holds(self) -> bool:
        return self.value is not None and (self.value > self.threshold) is self.must_exceed

    @property
    def fails(self) -> bool:
        return self.value is not None and not self.holds

    @property
    def margin(self) -> float:
        """Return the distance beyond the threshold, as a share of it; it is negative before it, and 0 if unknown."""
        if self.value is None:
            return 0.0
        distance = (self.value - self.threshold) / self.threshold
        return distance if self.must_exceed else -distance

    @property
    def refutation(self) -> str:
        """Explain why the condition does not hold."""
        return self.format_text(f"not {self.side}")

    @property
    def side(self) -> str:
        return "above" if self.must_exceed else "below"

    def format_text(self, side: str) -> str:
        if self.value is None:
            return f"{self.quantity} not measured" + (f": {self.source} would tell" if self.source else "")
        if self.unit == "count":
            return f"{self.quantity}: {self.value:g}"
        decimals = 1 if abs(self.value - self.threshold) < 0.01 and self.unit == "ratio" else 0
        value, threshold = (format_value(number, self.unit, decimals) for number in (self.value, self.threshold))
        text = f"{self.level} ({value})" if self.level and self.value else value
        close = ", too close to tell" if abs(self.margin) < CLOSE else ""
        return f"{self.quantity} {text}, {side} {threshold}{close}"

    def __str__(self) -> str:
        return self.format_text(self.side)


def expect_above(
    quantity: str, value: float | None, threshold: float, level: str = "", unit: str = "ratio", source: str = ""
) -> Condition:
    return Condition(quantity, value, True, threshold, level, unit, source)  # noqa: FBT003


def expect_below(
    quantity: str, value: float | None, threshold: float, level: str = "", unit: str = "ratio", source: str = ""
) -> Condition:
    return Condition(quantity, value, False, threshold, level, unit, source)  # noqa: FBT003


def choose_all(*conditions: Condition) -> Condition:
    """Choose the condition that decides where all are needed: the furthest that fails, else one that is not known, else
    the nearest."""
    return min(conditions, key=lambda condition: (not condition.fails, condition.value is not None, condition.margin))


def choose_any(*conditions: Condition) -> Condition:
    """Choose the condition that decides where one suffices: the furthest that holds, else one that is not known, else
    the nearest."""
    if fulfilled_conditions := [condition for condition in conditions if condition.holds]:
        return max(fulfilled_conditions, key=lambda condition: condition.margin)
    if unknown_conditions := [condition for condition in conditions if condition.value is None]:
        return unknown_conditions[0]
    return max(conditions, key=lambda condition: condition.margin)
