#!/usr/bin/env python3
"""What R54 and R55 do not state, from the published losses of all rates. R54, by other thresholds: the largest rate at which
a model still learns, with sqrt(d) over without it, and what the best rates reach. R55: the losses rate by rate, and other
thresholds. docs/claims.md, claim 5, has what comes of it."""
import csv
import gzip
import io
import itertools
import math
import pathlib
from collections import defaultdict

import numpy as np

from tuned_studies import pseudo_median

RESULTS = pathlib.Path(__file__).resolve().parents[3] / "experiments/results"
WITH, WITHOUT = ("1.41", "1"), ("0.18", "0.59")  # rho and size
# Whether a rate is learned at, by its final loss and that of the seed's best rate.
BARS = {"best + 0.25": lambda loss, best: loss <= best + 0.25, "best + 0.5": lambda loss, best: loss <= best + 0.5,
        "best + 1": lambda loss, best: loss <= best + 1, "1 nat": lambda loss, best: loss <= 1}


def runs_of(study):
    """The published numbers of a study's runs, with the rate that each tried."""
    with gzip.open(RESULTS / study / "runs.csv.gz") as packed:
        for run in csv.DictReader(io.TextIOWrapper(packed)):
            if rate := run["settings"].partition("=")[2]:
                yield run, float(rate)


def losses():
    """{(task, norm, remedies): {(rho, size): {seed: {rate: final loss}}}}, of the seeds that tried all rates"""
    found, tried = defaultdict(lambda: defaultdict(lambda: defaultdict(dict))), set()
    for run, rate in runs_of("r54-stable-rates-and-the-factor"):
        if run["metric"] == "final_loss":
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


def compared(found):
    """The ratio of pairs of rates, and in how many the first is larger, the same, smaller."""
    signs = [sum(f(a, b) for a, b in found) for f in (float.__gt__, float.__eq__, float.__lt__)]
    ratio = math.exp(pseudo_median(np.array([math.log(a / b) for a, b in found])))
    return f"{ratio:.2f} ({', '.join(map(str, signs))})"


def captions():
    """Prints R55's losses, and its largest rates by other thresholds."""
    final, best = (defaultdict(lambda: defaultdict(lambda: defaultdict(dict))) for _ in range(2))
    for run, rate in runs_of("r55-rates-on-real-text"):
        kept = {"final_loss": final, "best_loss": best}[run["metric"]]
        kept[run["remedies"]][run["embeddings"]][run["seed"]][rate] = float(run["value"])
    rates = sorted(next(iter(final["neither"]["sqrt(d)"].values())))
    print("\nR55: final losses by rate, median (least to most), and in how many seeds it is lower than without sqrt(d)\n")
    for remedies, arms in final.items():
        print(remedies)
        for arm, seeds in arms.items():
            told = []
            for rate in rates:
                losses = {seed: of_rates[rate] for seed, of_rates in seeds.items() if rate in of_rates}
                lower = sum(loss < arms["no sqrt(d)"][seed][rate] for seed, loss in losses.items())
                told.append(f"{rate:g}: {np.median([*losses.values()]):.2f} ({min(losses.values()):.2f} to "
                            f"{max(losses.values()):.2f}), {lower} of {len(losses)}")
            print(f"  {arm}: " + "; ".join(told))
    rise = max(loss - best[remedies][arm][seed][rate] for remedies, arms in final.items() for arm, seeds in arms.items()
               for seed, of_rates in seeds.items() for rate, loss in of_rates.items())
    print(f"  No loss ends more than {rise:.2f} above the best evaluation of its run.")
    stalled = np.median([of_rates[rates[-1]] for of_rates in final["neither"]["sqrt(d)"].values() if rates[-1] in of_rates])
    bars = dict(list(BARS.items())[:3])
    for share in (0.25, 0.5):
        bars[f"{share:g} of the way to {stalled:.2f}"] = lambda loss, best, share=share: loss <= best + share * (stalled - best)
    print("\nThe largest rate with sqrt(d) over without it\n")
    for remedies, arms in final.items():
        whole = {arm: {seed: of_rates for seed, of_rates in seeds.items() if len(of_rates) == len(rates)}
                 for arm, seeds in arms.items()}
        told = [f"{bar}: " + compared([(largest(of_rates, learned), largest(whole["no sqrt(d)"][seed], learned))
                                       for seed, of_rates in whole["sqrt(d)"].items()]) for bar, learned in bars.items()]
        print(f"{remedies}\n  " + "; ".join(told))


def main():
    print("R54: with sqrt(d) over without; in how many seeds it is larger, the same, smaller; the best loss, with less without\n")
    for case, arms in losses().items():
        told = []
        for bar, learned in BARS.items():
            told.append(f"{bar}: {compared(pairs(arms, lambda rates: largest(rates, learned)))}")
        best = pairs(arms, lambda rates: min(rates.values()))
        less = pseudo_median(np.array([a - b for a, b in best]))
        told.append(f"loss {less:+.2f} ({sum(a < b for a, b in best)} of {len(best)} lower)")
        print(f"{', '.join(case)}\n  " + "; ".join(told))
    captions()


if __name__ == "__main__":
    main()
