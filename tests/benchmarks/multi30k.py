"""Real translation at the published score: trains experiments/configs/multi30k.yaml, averages, translates the test split,
scores it, and writes docs/multi30k.md. What is already made in RUNS is taken as it is, so that
it can be interrupted, and seeds can be added; a run that was interrupted, or is not among --timed because the machine
had other work beside it, has no times.

    multi30k.py DATA [--seeds 1 2 3] [--timed 1 2 3] [--runs runs/multi30k] [--surd PROGRAM]
                [--torch PYTHON [--torch-updates 5000]] [--out docs/multi30k.md]

DATA holds train.en, train.de, valid.en, valid.de, test.en and test.de of Multi30k, tokenized, in lower case, cut into
pieces that end in @@: those of the folder data/multi30k-en-de of github.com/LividWo/Revisit-MMT, the repository of Wu et
al., where test.en and test.de are test.2016.en and test.2016.de. Of other files the page says so. With --torch,
torch_multi30k.py makes the same training there, or its first updates.
"""
import argparse
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys

from machine import described, noted

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
CONFIG = SOURCE / "experiments" / "configs" / "multi30k.yaml"
SECONDS_A_MINUTE = 60
DATA = "[LividWo/Revisit-MMT](https://github.com/LividWo/Revisit-MMT)"  # at its commit dc368d0
FILES = {  # names there, and their SHA-256
    "train.en": "0ffe3e3bac16e6aa33ef0dd6a7dca81587479b0d18dff0db2a92ac3f32b00c86",
    "train.de": "b2c74def7ec129f7ea7023a51501c77174c377ef06c6ccc2f031adcfb5cfadbd",
    "valid.en": "193d0d18fef5d1bc9d1cddafa13a644de3c5d6a24b45ac44476dcc5e96bfac6e",
    "valid.de": "eeb95680d6a06eafb13e3494eed9f9fa99783b892f4a3c72dd36e7ce2e000b68",
    "test.2016.en": "13b5fe3f92f78c54446d66afcaaa0a00a33ab653a8411f16812c9c5ca3795d6d",
    "test.2016.de": "375c20d50f4c486149a78dfcfb161a430a04ddabe2b7d150f0c7811dc455ac60",
}


def run(command, **more):
    print("+", " ".join(map(str, command)), file=sys.stderr, flush=True)
    return subprocess.run([str(word) for word in command], check=True, text=True, **more)


def settings_of(data):
    return [f"--set=task.{split}_{side}={data / split}.{language}"
            for split in ("train", "valid", "test") for side, language in (("source", "en"), ("target", "de"))]


def score(options, command, file, reference, *more):
    found = run([options.surd, command, file, "--reference", reference, "--json", *more], stdout=subprocess.PIPE)
    return json.loads(found.stdout)


def translate(options, folder, file, *more):
    with open(options.data / "test.en", encoding="utf-8") as source:
        found = run([options.surd, "translate", folder, *more], stdin=source, stdout=subprocess.PIPE)
    file.write_text(found.stdout, encoding="utf-8")


def trained(options, seed, reference):
    """The run of a seed and what it comes to on the test split."""
    folder = options.runs / f"seed-{seed}"
    begun = noted(options.runs / f"seed-{seed}-machine.json", begins=not folder.exists())
    run([options.surd, "train", CONFIG, *settings_of(options.data), f"--set=seed={seed}", "--out", folder, "--resume"])
    translations, greedy = options.runs / f"seed-{seed}.de", options.runs / f"seed-{seed}-last-greedy.de"
    if not translations.exists():
        run([options.surd, "average", folder, "--last", 10])
        translate(options, folder, translations, "--checkpoint", "average", "--beam", 5)
        translate(options, folder, greedy, "--checkpoint", "last")
    result = {"seed": seed, "begun": begun, "timed": seed in options.timed, "translations": translations.read_text(encoding="utf-8").splitlines(),
              "summary": json.loads((folder / "summary.json").read_text(encoding="utf-8")),
              "last, greedy": score(options, "bleu", greedy, reference, "--tokenize", "none")}
    for name, arguments in {"tokenized": ("bleu", "none"), "13a": ("bleu", "13a"), "chrf": ("chrf", None)}.items():
        command, tokenize = arguments
        more = ["--tokenize", tokenize] if tokenize else []
        result[name] = score(options, command, translations, reference, *more)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    result["curve"] = [(result["summary"]["evaluation_seconds"].get(str(record["update"])), record)
                       for record in map(json.loads, lines) if record["event"] == "evaluation"]
    return result


