#!/usr/bin/env python3
"""Makes statistics.json beside this script: what SciPy and statsmodels say of the same numbers as surd's statistics.

    python3 -m venv VENV && VENV/bin/pip install scipy statsmodels
    VENV/bin/python tests/golden/make_statistics.py

SciPy 1.17 and statsmodels 0.15 made the file that is stored. Everything in it is exact but the BCa intervals, which
depend on the resamples drawn; "resamples" says how many, from which the test derives what may differ.
"""
import itertools
import json
import math
import pathlib

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

BOOTSTRAP_RESAMPLES = 1_000_000


def bootstrap(values):
    interval = stats.bootstrap((values,), np.mean, confidence_level=0.95, n_resamples=BOOTSTRAP_RESAMPLES,
                               method="BCa", batch=10_000, rng=np.random.default_rng(1)).confidence_interval
    return {"values": list(values), "resamples": BOOTSTRAP_RESAMPLES, "low": interval.low, "high": interval.high}


def exact_bootstrap(values, resamples):
    """The interval of Efron 1987 from all resamples there are, for few values, where the bootstrap's distribution is
    so coarse that an end jumps, and where SciPy's comparison of means with the estimate depends on rounding. Between
    the "least" and "most" lie the ends from `resamples` drawn ones, give or take five of their deviations."""
    n = len(values)
    atoms = []
    for indices in itertools.combinations_with_replacement(range(n), n):
        ways = math.factorial(n) / math.prod(math.factorial(indices.count(i)) for i in range(n))
        atoms.append((float(np.mean(values[list(indices)])), ways / n ** n))
    atoms.sort()
    means, weights = np.array(atoms).T
    estimate, cumulated = values.mean(), np.cumsum(weights)
    rank = (weights[means < estimate - 1e-12].sum() + weights[means <= estimate + 1e-12].sum()) / 2
    centred = values - estimate
    bias, acceleration = stats.norm.ppf(rank), (centred ** 3).sum() / (6 * (centred ** 2).sum() ** 1.5)
    result = {"values": list(values), "resamples": resamples}
    for name, share in (("low", 0.025), ("high", 0.975)):
        z = bias + stats.norm.ppf(share)
        end = bias + z / (1 - acceleration * z)
        share = stats.norm.cdf(end)
        deviation = math.hypot(math.sqrt(share * (1 - share) / resamples),
                               2 * stats.norm.pdf(end) * math.sqrt(rank * (1 - rank) / resamples) / stats.norm.pdf(0))
        least, most = (float(means[np.searchsorted(cumulated, share + k * deviation)]) for k in (-5, 5))
        result[name] = {"least": least, "most": most}
    return result


def sign_flip(values):
    def p(alternative):
        return stats.permutation_test((values,), np.sum, permutation_type="samples", vectorized=True,
                                      n_resamples=np.inf, alternative=alternative).pvalue
    return {"values": list(values), "two_sided": p("two-sided"), "above": p("greater")}


def main():
    random = np.random.default_rng(20)
    samples = [random.normal(0.5, 1, 10), random.lognormal(0, 1, 10), -random.lognormal(0, 0.7, 20),
               random.normal(0, 1, 6), random.exponential(1, 40), np.round(random.normal(1, 2, 12))]
    p_values = [[0.01, 0.04, 0.03, 0.005], [0.0019, 0.6, 0.02, 0.02, 0.9, 0.0019], [0.05], [0.3, 0.2, 0.9]]
    shares = [(0, 10), (10, 10), (3, 10), (1, 1), (0, 1), (57, 400), (20, 400)]
    lines = []
    for exponent in (0.5, 0.0, -0.5):
        x = 2.0 ** np.arange(2, 9)
        y = 1.3 * x ** exponent * np.exp(random.normal(0, 0.1, len(x)))
        lines.append({"x": list(x), "y": list(y), "slope": stats.linregress(np.log(x), np.log(y)).slope})
    golden = {
        "bca": [bootstrap(values) for values in samples if len(values) >= 10],
        "exact_bca": [exact_bootstrap(values, 200_000) for values in samples if len(values) < 10],
        "sign_flip": [sign_flip(values) for values in samples if len(values) <= 12],
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
