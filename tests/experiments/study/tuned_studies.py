#!/usr/bin/env python3
"""How much the luck of a tuning adds to what intervals hold. They are over the study's seeds, at the rates that a few
other seeds chose for the arms; others might have chosen other rates.

    tuned_studies.py [RESULTS] [--simulations 20000]

Prints in how many published arms another rate is best where one of the tuning's seeds is left out, and in how many the
values at an end of the grid overlap with those of the rate chosen, so that a better one may lie outside; in which another
would be best if runs that did not come to their target had been long enough; how good the rates are that the mean and
the pseudo-median of half of the seeds choose, by the other half; how often two arms that are equally good, each
at the rate that its tuning chose, differ with p <= 0.05; and in how many of other tunings each decided statement about
tuned updates stands. Curves over the rate and their noise are those of the published arms that were tuned by their
updates and came to the target in all runs of the tuning.
"""
import argparse
import collections
import csv
import functools
import gzip
import json
import math
import pathlib

import numpy as np
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
RATES, EXTENSIONS = 4, 2  # of a grid in steps of 10^(1/4), as most of the studies have it


@functools.lru_cache
def tail(n):
    """P(W <= w) of the sum of n signed ranks, by w."""
    counts = np.ones(1)
    for rank in range(1, n + 1):
        counts = np.concatenate([counts, np.zeros(rank)]) + np.concatenate([np.zeros(rank), counts])
    return np.cumsum(counts) / 2**n


def p_above(values, bound=0.0):
    """One-sided, against a pseudo-median of at most the bound, of the least that each value can be."""
    i, j = np.triu_indices(values.shape[-1])
    return tail(values.shape[-1])[((values[..., i] + values[..., j]) / 2 <= bound + 1e-12).sum(-1)]


def pseudo_median(values):
    i, j = np.triu_indices(values.shape[-1])
    return np.median((values[..., i] + values[..., j]) / 2, axis=-1)


class Tuned:
    """A published study with a tuning of rates: for each arm the rate chosen, and (value, whether it is exact) by rate
    and seed."""

    def __init__(self, folder):
        self.verdicts = json.loads((folder / "verdicts.json").read_text())
        study = yaml.safe_load((ROOT / "experiments" / "studies" / f"{folder.name}.yaml").read_text())
        self.name, self.metric = folder.name, study["tuning"]["metric"]
        self.of_updates = any(m["name"] == self.metric and m["kind"] == "updates_to" for m in study["metrics"])
        with gzip.open(folder / "runs.csv.gz", "rt") as file:
            rows = [row for row in csv.DictReader(file) if row["metric"] == self.metric]
        axes = list(rows[0])[1:list(rows[0]).index("settings")]
        self.runs = collections.defaultdict(lambda: collections.defaultdict(dict))
        for row in rows:
            arm, ended = ", ".join(f"{axis}={row[axis]}" for axis in axes), row["status"] == "finished" and row["value"]
            self.runs[arm][row["settings"].partition("=")[2]][int(row["seed"])] = (
                float(row["value"]) if ended else math.inf, row["bound"] == "exactly")
        self.seeds = self.verdicts["seeds"]
        self.tuning_seeds = sorted({int(row["seed"]) for row in rows} - set(self.seeds))
        self.chosen = {t["arm"]: next(iter(t["settings"].values())) for t in self.verdicts["tuned"]}

    def tried(self, arm):
        return {rate: [values[seed] for seed in self.tuning_seeds] for rate, values in self.runs[arm].items()
                if values.keys() >= set(self.tuning_seeds)}

    def unsteady(self, arm):
        """Whether another rate is best where one of the tuning's seeds is left out."""
        tried = {rate: np.array([value for value, _ in values]) for rate, values in self.tried(arm).items()}
        return any(np.delete(values, seed).mean() < np.delete(tried[self.chosen[arm]], seed).mean()
                   for values in tried.values() for seed in range(len(self.tuning_seeds)))

    def alike_at_an_end(self, arm):
        """Whether the values at an end of the grid, which is not the rate chosen, overlap with those of that rate."""
        tried = {rate: [value for value, _ in values] for rate, values in self.tried(arm).items()}
        chosen, ends = tried[self.chosen[arm]], {min(tried, key=float), max(tried, key=float)} - {self.chosen[arm]}
        return any(min(tried[end]) <= max(chosen) and max(tried[end]) >= min(chosen) for end in ends)

    def cut_short(self, arm):
        """Whether another rate came to the target in more runs of the tuning than the one that was chosen."""
        reached = {rate: sum(exact for _, exact in values) for rate, values in self.tried(arm).items()}
        return max(reached.values()) > reached[self.chosen[arm]]

    def curve(self, arm):
        """Of log updates: the curvature over steps of the rate; the deviation of what is neither the rate's nor the
        seed's; that of the study's seeds. None where a run did not come to the target."""
        tried, study = self.tried(arm), [self.runs[arm][self.chosen[arm]].get(seed, (0, False)) for seed in self.seeds]
        if len(tried) < 3 or not all(exact for values in [*tried.values(), study] for _, exact in values):
            return None
        logs = np.log([[value for value, _ in values] for values in tried.values()])
        steps = 4 * np.log10([float(rate) for rate in tried])
        rest = logs - logs.mean(0) - logs.mean(1, keepdims=True) + logs.mean()
        return (np.polyfit(steps - steps.mean(), logs.mean(1), 2)[0],
                math.sqrt((rest**2).sum() / (logs.shape[0] - 1) / (logs.shape[1] - 1)),
                np.log([value for value, _ in study]).std(ddof=1))


