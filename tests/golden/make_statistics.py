#!/usr/bin/env python3
"""Makes statistics.json beside this script: what SciPy and statsmodels say of the same numbers as surd's statistics.

    python3 -m venv VENV && VENV/bin/pip install scipy statsmodels
    VENV/bin/python tests/golden/make_statistics.py

SciPy 1.17 and statsmodels 0.15 made the file that is stored. Everything in it is exact.
"""
import json
import pathlib

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

def signed_rank(values):
    """p values against some bounds, and the interval of the bounds that neither one-sided test rejects at 2.5 %: SciPy
    is asked at every mean of two values, where p changes, from a hair's breadth on either side."""
    def p(bound, alternative):
        return float(stats.wilcoxon(values - bound, alternative=alternative, method="exact").pvalue)

    n = len(values)
    means = np.sort([(values[i] + values[j]) / 2 for i in range(n) for j in range(i + 1)])
    hair = 1e-9 * np.abs(means).max()
    rejected_below = [mean for mean in means if p(mean - hair, "greater") <= 0.025]
    rejected_above = [mean for mean in means if p(mean + hair, "less") <= 0.025]
    bounds = [0.0, float(means[len(means) // 3]) + hair, float(means[-2]) + hair]
    return {"values": list(values), "pseudo_median": float(np.median(means)),
            "low": max(rejected_below, default=None), "high": min(rejected_above, default=None),
            "tests": [{"bound": bound, "above": p(bound, "greater"), "below": p(bound, "less")} for bound in bounds]}


def main():
    random = np.random.default_rng(20)
    samples = [random.normal(0.5, 1, 10), random.lognormal(0, 1, 10), -random.lognormal(0, 0.7, 20),
               random.normal(0, 1, 6), random.exponential(1, 40), random.normal(1, 2, 5)]
    p_values = [[0.01, 0.04, 0.03, 0.005], [0.0019, 0.6, 0.02, 0.02, 0.9, 0.0019], [0.05], [0.3, 0.2, 0.9]]
    shares = [(0, 10), (10, 10), (3, 10), (1, 1), (0, 1), (57, 400), (20, 400)]
    lines = []
    for exponent in (0.5, 0.0, -0.5):
        x = 2.0 ** np.arange(2, 9)
        y = 1.3 * x ** exponent * np.exp(random.normal(0, 0.1, len(x)))
        lines.append({"x": list(x), "y": list(y), "slope": stats.linregress(np.log(x), np.log(y)).slope})
    golden = {
        "signed_rank": [signed_rank(values) for values in samples],
        "holm": [{"p": p, "adjusted": list(multipletests(p, method="holm")[1])} for p in p_values],
        "wilson": [dict(zip(("hits", "trials", "low", "high"),
                            (hits, trials, *map(float, proportion_confint(hits, trials, method="wilson")))))
                   for hits, trials in shares],
        "slope": lines,
    }
    path = pathlib.Path(__file__).with_name("statistics.json")
    path.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
