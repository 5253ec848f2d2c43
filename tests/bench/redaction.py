"""`python -m tests.bench.redaction`: how much is found, how much is touched wrongly, how long it takes.

Measures on ../shared/redaction/dev.jsonl (where it is beside the checkout), on the project's own adversarial lines and
on 5,000 generated log lines. Options: `--misses` prints what went wrong.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bot.redaction import KINDS, Redactor
from tests.bench import hostile, lines, logs

ROOT = Path(__file__).resolve().parents[2]
PERSONAL = {"personal", "phone", "email", "card", "iban", "ssn", "customer_ip", "national_id"}
OPTIONAL = {"gps", "name_opt"}


def covered(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """True where every character of [start, end) is inside of one of `spans`."""
    return all(any(a <= at < b for a, b in spans) for at in range(start, end))


def measure(
    rows: list[dict[str, Any]], redactor: Redactor
) -> tuple[dict[str, tuple[int, int]], list[tuple[str, str, str]]]:
    """(found, all) by group; and what went wrong: (what, id, the text with its masks)."""
    counts: Counter[str] = Counter()
    good: Counter[str] = Counter()
    wrong: list[tuple[str, str, str]] = []
    for row in rows:
        clean = redactor.redact(row["text"])
        spans = [(span.start, span.end) for span in clean.spans]
        kind = row["kind"]
        group = (
            "harmless"
            if kind.startswith("benign")
            else "optional"
            if kind in OPTIONAL
            else "personal"
            if kind in PERSONAL
            else "secrets"
        )
        if group == "harmless":
            counts[group] += 1
            good[group] += not spans
            if spans:
                wrong.append(("touched", row["id"], f"{clean.text!r} {[(s.kind, s.rule) for s in clean.spans]}"))
        for start, end in row["spans"]:
            counts[group] += 1
            if covered(spans, start, end):
                good[group] += 1
            else:
                wrong.append((f"missed {kind}", row["id"], f"{row['text'][start:end]!r} in {clean.text!r}"))
        for start, end in row.get("keep") or []:
            counts["keep"] += 1
            if any(a < end and start < b for a, b in spans):
                wrong.append((f"keep {kind}", row["id"], f"{row['text'][start:end]!r} in {clean.text!r}"))
            else:
                good["keep"] += 1
    return {group: (good[group], counts[group]) for group in counts}, wrong


def milliseconds(redactor: Redactor, text: str, times: int = 30) -> float:
    """Median time of one call."""
    taken = []
    for _ in range(times):
        begin = time.thread_time()
        redactor.redact(text)
        taken.append((time.thread_time() - begin) * 1000)
    return statistics.median(taken)


def main(arguments: list[str]) -> None:
    """Print the figures."""
    redactor = Redactor(on=[name for name, kind in KINDS.items() if not kind.on])
    dev = ROOT.parent / "shared" / "redaction" / "dev.jsonl"
    sets = {"our own lines": [row for seed in range(1, 6) for row in lines.rows(seed)]}
    if dev.is_file():
        sets["dev.jsonl"] = [json.loads(line) for line in dev.read_text("utf-8").splitlines()]
    for name, rows in sets.items():
        figures, wrong = measure(rows, redactor)
        print(
            name,
            *(f"{group} {good}/{total} = {good / total:.1%}" for group, (good, total) in sorted(figures.items())),
            sep="\n  ",
        )
        if "--misses" in arguments:
            print(*(f"    {what} [{which}] {text}" for what, which, text in wrong), sep="\n")
    made = logs.harmless()
    cleaned = [(line, redactor.redact(line)) for line in made]
    touched = [(line, clean) for line, clean in cleaned if clean.spans]
    print(f"generated log lines\n  touched {len(touched)}/{len(made)} = {len(touched) / len(made):.2%}")
    if "--misses" in arguments:
        print(*(f"    {clean.text!r} {[(s.kind, s.rule) for s in clean.spans]}" for _, clean in touched), sep="\n")
    quiet, pieces = "\n".join(made), []
    pieces.append(("harmless logs", [quiet[at : at + 2048] for at in range(0, 2048 * 40, 2048)]))
    dense = "\n".join(row["text"] for row in lines.rows() if row["kind"] != "benign")
    pieces.append(("nothing but secrets", [dense[at : at + 2048] for at in range(0, len(dense) - 2048, 2048)]))
    print("2 KB, ms of processor time, median")
    for name, texts in pieces:
        print(f"  {name}: {statistics.median(milliseconds(redactor, text, 5) for text in texts):.2f}")
    print("20 KB, hostile, ms of processor time")
    for name, text in hostile.TEXTS.items():
        print(f"  {name}: {milliseconds(redactor, text, 3):.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