def peer(options, reference):
    """What PyTorch's training comes to, or has come to where it was interrupted, or nothing."""
    log, translations = options.runs / "torch.jsonl", options.runs / "torch.de"
    if options.torch and not translations.exists():
        with open(log, "w", encoding="utf-8") as out:
            run([options.torch, HERE / "torch_multi30k.py", options.data, "--updates", options.torch_updates, "--out",
                 translations], stdout=out)
    if not log.exists():
        return None
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    if not translations.exists():
        return {"records": records}
    return {"records": records, "tokenized": score(options, "bleu", translations, reference, "--tokenize", "none")}


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(heading, rows):
    return [row(heading), row(["---"] * len(heading)), *map(row, rows), ""]


def spread(values):
    if len(values) < 2:
        return f"{values[0]:.2f}"
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def has_times(result):
    return result["timed"] and result["summary"]["resumed_at"] == 0


def figures(result):
    """Of a seed; times only where they are its run's alone."""
    summary = result["summary"]
    cells = [result["seed"], *(f"{result[kind]['score']:.2f}" for kind in ("tokenized", "13a", "chrf")),
             f"{summary['updates']:,}"]
    if not has_times(result):
        return cells + ["-"] * 4
    return cells + [f"{summary['wall_seconds'] / SECONDS_A_MINUTE:.1f}", f"{summary['tokens_per_second']:,.0f}",
                    f"{100 * summary['evaluation_share']:.1f} %", f"{summary['peak_memory_bytes'] / 1e6:,.0f}"]


def beside_pytorch(ours, torch):
    """After as many updates as PyTorch has made; translated only where that is the whole training."""
    last, summary = torch["records"][-1], ours["summary"]
    update = last["update"]
    seconds, record = next((seconds, record) for seconds, record in ours["curve"] if record["update"] == update)
    rows = [["surd", f"{update:,}", f"{seconds * (1 - summary['evaluation_share']) / SECONDS_A_MINUTE:.1f}",
             f"{record['loss']:.3f}"],
            ["PyTorch", f"{update:,}", f"{last['seconds'] / SECONDS_A_MINUTE:.1f}", f"{last['valid_loss']:.3f}"]]
    heading = ["", "Updates", "Minutes", "Validation loss"]
    lines = ["## Beside PyTorch", "",
             "tests/benchmarks/torch_multi30k.py trains the same model on batches of the same size, without evaluations,",
             f"by PyTorch {last['torch'].split('+')[0]} with {last['threads']} threads. Times are without evaluations."]
    if update == summary["updates"] and "tokenized" in torch:
        lines += ["Tokenized BLEU is of the last update, translated greedily."]
        heading.append("BLEU, tok:none")
        rows[0].append(f"{ours['last, greedy']['score']:.2f}")
        rows[1].append(f"{torch['tokenized']['score']:.2f}")
    else:
        lines += ["The training ended there: only these first updates are compared, by their loss, and no translations."]
    return lines + [""] + table(heading, rows)


def about_data(folder):
    """Where the text is from, and whether this is it."""
    lines = ["## The data", "",
             "29,000 pairs to train, 1,014 to validate and the 1,000 of test 2016: tokenized, in lower case, cut by one BPE of",
             "10,000 merges for both languages into pieces that end in @@, exactly as they are distributed with the Transformer-tiny",
             f"baseline of Wu et al. (ACL 2021), in the folder data/multi30k-en-de of {DATA} (commit dc368d0).",
             "test.2016.en and test.2016.de are called test.en and test.de here. Their SHA-256:", ""]
    lines += [f"    {expected}  {name}" for name, expected in FILES.items()] + [""]
    others = [name for name, expected in FILES.items()
              if hashlib.sha256((folder / name.replace(".2016", "")).read_bytes()).hexdigest() != expected]
    return lines + ([f"Other files stood in for {', '.join(others)}.", ""] if others else [])


