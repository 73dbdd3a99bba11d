"""What the sample configs reach, in docs/samples.json, of which README.md has a table.

    samples.py --surd build/release/experiments/surd

Each config is trained as it is, two of them side by side with a thread each, and its best checkpoint translates the test
splits greedily.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from machine import beginning, processor, warn_if_modified
from overview import ROOT, SAMPLES, write_tables

MEANT = {"copy": 99.5, "lexical": 99.5, "reverse": 99, "sort": 99, "dates": 98, "grammar": 98, "addition": 98}  # %
ALIKE = ("git_commit", "simd_width")  # in the summaries of all runs
FURTHER = {"reverse": "test_long", "grammar": "test_held_out"}  # splits of what training never shows


def run(*command):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    made = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if made.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{made.stderr[-2000:]}")
    return made.stdout


def measure(surd, name, folder):
    print(f"{name}.yaml", file=sys.stderr, flush=True)
    run(surd, "train", ROOT / "experiments" / "configs" / f"{name}.yaml", "--out", folder)
    accuracy = {split: json.loads(run(surd, "eval", folder, "--split", split, "--json"))["sequence_accuracy"]
                for split in ("test", FURTHER.get(name)) if split}
    summary = json.loads((folder / "summary.json").read_text())
    return {"meant": MEANT[name], "sequence_accuracy": accuracy, "seconds": summary["wall_seconds"],
            **{key: summary[key] for key in ALIKE}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surd", type=pathlib.Path, required=True, help="the program to measure")
    options = parser.parse_args()
    begun = beginning()
    with tempfile.TemporaryDirectory() as runs, concurrent.futures.ThreadPoolExecutor(2) as side_by_side:
        made = side_by_side.map(lambda name: measure(options.surd, name, pathlib.Path(runs) / name), MEANT)
        found = dict(zip(MEANT, made))
    alike = {key: [figures.pop(key) for figures in found.values()][0] for key in ALIKE}
    warn_if_modified(alike["git_commit"])
    SAMPLES.write_text(json.dumps({"processor": processor(), "cores": os.cpu_count(), "begun": begun, **alike,
                                   "configs": found}, indent=1) + "\n")
    write_tables()


if __name__ == "__main__":
    main()
