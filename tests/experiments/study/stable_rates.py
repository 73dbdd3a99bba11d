#!/usr/bin/env python3
"""R54 by other thresholds than it states: from the published losses of all rates, the largest rate at which a model still
learns, with sqrt(d) over without it, and what the best rates reach. docs/claims.md, claim 5, has what comes of it."""
import csv
import gzip
import io
import itertools
import math
import pathlib
from collections import defaultdict

import numpy as np

from tuned_studies import pseudo_median

RUNS = pathlib.Path(__file__).resolve().parents[3] / "experiments/results/r54-stable-rates-and-the-factor/runs.csv.gz"
WITH, WITHOUT = ("1.41", "1"), ("0.18", "0.59")  # rho and size
# Whether a rate is learned at, by its final loss and that of the seed's best rate.
BARS = {"best + 0.25": lambda loss, best: loss <= best + 0.25, "best + 0.5": lambda loss, best: loss <= best + 0.5,
        "best + 1": lambda loss, best: loss <= best + 1, "1 nat": lambda loss, best: loss <= 1}


def losses():
    """{(task, norm, remedies): {(rho, size): {seed: {rate: final loss}}}}, of the seeds that tried all rates"""
    found, tried = defaultdict(lambda: defaultdict(lambda: defaultdict(dict))), set()
    with gzip.open(RUNS) as packed:
        for run in csv.DictReader(io.TextIOWrapper(packed)):
            if run["metric"] == "final_loss":
                rate = float(run["settings"].partition("=")[2])
                case, arm = (run["task"], run["norm"], run["remedies"]), (run["rho"], run["size"])
                found[case][arm][run["seed"]][rate] = float(run["value"])
                tried.add(rate)
    return {case: {arm: {seed: rates for seed, rates in seeds.items() if rates.keys() == tried}
                   for arm, seeds in arms.items()} for case, arms in found.items()}


def largest(rates, learned):
    """From the best rate upwards."""
    best = min(rates, key=rates.get)
    above = sorted(rate for rate in rates if rate > best)
    return [best, *itertools.takewhile(lambda rate: learned(rates[rate], rates[best]), above)][-1]


def pairs(arms, number):
    """`number` of the rates of a seed, with sqrt(d) and without."""
    return [(number(arms[WITH][seed]), number(arms[WITHOUT][seed])) for seed in sorted(arms[WITH])]


def main():
    print("With sqrt(d) over without; in how many seeds it is larger, the same, smaller; the best loss, with less without\n")
    for case, arms in losses().items():
        told = []
        for bar, learned in BARS.items():
            found = pairs(arms, lambda rates: largest(rates, learned))
            signs = [sum(f(a, b) for a, b in found) for f in (float.__gt__, float.__eq__, float.__lt__)]
            ratio = math.exp(pseudo_median(np.array([math.log(a / b) for a, b in found])))
            told.append(f"{bar}: {ratio:.2f} ({', '.join(map(str, signs))})")
        best = pairs(arms, lambda rates: min(rates.values()))
        less = pseudo_median(np.array([a - b for a, b in best]))
        told.append(f"loss {less:+.2f} ({sum(a < b for a, b in best)} of {len(best)} lower)")
        print(f"{', '.join(case)}\n  " + "; ".join(told))


if __name__ == "__main__":
    main()