def page(options, results, torch):
    ours = next(filter(has_times, results), None)
    if ours is None:
        sys.exit("every run was interrupted, so that none has times; begin one again")
    summary = ours["summary"]
    lines = ["# Real translation: Multi30k, English to German", "",
             "Written by tests/benchmarks/multi30k.py, which trains [multi30k.yaml](../experiments/configs/multi30k.yaml), the "
             "settings of", "the published Transformer-tiny baseline (Wu et al., arXiv 2105.14462: tokenized BLEU 41.02 on test "
             "2016), and repeats every", "number here:", "",
             "    surd train experiments/configs/multi30k.yaml --set task.train_source=... --out runs/multi30k/seed-1",
             "    surd average runs/multi30k/seed-1 --last 10",
             "    surd translate runs/multi30k/seed-1 --checkpoint average --beam 5 < test.en > test.hyp",
             "    sed 's/@@ //g' test.de > test.ref",
             "    surd bleu test.hyp --reference test.ref --tokenize none", "",
             described(summary, ours["begun"]), ""]
    lines += table(["Seed", "BLEU, tok:none", "BLEU, tok:13a", "chrF2", "Updates", "Minutes", "Tokens a second",
                    "Time in evaluations", "Memory, MB"],
                   map(figures, results))
    lines += [f"Tokenized BLEU {spread([r['tokenized']['score'] for r in results])}. The signatures:", ""]
    lines += [f"    {results[0][kind]['signature']}" for kind in ("tokenized", "13a", "chrf")] + [""]
    lines += ["The published figure is tokenized BLEU of rejoined pieces, without a signature; `tok:none` is its like. The files",
              "are tokenized and in lower case already, so that `tok:13a` of them is not what WMT prints either.", ""]
    if torch:
        lines += beside_pytorch(ours, torch)
    lines += ["## BLEU and minutes", "",
              "Of captions of the validation split (`evaluate_sequences`), translated greedily, on the way (seed "
              f"{ours['seed']}):", ""]
    curve = [(seconds, record) for seconds, record in ours["curve"] if seconds is not None]
    step = max(1, len(curve) // 10)
    lines += table(["Minutes", "Updates", "Validation loss", "BLEU"],
                   [[f"{seconds / SECONDS_A_MINUTE:.1f}", f"{record['update']:,}", f"{record['loss']:.3f}", f"{record['bleu']:.2f}"]
                    for seconds, record in curve[step - 1::step]])
    lines += about_data(options.data)
    lines += ["## Ten sentences", "", f"Every hundredth of the test split, seed {ours['seed']}.", ""]
    joined = {language: [line.replace("@@ ", "") for line in (options.data / f"test.{language}").read_text(
        encoding="utf-8").splitlines()] for language in ("en", "de")}
    for i in range(99, len(joined["en"]), 100):
        lines += [f"- `{joined['en'][i]}`", f"  - surd: `{ours['translations'][i]}`",
                  f"  - reference: `{joined['de'][i]}`"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--timed", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/multi30k"))
    parser.add_argument("--surd", default=SOURCE / "build" / "release" / "experiments" / "surd")
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--torch-updates", type=int, default=5000)
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "docs" / "multi30k.md")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    reference = options.runs / "test.ref"
    text = (options.data / "test.de").read_text(encoding="utf-8")
    reference.write_text(text.replace("@@ ", ""), encoding="utf-8")
    results = [trained(options, seed, reference) for seed in options.seeds]
    options.out.write_text(page(options, results, peer(options, reference)), encoding="utf-8")


if __name__ == "__main__":
    main()
