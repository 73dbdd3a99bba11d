"""Real batches: how many tokens of Multi30k a second are learned from on two cores, beside PyTorch. Prints a page for
docs/performance.

    real_batches.py DATA --surd PROGRAM [--torch PYTHON ...] [--updates 60] [--rounds 3]

surd and torch_multi30k.py train by the recipe of experiments/configs/multi30k.yaml, in turn; 60 updates are an epoch. DATA
is what multi30k.py takes. Tokens are those of sources and targets, with the ends of the sentences and without padding;
evaluations are not in the time. How much padding batches would have is what surd's first lines tell.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from compare_speed import find_peers, run, say
from machine import beginning, processor, warn_if_modified, when
from multi30k import CONFIG, HERE, settings_of
from performance_page import head, row, spread, with_blas

THREADS = 2
OURS, MIXED = "surd, two replicas", "the same, pairs of all lengths together"


def of_surd(options, bucketing):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        sizes = {"updates": options.updates, "evaluate_every": options.updates, "checkpoint_every": options.updates,
                 "evaluate_sequences": 0, "evaluate_bleu": "false", "replicas": THREADS, "bucketing": bucketing}
        made = subprocess.run([options.surd, "train", CONFIG, *settings_of(options.data), "--out", out,
                               *(f"--set=train.{key}={value}" for key, value in sizes.items())],
                              capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"surd train failed:\n{made.stderr}")
        summary = json.loads((out / "summary.json").read_text())
    return {"tokens_per_second": summary["tokens_per_second"] / (1 - summary["evaluation_share"]),
            "params": summary["parameters"], "commit": summary["git_commit"], "products": f"{summary['products']} ({summary['products_are']})",
            "padding": re.search(r"padding ([\d.]+ %)", made.stdout)[1]}


def of_torch(options, peer, layout):
    lines = run([peer["python"], str(HERE / "torch_multi30k.py"), str(options.data), "--updates", str(options.updates),
                 "--threads", str(THREADS), *layout], THREADS, peer["blas"])
    if not lines:
        return None
    return {"tokens_per_second": lines[-1]["tokens"] / lines[-1]["seconds"], "params": lines[-1]["params"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--surd", required=True)
    parser.add_argument("--torch", action="append", default=[], metavar="PYTHON", help="may be repeated")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rounds", type=int, choices=range(1, 101), default=3, metavar="N")
    options = parser.parse_args()

    begun = beginning()
    peers = find_peers(options.torch, eager_only=True)
    ways = {OURS: lambda: of_surd(options, "true"), MIXED: lambda: of_surd(options, "false")}
    for peer in peers:
        for name, layout in (("padded rows", []), ("packed rows", ["--packed"])):
            ways[f"{peer['name']}, {name}"] = functools.partial(of_torch, options, peer, layout)
    rounds = []
    for index in range(options.rounds):
        say(f"round {index + 1} of {options.rounds}")
        entry = {name: measure() for name, measure in ways.items()}
        sizes = {found["params"] for found in entry.values() if found}
        if len(sizes) > 1:
            sys.exit(f"the models differ: {sizes} parameters")
        rounds.append({name: found for name, found in entry.items() if found})

    ours = rounds[0][OURS]
    warn_if_modified(ours["commit"])
    held = os.environ.get("OPENBLAS_CORETYPE")
    libraries = "; ".join(filter(None, [", ".join(map(with_blas, peers)), held and f"OPENBLAS_CORETYPE={held}",
                                     f"products {ours['products']}"]))
    print(f"""# Real batches

Written by `./dev bench batches`; [performance.md](../performance.md) has steps of batches of one length.

Real tokens a second of a training by [multi30k.yaml](../../experiments/configs/multi30k.yaml), sources and targets,
without padding: {options.updates} updates from the first on, evaluations left out. PyTorch has two threads and like
batches, of pairs of similar length (tests/benchmarks/torch_multi30k.py); packed, everything but attention sees real tokens
alone. Medians of {options.rounds} rounds in turn, the range in brackets.

As a run's first lines tell, the batches of pairs of similar length would have {ours['padding']} padding, those of all lengths
{rounds[0][MIXED]['padding']}. surd computes none of it.

{processor()}, {os.cpu_count()} cores; {libraries}. {when([begun])} Commit {ours['commit']}.
""")
    print("\n".join(head(["", "real tokens a second", "surd's to each of these"])))
    for name in rounds[0]:
        made = [entry for entry in rounds if name in entry]
        speed = [entry[name]["tokens_per_second"] for entry in made]
        beside = [entry[OURS]["tokens_per_second"] / value for entry, value in zip(made, speed)]
        print(row([name, spread(speed, 0), spread(beside)]))


if __name__ == "__main__":
    main()
