#!/usr/bin/env python3
"""What the interval of an `optimum` leaves out: that its parabola is not the curve, and the luck of a tuning.

    optimum_studies.py [RESULTS] [--simulations 4000]

Prints how often the interval holds the lowest point of a made-up curve, measured at factors of 2: of a parabola, and
of one that rises more steeply behind it than before. Then how often that of R18's slope holds the simulated one, where
each arm has its best rate, and where three seeds chose it (tuned_studies.py), with the curves and the scatter that R18
measured. What lies between the sizes it tried is not known: once its medians and parabolas through them are the curves,
once cubic polynomials through the medians.
"""
import argparse
import math
import pathlib

import numpy as np
import yaml

from tuned_studies import ROOT, curves_of, luck, published, tail

NOISE, SEEDS = 0.15, 10  # deviation of log updates, as in the published studies


def lowest(x, y):
    """The least and the most that the lowest point can be, for each row of y, as in lowest_point.hpp."""
    at, last = y.argmin(-1), len(x) - 1
    middle = np.clip(at, 1, last - 1)
    a, b, c = (x[middle + step] for step in (-1, 0, 1))
    ya, yb, yc = (np.take_along_axis(y, (middle + step)[..., None], -1)[..., 0] for step in (-1, 0, 1))
    before, behind = (yb - ya) / (b - a), (yc - yb) / (c - b)
    curvature = (behind - before) / (c - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(curvature > 0, (a + b - before / curvature) / 2, x[at])
    low = np.where(at == 0, -np.inf, np.where(at == last, np.where(vertex < x[last], x[last - 1], x[last]), vertex))
    high = np.where(at == last, np.inf, np.where(at == 0, np.where(vertex > x[0], x[1], x[0]), vertex))
    return low, high


def interval(low, high):
    """95 %, for each row of seeds."""
    i, j = np.triu_indices(low.shape[-1])
    skipped = int((tail(low.shape[-1]) <= 0.025 * (1 + 1e-12)).sum())
    means = [np.sort((values[..., i] + values[..., j]) / 2) for values in (low, high)]
    return means[0][..., skipped - 1], means[1][..., -skipped], (np.median(means[0], -1) + np.median(means[1], -1)) / 2


def bent(steps, curvature, bend):
    """A curve with its lowest point at 0 and this curvature there; with a bend, steeper behind than before."""
    return curvature * (2 * (np.exp(bend * steps) - 1 - bend * steps) / bend**2 if bend else steps**2)


def made_up(curvature, bend, rng, simulations):
    """How often the interval holds the lowest point, and by how much it is off at the median, in octaves."""
    x, true = np.arange(-4.0, 2), rng.uniform(-1.75, -0.75, (simulations, 1, 1))
    y = bent(x - true, curvature, bend) + NOISE * rng.normal(size=(simulations, SEEDS, len(x)))
    low, high, centre = interval(*lowest(x, y))
    true = true[:, 0, 0]
    return ((low <= true) & (true <= high)).mean(), np.median(centre - true)


class Slope:
    """What a study measured whose first statement is about the slope of the best level, in logarithms."""

    def __init__(self, study):
        file = yaml.safe_load((ROOT / "experiments" / "studies" / f"{study.name}.yaml").read_text())
        number = {level["name"]: float(level["value"]) for level in file["axes"][1]["levels"]}
        arms = {}
        for arm in study.verdicts["arms"]:
            levels = arm["levels"]
            arms.setdefault(float(levels["d"]), []).append((math.log(number[levels["rms"]]), arm["name"]))
        widths = np.log(sorted(arms))
        self.weights = (widths - widths.mean()) / ((widths - widths.mean())**2).sum()
        arms = [sorted(arms[width]) for width in sorted(arms)]
        self.x = [np.array([x for x, _ in along]) for along in arms]
        self.y = [np.log([[study.runs[arm][study.chosen[arm]][seed][0] for _, arm in along] for seed in study.seeds])
                  for along in arms]
        self.medians = [np.median(y, 0) for y in self.y]
        self.scatter = np.concatenate([(y - median).ravel() for y, median in zip(self.y, self.medians)])
        published = study.verdicts["hypotheses"][0]["checks"][0]["values"]
        assert np.allclose(self.of(self.y)[0], published) and np.allclose(self.of(self.y)[1], published)

    def of(self, y):
        """The least and the most that the slope can be, of a row of y for each width."""
        bounds = [[weight * end for end in lowest(x, along)] for weight, x, along in zip(self.weights, self.x, y)
                  if abs(weight) > 1e-12]  # of three, that in the middle does not count
        return sum(np.minimum(*b) for b in bounds), sum(np.maximum(*b) for b in bounds)

    def simulated(self, degree, curves, tuning_seeds, rng, simulations):
        """The slope of these curves; how often the interval holds it; the deviation of its centre."""
        true, best = [], []
        for x, median in zip(self.x, self.medians):
            if degree:
                fit, fine = np.polyfit(x, median, degree), np.linspace(x[0], x[-1], 4001)
                true.append(np.polyval(fit, x))
                best.append(fine[np.polyval(fit, fine).argmin()])
            else:
                true.append(median)
                best.append(lowest(x, median)[0])
        y = []
        for median in true:
            y.append(median + rng.choice(self.scatter, (simulations, len(self.y[0]), len(median))))
            if tuning_seeds:
                drawn = curves[rng.integers(len(curves), size=(simulations, len(median)))]
                y[-1] += luck(drawn, tuning_seeds, rng)[:, None]
        slope = float(self.weights @ best)
        low, high, centre = interval(*self.of(y))
        return slope, ((low <= slope) & (slope <= high)).mean(), centre[np.isfinite(centre)].std()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="?", default=ROOT / "experiments" / "results")
    parser.add_argument("--simulations", type=int, default=4000)
    options = parser.parse_args()
    rng = np.random.default_rng(1)

    bend = 0.7
    ratio = bent(2.0, 1, bend) / bent(-2.0, 1, bend)
    print(f"The lowest point, {SEEDS} seeds; two octaves behind it a bent curve is {ratio:.1f} times as high as before")
    for curvature in (0.05, 0.1, 0.2, 0.3):
        for name, of in (("a parabola", 0), ("bent", bend)):
            held, off = made_up(curvature, of, rng, options.simulations)
            print(f"  {name:10}, {curvature:4} an octave squared: held {held:.3f}, off by {off:+.2f} octaves")

    studies = published(options.results)
    curves = curves_of(studies)
    r18 = Slope(next(study for study in studies if study.name == "r18-one-rate"))
    for name, degree in (("medians", 0), ("cubics", 3)):
        for tuning_seeds in (0, 3):
            slope, held, deviation = r18.simulated(degree, curves, tuning_seeds, rng, options.simulations)
            print(f"R18, {name}, {f'tuned on {tuning_seeds}' if tuning_seeds else 'each best'}: "
                  f"a slope of {slope:.3f} held {held:.3f}, deviation {deviation:.3f}")


if __name__ == "__main__":
    main()
