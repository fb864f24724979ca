"""Asks Prometheus for the series of GPUs, and for their values at one moment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpustack.proof.http import NoAnswer, Web
from gpustack.proof.series import METRICS, Sample, Scrape, Series, chosen, samples, scrapes

BACK = 300
"""Seconds: a series that has ended is still seen for so long, and that it ended."""


@dataclass
class Prometheus:
    """`nodes` and `pods` (namespace/name to node) tell where a series comes from. `metric` is settled by the first
    look; how often targets are scraped is asked with it, and again when it is said."""

    web: Web
    nodes: Iterable[str]
    pods: Mapping[str, str]
    metric: str = ""
    scrapes: Mapping[str, Scrape] = field(default_factory=dict)

    def look(self, *, targets: bool = False) -> Series:
        """Raises NoAnswer."""
        names = [self.metric] if self.metric else METRICS
        found: dict[str, list[Sample]] = {name: [] for name in names}
        answer = self.query(f'{{__name__=~"{"|".join(names)}"}}[{BACK}s]')
        now = self.now()
        for one in self.known(answer):
            found[one["metric"]["__name__"]] += samples([one], self.nodes, self.pods)
        self.metric = self.metric or chosen(found)
        if targets or not self.scrapes:
            self.scrapes = scrapes(self.ask("/api/v1/targets", {"state": "active"})["activeTargets"])
        return Series(self.metric, now, tuple(found.get(self.metric, ())), self.scrapes)

    def now(self) -> float:
        """By its own clock, which all times of samples are of."""
        return float(self.query("time()")[0])

    def known(self, answer: Any) -> list[Any]:
        if not isinstance(answer, list):
            raise NoAnswer("Prometheus answered something of another shape")
        return [one for one in answer if one["metric"].get("__name__") in METRICS]

    def values(self, at: float) -> dict[str, float]:
        """By UUID; of several series of a GPU the largest."""
        found: dict[str, float] = {}
        for one in self.known(self.query(self.metric, at)):
            if uuid := one["metric"].get("UUID"):
                found[uuid] = max(float(one["value"][1]), found.get(uuid, float("-inf")))
        return found

    def query(self, expression: str, at: float | None = None) -> Any:
        words = {"query": expression} | ({} if at is None else {"time": f"{at:.3f}"})
        return self.ask("/api/v1/query", words)["result"]

    def ask(self, path: str, words: Mapping[str, str]) -> Any:
        status, response = self.web.get(path, words)
        if not isinstance(response, dict) or response.get("status") != "success":
            error = response.get("error") if isinstance(response, dict) else response
            raise NoAnswer(f"Prometheus refused the question (HTTP {status}): {error or 'no reason given'}")
        return response["data"]
