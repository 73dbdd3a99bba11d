"""Writes docs/performance.md: surd beside its own matrix products (the bound) and beside PyTorch.

    compare_speed.py --surd build/release/experiments/surd [--torch PYTHON ...] [--rounds N] [--secs S] [--out FILE]

Everything that is compared runs in turn, round after round, each in a process of its own; ratios are taken within a
round, so that a machine whose speed drifts does not bend them. Each PYTHON is an interpreter that has PyTorch; of those
from 2.0 on, torch.compile is measured as well.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ["toy-32", "toy-64", "toy-128", "toy-256", "m30k-256", "base-512"]
PEER = str(HERE / "torch_peer.py")


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, threads=1):
    """The JSON lines a command prints; an empty list, with the reason on stderr, where it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    if "torch_peer" in " ".join(command):
        del environment["OPENBLAS_NUM_THREADS"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        say(f"failed: {' '.join(command)}\n{done.stderr[-2000:]}")
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def spread(values, digits=2):
    if not values:
        return "-"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


class Peers:
    def __init__(self, interpreters):
        self.variants = []  # (name, command)
        for python in interpreters:
            version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True,
                                     text=True)
            if version.returncode != 0:
                sys.exit(f"{python} has no PyTorch")
            name = "PyTorch " + version.stdout.strip().split("+")[0]
            self.variants.append((name, [python, PEER]))
            if int(version.stdout.split(".")[0]) >= 2:
                self.variants.append((name + " compiled", [python, PEER, "--compile"]))

    def step(self, shape, threads, secs):
        for name, command in self.variants:
            if threads > 1 and "--compile" in command:
                continue  # half a minute of compilation a round, for a comparison that one thread has made
            yield name, run(command[:2] + ["step", "--config", shape, "--threads", str(threads), "--secs", str(secs)] +
                            command[2:], threads)


def steps(surd, peers, shapes, threads, rounds, secs):
    """{shape: [{"surd": figures, peer: figures...}, one a round]}"""
    table = {}
    for shape in shapes:
        table[shape] = []
        for index in range(rounds):
            say(f"{shape}, {threads} thread(s), round {index + 1} of {rounds}")
            figures = run([surd, "bench", "step", "--config", shape, "--replicas", str(threads), "--secs", str(secs),
                           "--json"])
            entry = {"surd": figures[0]}
            for name, peer in peers.step(shape, threads, secs):
                if peer:
                    entry[name] = peer[0]
                    assert peer[0]["params"] == figures[0]["params"], "the models differ"
            table[shape].append(entry)
    return table


def step_table(table, names):
    lines = ["| shape | bound, ms | surd, ms | surd / bound | " + " | ".join(f"{n}, ms | {n} / surd" for n in names) +
             " |", "|---|---|---|---|" + "---|---|" * len(names)]
    for shape, rounds in table.items():
        ours = [r["surd"] for r in rounds]
        cells = [shape, f"{statistics.median(o['bound_ms'] for o in ours):.1f}",
                 f"{statistics.median(o['step_ms'] for o in ours):.1f}", spread([o["step_over_bound"] for o in ours])]
        for name in names:
            pairs = [(r[name]["step_ms"], r["surd"]["step_ms"]) for r in rounds if name in r]
            cells.append(f"{statistics.median(p for p, _ in pairs):.1f}" if pairs else "-")
            cells.append(spread([p / o for p, o in pairs]))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def memory_table(table, names):
    lines = ["| shape | surd, MB | " + " | ".join(f"{n}, MB" for n in names) + " | surd / least of these |",
             "|---|---|" + "---|" * (len(names) + 1)]
    for shape, rounds in table.items():
        first = rounds[0]
        peers = [first[n]["peak_memory_bytes"] for n in names if n in first]
        ours = first["surd"]["peak_memory_bytes"]
        cells = [f"{first[n]['peak_memory_bytes'] / 1e6:.0f}" if n in first else "-" for n in names]
        lines.append(f"| {shape} | {ours / 1e6:.0f} | " + " | ".join(cells) +
                     f" | {ours / min(peers) if peers else float('nan'):.2f} |")
    return lines


def side_by_side(surd, shape, secs, rounds):
    """Speed of two runs side by side over the speed of one, and of two replicas over one."""
    command = [surd, "bench", "step", "--config", shape, "--secs", str(secs), "--json"]
    pair_ratios, replica_ratios = [], []
    for index in range(rounds):
        say(f"{shape}, side by side, round {index + 1} of {rounds}")
        alone = run(command)[0]["step_ms"]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        together = [json.loads(p.communicate()[0])["step_ms"] for p in both]
        pair_ratios.append(sum(alone / t for t in together))
        replica_ratios.append(alone / run(command + ["--replicas", "2"])[0]["step_ms"])
    return pair_ratios, replica_ratios