def behind_the_best(study, arm, statistic, rng, halvings=200):
    """By how much the log updates at the rate that half of the tuning's seeds choose are above those at the best rate,
    by the pseudo-median of the other half."""
    logs = np.log([[min(value, 1e9) for value, _ in values] for values in study.tried(arm).values()])
    behind, seeds = 0, logs.shape[1]
    for _ in range(halvings):
        halves = rng.permutation(seeds)
        others = pseudo_median(logs[:, halves[seeds // 2:]])
        behind += others[statistic(logs[:, halves[:seeds // 2]]).argmin()] - others.min()
    return behind / halvings


def published(results):
    return [Tuned(path.parent) for path in sorted(results.glob("*/verdicts.json"))
            if json.loads(path.read_text())["tuned"]]


def curves_of(studies):
    curves = [study.curve(arm) for study in studies if study.of_updates for arm in study.chosen]
    return np.array([curve for curve in curves if curve and curve[0] > 0.005])  # flatter ones have no luck


def luck(curves, tuning_seeds, rng):
    """By how much log updates at the rate that a tuning chooses are above those at the best rate, which lies anywhere
    in the middle of the grid. The grid grows where its best is at an edge. One for each of the curves."""
    steps = np.arange(-EXTENSIONS, RATES + EXTENSIONS)
    above = curves[..., :1] * (steps - rng.uniform(0.5, RATES - 1.5, (*curves.shape[:-1], 1)))**2
    noise = curves[..., 1, None, None] * rng.normal(size=(*above.shape, tuning_seeds))
    means = np.exp(above[..., None] + noise).mean(-1)
    first, last = 0, RATES - 1
    for _ in range(EXTENSIONS + 1):
        best = steps[np.where((steps >= first) & (steps <= last), means, np.inf).argmin(-1)][..., None]
        first, last = first - (best == first), last + (best == last)
    return np.take_along_axis(above, best + EXTENSIONS, -1)[..., 0]


def p_of_equal_arms(curves, seeds, tuning_seeds, rng, simulations):
    drawn = curves[rng.integers(len(curves), size=simulations)]
    difference = luck(drawn, tuning_seeds, rng) - luck(drawn, tuning_seeds, rng) if tuning_seeds else 0 * drawn[:, 0]
    values = difference[:, None] + drawn[:, 2, None] * math.sqrt(2) * rng.normal(size=(simulations, seeds))
    return 2 * np.minimum(p_above(values), p_above(-values)), difference


def stands(study, hypothesis, curves, rng, simulations):
    """The share of other tunings in which the verdict is the same, on the same seeds."""
    def side(levels, under):
        wanted = {**hypothesis[levels], **(hypothesis[under] if under else {})}
        return sum(wanted.items() <= arm["levels"].items() for arm in study.verdicts["arms"])

    def lucky():
        return sum(sign * luck(curves[rng.integers(len(curves), size=(simulations, side(levels, under)))],
                               len(study.tuning_seeds), rng).mean(-1)
                   for under, turn in (("under", 1), ("versus", -1)) if under == "under" or hypothesis["versus"]
                   for levels, sign in (("arm", turn), ("against", -turn)))

    check = hypothesis["checks"][0]
    values, bounds = np.log(check["values"]), np.array(check["bounds"])
    shift = (lucky() - lucky())[:, None]  # another tuning's luck in place of that of the one that was
    low = np.where(bounds == "at_most", -np.inf, values) + shift
    high = np.where(bounds == "at_least", np.inf, values) + shift
    inside, outside = np.zeros(simulations), np.ones(simulations)
    if check["region"][0]:
        end = math.log(check["region"][0])
        inside, outside = p_above(low, end), p_above(-high, -end)
    if check["region"][1]:
        end = math.log(check["region"][1])
        inside, outside = np.maximum(inside, p_above(-high, -end)), np.minimum(outside, p_above(low, end))
    p = outside if hypothesis["verdict"] == "refuted" else inside
    return (2 * p * hypothesis["p_holm"] / hypothesis["p"] <= 0.05 + 1e-12).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="?", default=ROOT / "experiments" / "results")
    parser.add_argument("--simulations", type=int, default=20000)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    studies = published(options.results)
    curves = curves_of(studies)

    print("Arms in which another rate is best where one of the tuning's seeds is left out; whose grid has an end alike")
    found = {study: np.array([sum(study.unsteady(arm) for arm in study.chosen),
                              sum(study.alike_at_an_end(arm) for arm in study.chosen), len(study.chosen)])
             for study in studies if len(study.tuning_seeds) > 1}
    for study, (unsteady, alike, arms) in found.items():
        print(f"  {study.name:30}{unsteady:4}, {alike:3} of {arms:3}, {len(study.tuning_seeds)} seeds")
    for name, of in (("all", list(found)), ("by updates", [study for study in found if study.of_updates])):
        unsteady, alike, arms = sum(found[study] for study in of)
        print(f"  {name:30}{unsteady:4}, {alike:3} of {arms:3}")
    print("Arms whose choice rests on the length of runs: "
          + "; ".join(f"{study.name}, {arm}" for study in studies for arm in study.chosen if study.cut_short(arm)))

    print(f"Two equally good arms; {len(curves)} curves, medians of curvature, noise and deviation of the seeds "
          + ", ".join(f"{value:.3f}" for value in np.median(curves, 0)))
    for seeds, tuning_seeds in ((10, 0), (10, 8), (10, 3), (10, 2), (10, 1), (20, 3), (7, 1)):
        p, difference = p_of_equal_arms(curves, seeds, tuning_seeds, rng, options.simulations)
        print(f"  {seeds:2} seeds, tuned on {tuning_seeds}: {(p <= 0.05).mean():5.1%} of p <= 0.05; "
              f"deviation of the luck {difference.std():.3f}")

    of_many = [study for study in studies if study.of_updates and len(study.tuning_seeds) >= 8]
    print("Log updates at the rate that half of the seeds choose, above the best by the others, studies of eight or more; "
          "the least and the most of an arm")
    for name, statistic in (("mean", lambda logs: np.exp(logs).mean(-1)), ("pseudo-median", pseudo_median)):
        behind = [behind_the_best(study, arm, statistic, rng) for study in of_many for arm in study.chosen]
        print(f"  by the {name:14}{np.mean(behind):.3f}, {min(behind):.3f}, {max(behind):.3f} of {len(behind)} arms")

    print("Decided statements about tuned updates: the share of other tunings in which they stand, the least first")
    found = [(stands(study, h, curves, rng, options.simulations // 10), study.name, h["verdict"], h["name"])
             for study in studies if study.of_updates for h in study.verdicts["hypotheses"]
             if h["verdict"] != "undecided" and h["kind"] in ("difference", "equivalence", "interaction")
             and h["regime"] == "tuned" and h["metric"] == study.metric]
    for share, *words in sorted(found):
        print(f"  {share:4.0%} {': '.join(words)}")


if __name__ == "__main__":
    main()
