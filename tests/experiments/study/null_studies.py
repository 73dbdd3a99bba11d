#!/usr/bin/env python3
"""Simulates studies whose every statement lies exactly at the edge of what it says, lets surd report them, and counts
how often a verdict is given, which is wrong whichever it is: at most 6 % of the studies may have one. Before the
correction at most 6 % of the statements of a kind may; of trend and optimum 5 % and three standard errors of so many.

    null_studies.py SURD [--studies 1000]

The runs of a study are made up: smooth ones scatter normally, skewed ones as e^normal in one arm and normally in the
other, late ones need five times as long in one of ten seeds, censored ones often end before their target. `trend` is
about arms that are alike at each size, `optimum` about arms on a parabola in its logarithm, whose lowest point is
known. Takes about half an hour for a thousand of each.
"""
import argparse
import json
import math
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

SEEDS = 10
UPDATES = 1000
ARMS = [(alpha, size) for alpha in ("one", "two") for size in (1, 4)]
LOWEST, SIZES = 4, (1, 2, 4, 8, 16)
ARMS_ALONG = [(alpha, size) for alpha in ("flat", "curve") for size in SIZES]
KINDS = ["difference", "equivalence", "interaction", "value", "slope"]
ALONG = ["trend", "optimum"]


def rise(arm):
    return math.log2(arm[1] / LOWEST) ** 2 if arm[0] == "curve" else 0


def smooth(arm, rng):
    if arm in ARMS_ALONG:
        return 1.5 + 0.1 * rise(arm) + 0.1 * rng.gauss(0, 1)
    return (2 if arm[0] == "two" else 1.5) * arm[1] ** 0.5 + 0.1 * rng.gauss(0, 1) * arm[1] ** 0.5


def skewed(arm, rng):
    if arm in ARMS_ALONG:
        return 0.2 * math.exp(rng.gauss(0, 1)) + 0.2 * rise(arm)
    noise = math.exp(rng.gauss(0, 1)) if arm[0] == "two" else 1 + 0.1 * rng.gauss(0, 1)
    return (0.3 if arm[0] == "two" else 0.2) * noise * (1 + 0.5 * (arm[1] > 1))


def late(arm, rng):
    late_by = 5 if rng.random() < 0.1 else 1
    if arm in ARMS_ALONG:
        return 40 * math.exp(0.1 * rise(arm) + 0.1 * rng.gauss(0, 1)) * late_by + 1
    return (60 if arm[0] == "two" else 40) * arm[1] ** 0.3 * math.exp(0.1 * rng.gauss(0, 1)) * late_by + 1


def censored(arm, rng):
    if arm in ARMS_ALONG:
        return 600 * math.exp(0.2 * rise(arm) + 0.3 * rng.gauss(0, 1))
    return (900 if arm[0] == "two" else 400) * arm[1] ** 0.1 * math.exp(0.3 * rng.gauss(0, 1))


SAMPLES = {"smooth": (smooth, False), "skewed": (skewed, False), "late": (late, True), "censored": (censored, True)}


def effects(values, ratio):
    """What each kind of statement is about, from the values of the four arms in one seed, on the metric's scale."""
    scale = math.log if ratio else float
    v = {arm: scale(value) for arm, value in values.items()}
    by_size = {size: v["two", size] - v["one", size] for size in (1, 4)}
    return {"difference": by_size[1], "equivalence": by_size[1], "interaction": by_size[4] - by_size[1],
            "value": v["two", 1],
            "slope": (math.log(max(values["two", 4], 1e-300)) - math.log(max(values["two", 1], 1e-300))) / math.log(4)}


def true_effects(draw, ratio, rng):
    """Pseudo-medians of the effects: medians of the mean of two draws."""
    found = {kind: [] for kind in KINDS}
    for _ in range(200_000):
        two = [effects({arm: draw(arm, rng) for arm in ARMS}, ratio) for _ in range(2)]
        for kind in KINDS:
            found[kind].append((two[0][kind] + two[1][kind]) / 2)
    return {kind: statistics.median(values) for kind, values in found.items()}


