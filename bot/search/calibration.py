"""From a page's score to about the chance that it is right, and the line below which nothing is answered.

One row a kind of embedding model. `runbook-bot eval QUERIES.jsonl --calibrate` fits a line to a team's own questions;
it belongs into the settings (SEARCH_LINE), not here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_LARGE = math.log(1000)
"""Of passages: from here on a word that the library does not know says all it can. Few pages know few words."""


@dataclass(frozen=True)
class Evidence:
    """What the chance is reckoned from, of the best page and the question."""

    score: float
    """The page's weighed signs."""
    nearness: float
    """Highest similarity of any passage to the question (cosine): near nothing, it is about something else."""
    said: float
    """Share of the weight of all the question's words that one of the page's passages says, 0 to about 1."""
    known: float
    """Share of the question's word weight that the library has anywhere: a product it knows nothing of has no page."""
    named: float
    """Share of the alert name's words that page says; 1 where there is no name."""
    exact: bool
    """The alert's link or name leads to the page."""
    passages: int
    """How many were searched: in a small library fewer words are known, and that says less."""

    @property
    def values(self) -> tuple[float, float, float, float, float, float, float]:
        """What the logistic function weighs."""
        size = math.log(max(self.passages, 1))
        known = 1 - (1 - self.known) * min(1.0, size / _LARGE)
        return self.score, self.nearness, min(self.said, 1.0), known, self.named, float(self.exact), size


@dataclass(frozen=True)
class Calibration:
    """Weights of a logistic function over the evidence, and the line."""

    weights: tuple[float, float, float, float, float, float, float]
    bias: float
    line: float
    source: str
    """What it was fitted to."""

    def chance(self, evidence: Evidence) -> float:
        """About the chance that this page is the right one, 0 to 1."""
        z = self.bias + sum(w * v for w, v in zip(self.weights, evidence.values, strict=True))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))


DEFAULT = "onnx:all-MiniLM-L6-v2-int8"
TABLE: dict[str, Calibration] = {
    DEFAULT: Calibration(
        weights=(0.327, 6.382, 1.227, 7.786, 2.575, 0.953, -0.017),
        bias=-16.208,
        line=0.77,
        source="948 labelled questions on 606 public pages, on random parts of them (25, 120, 400 pages), and parts "
        "without the right page; 34 on the sample runbooks: `python -m tests.bench.ranking --fit`",
    ),
}


def calibration_for(fingerprint: str) -> Calibration:
    """The row of an embedding model; for one that was not measured the default's: fit a line of your own."""
    return next((row for name, row in TABLE.items() if fingerprint.startswith(name)), TABLE[DEFAULT])