def profile_table(surd, shapes, secs):
    profiles = {s: run([surd, "bench", "step", "--config", s, "--secs", str(secs), "--profile", "--json"])[0]["profile"]
                for s in shapes}
    share = lambda p: 100 * (p["forward"] + p["backward"])
    ops = sorted({op for p in profiles.values() for op in p},
                 key=lambda op: -max(share(p.get(op, {"forward": 0, "backward": 0})) for p in profiles.values()))
    lines = ["| op | " + " | ".join(profiles) + " |", "|---|" + "---|" * len(profiles)]
    for op in ops:
        shares = [share(p[op]) if op in p else 0 for p in profiles.values()]
        if max(shares) >= 0.5:
            lines.append(f"| {op} | " + " | ".join(f"{s:.1f} %" for s in shares) + " |")
    return lines


def decode_table(surd, peers, rounds, secs):
    names = [name for name, command in peers.variants if len(command) == 2]
    commands = [command for _, command in peers.variants if len(command) == 2]
    ours, theirs = {}, {name: {} for name in names}
    for index in range(rounds):
        say(f"decoding, round {index + 1} of {rounds}")
        for line in run([surd, "bench", "decode", "--secs", str(secs), "--json"]):
            ours.setdefault((line["beam"], line["batch"]), []).append(line["sentences_per_s"])
        for name, command in zip(names, commands):
            for line in run(command + ["decode", "--config", "m30k-256", "--secs", str(secs)]):
                theirs[name].setdefault((line["beam"], line["batch"]), []).append(line["sentences_per_s"])
    lines = ["| beam | sentences together | surd, sentences/s | " +
             " | ".join(f"{n}, sentences/s | surd / {n}" for n in names) + " |", "|---|---|---|" + "---|---|" * len(names)]
    for key, speeds in ours.items():
        cells = [str(key[0]), str(key[1]), f"{statistics.median(speeds):.1f}"]
        for name in names:
            peer = theirs[name].get(key, [])
            cells += [f"{statistics.median(peer):.1f}" if peer else "-", spread([o / p for o, p in zip(speeds, peer)], 1)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def growth_table(surd, secs):
    axes = {}
    for line in run([surd, "bench", "growth", "--secs", str(secs), "--json"]):
        axes.setdefault(line["axis"], []).append(line)
    lines = ["| size | ms a step at each value | time grows as the power | operations as |", "|---|---|---|---|"]
    for axis, entries in axes.items():
        values = ", ".join(f"{e['value']}: {e['step_ms']:.1f}" for e in entries if "value" in e)
        lines.append(f"| {axis} | {values} | {entries[-1]['exponent_of_time']:.2f} | "
                     f"{entries[-1]['exponent_of_operations']:.2f} |")
    return lines


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surd", required=True)
    parser.add_argument("--torch", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--secs", type=float, default=5)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--out", default=str(HERE.parent.parent / "docs" / "performance.md"))
    options = parser.parse_args()
    peers, shapes = Peers(options.torch), options.shapes.split(",")
    names = [name for name, _ in peers.variants]

    one = steps(options.surd, peers, shapes, 1, options.rounds, options.secs)
    two = steps(options.surd, peers, shapes, 2, options.rounds, options.secs)
    blas = next(iter(one.values()))[0]["surd"]["blas"]
    scaling = ["| shape | two runs side by side / one | two replicas / one |", "|---|---|---|"]
    for shape in shapes:
        pairs, replicas = side_by_side(options.surd, shape, options.secs, options.rounds)
        scaling.append(f"| {shape} | {spread(pairs)} | {spread(replicas)} |")
    text = (HERE / "performance.template.md").read_text()
    sections = {
        "machine": [f"{processor()}, {os.cpu_count()} cores; {blas}; " + ", ".join(names) +
                    f". Medians of {options.rounds} rounds of {options.secs:g} s each, the range in brackets."],
        "one thread": step_table(one, names), "two threads": step_table(two, [name for name, command in peers.variants if "--compile" not in command]),
        "memory": memory_table(one, names), "scaling": scaling,
        "profile": profile_table(options.surd, shapes, options.secs),
        "decoding": decode_table(options.surd, peers, options.rounds, min(options.secs, 3)),
        "growth": growth_table(options.surd, min(options.secs, 2)),
    }
    for name, lines in sections.items():
        mark = "{{" + name + "}}"
        assert mark in text, name
        text = text.replace(mark, "\n".join(lines))
    pathlib.Path(options.out).write_text(text)
    say(f"written: {options.out}")


if __name__ == "__main__":
    main()