def study_text(truth, ratio):
    def margin(kind):
        return math.exp(abs(truth[kind])) if ratio else abs(truth[kind])

    def direction(kind):
        return "higher" if truth[kind] > 0 else "lower"

    left_out = [f"{{alpha: {alpha}, size: '{size}'}}" for alpha in ("one", "two") for size in SIZES
                if (alpha, size) not in ARMS]
    value = math.exp(truth["value"]) if ratio else truth["value"]
    metric = "kind: updates_to, of: loss, target: 0.1" if ratio else "kind: final_value"
    sides = "arm: {alpha: two, size: '1'}, against: {alpha: one, size: '1'}"
    return f"""title: A study without an effect
base:
  task: {{name: copy, train_size: 26, valid_size: 5, test_size: 1, vocabulary: 6, max_length: 3}}
  model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {{width: 8}}}}
  train: {{updates: 1, batch_size: 4, evaluate_every: 1}}
axes:
  - {{name: alpha, levels: [{{name: one}}, {{name: two, set: {{model.embedding.scale: 2}}}},
      {{name: flat, set: {{model.embedding.scale: 3}}}}, {{name: curve, set: {{model.embedding.scale: 4}}}}]}}
  - {{name: size, key: model.feed_forward.width, values: [{", ".join(str(size) for size in SIZES)}]}}
without: [{", ".join(left_out)}]
seeds: {SEEDS}
metrics:
  - {{name: number, {metric}}}
hypotheses:
  - {{name: difference, metric: number, {sides}, expect: {direction("difference")}, margin: {margin("difference")!r}}}
  - {{name: equivalence, kind: equivalence, metric: number, {sides}, margin: {margin("equivalence")!r}}}
  - {{name: interaction, kind: interaction, metric: number, arm: {{alpha: two}}, against: {{alpha: one}},
      under: {{size: '4'}}, versus: {{size: '1'}}, expect: {direction("interaction")}, margin: {margin("interaction")!r}}}
  - {{name: value, kind: value, metric: number, arm: {{alpha: two, size: '1'}}, formula: "{value * 0.9!r}",
      tolerance: {value * 0.1!r}}}
  - {{name: slope, kind: slope, metric: number, over: size, arm: {{alpha: two}}, formula: "{truth["slope"] - 0.1!r}",
      tolerance: 0.1}}
  - {{name: trend, kind: trend, metric: number, over: size, arm: {{alpha: flat}}, expect: rising}}
  - {{name: optimum, kind: optimum, metric: number, along: size, arm: {{alpha: curve}}, formula: "{LOWEST * 0.75!r}",
      tolerance: {LOWEST * 0.25!r}}}
"""


def write_run(folder, value, ratio):
    """The files that a run leaves, as far as a study is judged by them."""
    evaluations = [{"update": UPDATES, "loss": value}]
    if ratio:
        reached = max(1, round(value))
        evaluations = [{"update": u, "loss": 0.05} for u in (reached, reached + 1, reached + 2) if u < UPDATES]
        evaluations.append({"update": UPDATES, "loss": 0.05 if reached + 2 <= UPDATES else 1})
    lines = [{"event": "evaluation", "perplexity": math.exp(min(e["loss"], 700)), "token_accuracy": 0.5, "best": False, **e}
             for e in evaluations]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def begin(surd, folder, truth, ratio):
    """A study whose runs are there, to be filled with other numbers."""
    file = folder / "null.yaml"
    file.write_text(study_text(truth, ratio))
    study = folder / "study"
    subprocess.run([surd, "study", "run", file, "--out", study, "--jobs", "2"], check=True, stdout=subprocess.DEVNULL)
    for run in study.glob("runs/*/seed-*"):
        outcome = json.loads((run / "outcome.json").read_text())
        outcome.pop("hash")  # of what it says by itself
        outcome["updates"] = UPDATES
        del outcome["hashes"]
        (run / "outcome.json").write_text(json.dumps(outcome))
        summary = json.loads((run / "summary.json").read_text())
        summary["updates"] = UPDATES
        (run / "summary.json").write_text(json.dumps(summary))
    return study


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("surd", type=pathlib.Path)
    parser.add_argument("--studies", type=int, default=1000)
    arguments = parser.parse_args()
    surd = arguments.surd.resolve()
    bad = False
    print(f"{'sample':10}{'any':>8}" + "".join(f"{kind:>13}" for kind in KINDS + ALONG))
    for name, (draw, ratio) in SAMPLES.items():
        rng, rng_along = random.Random(name), random.Random(f"{name} along")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="surd-null-"))
        try:
            study = begin(surd, folder, true_effects(draw, ratio, rng), ratio)
            decided, alone = 0, dict.fromkeys(KINDS + ALONG, 0)
            for _ in range(arguments.studies):
                for arm in ARMS + ARMS_ALONG:
                    for seed in range(1, SEEDS + 1):
                        value = draw(arm, rng_along if arm in ARMS_ALONG else rng)
                        write_run(study / f"runs/alpha={arm[0]},size={arm[1]}/seed-{seed}", value, ratio)
                subprocess.run([surd, "study", "report", study], check=True, stdout=subprocess.DEVNULL)
                hypotheses = json.loads((study / "verdicts.json").read_text())["hypotheses"]
                assert [h["name"] for h in hypotheses] == KINDS + ALONG and all(h["p"] is not None for h in hypotheses)
                decided += any(h["verdict"] != "undecided" for h in hypotheses)
                for hypothesis in hypotheses:
                    alone[hypothesis["name"]] += hypothesis["p"] <= 0.05
        finally:
            shutil.rmtree(folder)
        shares = [decided / arguments.studies] + [count / arguments.studies for count in alone.values()]
        print(f"{name:10}{shares[0]:8.1%}" + "".join(f"{share:13.1%}" for share in shares[1:]), flush=True)
        most_along = 0.05 + 3 * math.sqrt(0.05 * 0.95 / arguments.studies)
        bad = bad or max(shares[:-len(ALONG)]) > 0.06 or max(shares[-len(ALONG):]) > most_along
    print("any: a verdict after Holm's correction; a kind: p <= 0.05 before it")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
