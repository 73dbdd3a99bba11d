#!/usr/bin/env python3
"""Writes docs/parity.md: the scores of `surd bleu` and `surd chrf` beside what sacreBLEU said of the same files
(translation_scores.json), and where else surd is compared with others.

    parity_page.py [--surd PROGRAM] [--out docs/parity.md]
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
KINDS = {"13a": ["bleu", "--tokenize", "13a"], "none": ["bleu", "--tokenize", "none"],
         "char": ["bleu", "--tokenize", "char"], "intl": ["bleu", "--tokenize", "intl"],
         "chrF2": ["chrf"], "chrF2+": ["chrf", "--word-order", "1"], "chrF2++": ["chrf", "--word-order", "2"]}
METRICS = {"BLEU": ["bleu"], "chrF2": ["chrf"]}


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(heading, rows):
    return [row(heading), row(["---"] * len(heading)), *map(row, rows), ""]


class Program:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def score(self, words, systems, references, *more):
        """What `surd WORDS` prints of lists of lines, as JSON."""
        files = []
        for name, lines in (*((f"system-{i}", lines) for i, lines in enumerate(systems)), ("references", references)):
            files.append(self.folder / name)
            files[-1].write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="")
        command, *options = words
        found = subprocess.run([self.program, command, *files[:-1], "--reference", files[-1], "--json", *options, *more],
                               check=True, capture_output=True, text=True)
        return json.loads(found.stdout)


def scores(golden, program):
    lines = ["## BLEU and chrF", "",
             "Pairs of files of words that tell tokenizers apart: punctuation beside digits, entities, several scripts, symbols,",
             "kinds of white space, empty lines, lines of one word. Equal are all printed digits of the score (two).", ""]
    rows = []
    for kind, words in KINDS.items():
        equal, largest = 0, 0.0
        for pair in golden["files"]:
            ours = program.score(words, [pair["translations"]], pair["references"])["score"]
            theirs = pair["scores"][kind][0]
            equal += f"{ours:.2f}" == theirs
            largest = max(largest, abs(ours - float(theirs)))
        rows.append([f"`surd {' '.join(words)}`", len(golden["files"]), equal, f"{largest:.4f}"])
    return lines + table(["Command", "Pairs of files", "Equal digits", "Largest distance to the rounded score"], rows)


def significance(golden, program):
    lines = ["## Whether two systems differ", "",
             "100 lines each, two systems; p of the difference, and for the bootstrap half of the 95 % interval of the second system.",
             "Both draw at random, with other random numbers, so that p moves by some 0.01 where it is near 0.5.", ""]
    rows = []
    for number, systems in enumerate(golden["systems"], 1):
        for name, words in METRICS.items():
            for test in ("randomization", "bootstrap"):
                ours = program.score(words, [systems["baseline"], systems["system"]], systems["references"],
                                     "--test", test, "--trials", str(systems["trials"]))[1]
                theirs = systems["tests"][test][name]
                width = theirs["half_width"]
                rows.append([number, name, test, f"{theirs['p']:.4f}", f"{ours['p_value']:.4f}",
                             "-" if width is None else f"{width:.2f}", "-" if width is None else f"{ours['confidence']:.2f}"])
    return lines + table(["Systems", "Score", "Test", "p, sacreBLEU", "p, surd", "Half width, sacreBLEU", "Half width, surd"], rows)


ELSEWHERE = """## Elsewhere

What surd is compared with besides, and the test that does it:

| What | With what | Test |
|---|---|---|
| Each op, layer and the whole model: gradients | central differences in double precision | tests/autograd, tests/layers |
| The whole model: log-probabilities, gradients, losses of updates | PyTorch, by stored numbers (tests/golden/make_golden.py) | tests/train/golden_test.cpp |
| Presets: initial values and outputs | the code they were read from, by stored numbers (tests/golden/make_presets.py) | tests/experiments/run/golden_presets_test.cpp |
| Beam search | a search by the book that keeps everything, and all translations of a small vocabulary | tests/train/decoding_test.cpp |
| Tests and intervals of studies | SciPy, by stored numbers (tests/golden/make_statistics.py), and simulation | tests/experiments/study/statistics_test.cpp |
| BLEU, chrF, significance | sacreBLEU, by stored numbers (tests/golden/make_translation_scores.py) | tests/train/metrics/translation_metric_test.cpp |
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surd", default=SOURCE / "build" / "release" / "experiments" / "surd")
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "docs" / "parity.md")
    options = parser.parse_args()
    golden = json.loads((HERE / "translation_scores.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        program = Program(options.surd, folder)
        lines = ["# What agrees with what", "",
                 "Written by tests/golden/parity_page.py. sacreBLEU 2.6.0 made the numbers that are compared with.", "",
                 *scores(golden, program), *significance(golden, program)]
    options.out.write_text("\n".join(lines) + "\n" + ELSEWHERE, encoding="utf-8")


if __name__ == "__main__":
    main()
