"""Writes docs/performance/NAME.md: surd beside the matrix products of its step alone, and beside PyTorch, on one processor.

    compare_speed.py --surd build/release/experiments/surd --name PROCESSOR [--torch PYTHON ...] [--shapes toy-32,toy-64]
                     [--parts "one thread,studies"] [--rounds 3] [--seconds 1.5] [--avx2] [--raw FILE] [--out FILE]
    compare_speed.py --from docs/performance/PROCESSOR.json [--out FILE]
    compare_speed.py --index

Everything that is compared runs in turn, round after round, each in a process of its own; ratios are taken within a
round, so that a machine whose speed drifts does not bend them. What fails is told and left out of its round. Each
PYTHON is an interpreter that has PyTorch; of those from 2.0 on, torch.compile is measured as well. All that was measured
is kept in the raw file, docs/performance/PROCESSOR.json beside the page, from which --from writes the page again. What is
measured joins what is there: some shapes or parts now, the others later. A raw file of another program, machine, peer,
script, number of rounds or length is refused. README.md and docs/performance.md have tables of all pages, which are written
again with each of them, and alone by --index.
"""
import argparse
import csv
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from machine import beginning, processor, warn_if_modified
from overview import PAGES, ROOT, write_tables
from performance_page import page
from raw_results import RawResults

HERE = pathlib.Path(__file__).resolve().parent
PEER = str(HERE / "torch_peer.py")
STUDY_PEER = str(HERE / "torch_study.py")
STUDY = """\
title: Whole runs
question: How many runs a minute?
base:
  extends: {root}/experiments/configs/study.yaml
  train: {{updates: 600, evaluate_every: 50, checkpoint_every: 600}}
axes: [{{name: rate, key: optimizer.learning_rate, values: [1e-3]}}]
seeds: {runs}
metrics: [{{name: token_accuracy, kind: final_value, of: token_accuracy}}]
"""


AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell"}  # what has PyTorch and its libraries use it
PARTS_BY_SHAPE = ["overhead", "one thread", "two threads", "scaling", "profile"]
PARTS = ["peak", *PARTS_BY_SHAPE, "studies", "decoding", "growth"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def environment(threads, torch, blas):
    variables = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    if torch:
        del variables["OPENBLAS_NUM_THREADS"]
    if blas == "OpenBLAS":  # whose own threads need the cores on which those of OpenMP would wait busily
        variables["OMP_WAIT_POLICY"] = "passive"
    return variables


def finish(command, process):
    """The JSON lines of a process; an empty list, with the reason on stderr, where it fails."""
    output, errors = process.communicate()
    if process.returncode != 0:
        say(f"failed: {' '.join(command)}\n{errors[-2000:]}")
        return []
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def start(command, threads=1, blas=""):
    """`blas`: of a PyTorch, what it multiplies with."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(threads, pathlib.Path(command[1]).parent == HERE, blas))


def run(command, threads=1, blas=""):
    return finish(command, start(command, threads, blas))


def first(lines):
    return lines[0] if lines else None


def blas_of(build, loaded):
    """Which library multiplies for a PyTorch: as its build says or, where that was for any BLAS, by the files that are
    loaded; "" where neither tells."""
    names = {"mkl": "MKL", "open": "OpenBLAS", "openblas": "OpenBLAS", "blis": "BLIS", "atlas": "ATLAS"}
    for pattern, text in (r"BLAS_INFO=(\w+)", build), (r"/lib(mkl|openblas|blis|atlas)", loaded):
        found = re.search(pattern, text)
        if found and found[1] in names:
            return names[found[1]]
    return ""


def find_peers(interpreters, eager_only):
    """[{"name", "python", "compile", "blas"}]"""
    peers = []
    asked = "import torch; print(torch.__version__, torch.__config__.show(), open('/proc/self/maps').read(), sep='\\0')"
    for python in interpreters:
        told = subprocess.run([python, "-c", asked], capture_output=True, text=True)
        if told.returncode != 0:
            sys.exit(f"{python} has no PyTorch")
        version, build, loaded = told.stdout.split("\0")
        name, blas = "PyTorch " + version, blas_of(build, loaded)
        if name in [peer["name"] for peer in peers]:
            sys.exit(f"two of the interpreters have {name}")
        peers.append({"name": name, "python": python, "compile": False, "blas": blas})
        if int(version.split(".")[0]) >= 2 and not eager_only:
            peers.append({"name": name + " compiled", "python": python, "compile": True, "blas": blas})
    return peers


def expect_one_size(what, entry):
    sizes = {figures["params"] for figures in entry.values() if figures}
    if len(sizes) > 1:
        sys.exit(f"{what}: the models differ: {sizes} parameters")


def scripts():
    """A hash of the scripts that measure. How pages are written does not count."""
    files = [HERE / name for name in ("compare_speed.py", "torch_peer.py", "torch_study.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


class Measurements:
    def __init__(self, options):
        self.surd, self.rounds, self.seconds, self.parts = options.surd, options.rounds, options.seconds, options.parts
        begun = beginning()
        self.peers = find_peers(options.torch, options.eager or options.avx2)  # torch.compile knows no such limit
        known = {s["name"]: s for s in run([self.surd, "bench", "shapes", "--json"])}
        if not known:
            sys.exit(f"{self.surd} printed no shapes")
        self.shapes = options.shapes.split(",") if options.shapes else list(known)
        unknown = [s for s in self.shapes if s not in known]
        if unknown:
            sys.exit(f"there is no shape {', '.join(unknown)}; there are {', '.join(known)}")
        facts = dict(line.split(maxsplit=1) for line in
                     subprocess.run([self.surd, "doctor"], capture_output=True, text=True, check=True)
                     .stdout.splitlines() if line)
        if facts["program"] == "unknown":
            sys.exit(f"{self.surd} cannot tell its own hash, so pieces could not be told from another program's")
        if options.avx2 and facts["simd_width"] != "256 bits":
            sys.exit(f"--avx2 needs a program that was built for it (SURD_PRESET=package); {self.surd} has registers of "
                     f"{facts['simd_width']}")
        self.raw = RawResults(options.raw, {
            **{key: facts[key] for key in ("program", "blas", "blas_core", "blas_core_from")},
            "products": f"{facts['products']} ({facts['products_are']})",
            "commit": facts["git_commit"], "processor": processor(), "cores": os.cpu_count(), "scripts": scripts(),
            "rounds": self.rounds, "seconds": self.seconds, "avx2": options.avx2,
            "peers": [{key: p[key] for key in ("name", "compile", "blas")} for p in self.peers]}, options.anew)
        warn_if_modified(facts["git_commit"])
        self.raw.data["begun"] = self.raw.data.get("begun", []) + [begun]
        measured = {shape["name"] for shape in self.raw.data.get("shapes", [])} | set(self.shapes)
        self.raw.data["shapes"] = [known[s] for s in known if s in measured]

    def bench(self, what, *words, seconds=None):
        return [self.surd, "bench", what, "--secs", str(seconds or self.seconds), "--json", *words]

    def torch(self, peer, what, shape, *words, seconds=None):
        return [peer["python"], PEER, what, "--surd", self.surd, "--config", shape, "--secs",
                str(seconds or self.seconds), *words]

    def peak(self):
        """GFLOP/s of one core that only multiplies and adds, as surd bench products finds it: the fastest round. A step
        has a peak of its own beside it."""
        command = self.bench("products", "--config", self.shapes[0], seconds=0.02)
        yield max((line["peak_gflops"] for _ in range(self.rounds) for line in run(command)), default=None)

    def steps(self, threads):
        """{shape: [{"surd": figures, name of a peer: figures, ...}, one a round]}"""
        for shape in self.shapes:
            rounds = []
            for index in range(self.rounds):
                say(f"{shape}, {threads} thread(s), round {index + 1} of {self.rounds}")
                entry = {"surd": first(run(self.bench("step", "--config", shape, "--replicas", str(threads))))}
                for peer in self.peers:
                    if threads > 1 and peer["compile"]:
                        continue  # half a minute of compilation a round, for a comparison that one thread has made
                    words = ["--threads", str(threads)] + ["--compile"] * peer["compile"]
                    entry[peer["name"]] = first(run(self.torch(peer, "step", shape, *words), threads, peer["blas"]))
                expect_one_size(shape, entry)
                entry = {name: figures for name, figures in entry.items() if figures}
                rounds += [entry] if entry else []
            yield {shape: rounds}

    def side_by_side(self):
        """{shape: [{"alone", "together": [two], "replicas"}, one a round]}, ms a step; what failed is missing."""
        for shape in self.shapes:
            rounds = []
            command = self.bench("step", "--config", shape)
            for index in range(self.rounds):
                say(f"{shape}, side by side, round {index + 1} of {self.rounds}")
                alone = run(command)
                pair = [start(command) for _ in range(2)]
                both = [figures for process in pair for figures in finish(command, process)]
                replicas = run(command + ["--replicas", "2"])
                entry = {}
                if alone:
                    entry["alone"] = alone[0]["step_ms"]
                if len(both) == 2:
                    entry["together"] = [b["step_ms"] for b in both]
                if replicas:
                    entry["replicas"] = replicas[0]["step_ms"]
                rounds += [entry] if entry else []
            yield {shape: rounds}

    def profiles(self):
        for shape in self.shapes:
            figures = first(run(self.bench("step", "--config", shape, "--profile")))
            yield {shape: figures["profile"] if figures else None}

    def decoding(self):
        """[{"surd": lines, name of a peer: lines, ...}, one a round]"""
        rounds, seconds = [], min(self.seconds, 3)
        for index in range(self.rounds):
            say(f"decoding, round {index + 1} of {self.rounds}")
            entry = {"surd": run(self.bench("decode", seconds=seconds))}
            for peer in self.peers:
                if not peer["compile"]:
                    entry[peer["name"]] = run(self.torch(peer, "decode", "m30k-256", seconds=seconds))
            entry = {name: lines for name, lines in entry.items() if lines}
            rounds += [entry] if entry else []
        yield rounds

    def overheads(self):
        """{shape: [figures, one a round]}"""
        for shape in [s for s in self.shapes if s.startswith("toy-")]:
            rounds = []
            for index in range(self.rounds):
                say(f"{shape}, overheads, round {index + 1} of {self.rounds}")
                rounds += run(self.bench("overhead", "--config", shape))
            yield {shape: rounds}

    def study(self, runs, jobs):
        """A study of as many runs, and the token accuracy that half of them reach, as torch_study.py prints them."""
        with tempfile.TemporaryDirectory() as folder:
            file, out = pathlib.Path(folder) / "study.yaml", str(pathlib.Path(folder) / "runs")
            file.write_text(STUDY.format(root=ROOT, runs=runs))
            begin = time.perf_counter()
            made = start([self.surd, "study", "run", str(file), "--jobs", str(jobs), "--out", out])
            _, errors = made.communicate()
            seconds = time.perf_counter() - begin
            if made.returncode != 0:
                say(f"failed: surd study run\n{errors[-2000:]}")
                return None
            params = json.loads(next(pathlib.Path(out).rglob("summary.json")).read_text())["parameters"]
            exported = subprocess.run([self.surd, "study", "export", out], capture_output=True, text=True, check=True)
        accuracies = [float(line["value"]) for line in csv.DictReader(exported.stdout.splitlines()) if line["value"]]
        if len(accuracies) < runs:
            say(f"failed: {runs - len(accuracies)} runs of surd study run")
            return None
        return {"runs": runs, "seconds": seconds, "params": params, "token_accuracy": statistics.median(accuracies)}

    def studies(self):
        """[{"surd": figures, name of a peer: figures, ...}, one a round]"""
        rounds, runs, jobs = [], 40, min(os.cpu_count(), 2)
        for index in range(self.rounds):
            say(f"a whole study, round {index + 1} of {self.rounds}")
            entry = {"surd": self.study(runs, jobs)}
            for peer in self.peers:
                if not peer["compile"]:
                    entry[peer["name"]] = first(run([peer["python"], STUDY_PEER, "--runs", str(runs), "--jobs",
                                                     str(jobs)]))
            expect_one_size("a whole study", entry)
            entry = {name: figures for name, figures in entry.items() if figures}
            rounds += [entry] if entry else []
        yield rounds

    def measure(self):
        """Each part yields what is kept at once: a shape, or all it has."""
        for part, measure in {
            "peak": self.peak,
            "overhead": self.overheads,
            "one thread": lambda: self.steps(1),
            "two threads": lambda: self.steps(2),
            "scaling": self.side_by_side,
            "studies": self.studies,
            "profile": self.profiles,
            "decoding": self.decoding,
            "growth": lambda: [run(self.bench("growth", seconds=min(self.seconds, 2)))],
        }.items():
            if part in self.parts:
                for results in measure():
                    self.raw.keep(part, results)
        if self.raw.file.exists():
            say(f"kept: {self.raw.file}")
        return self.raw.data


def positive(text):
    value = float(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def parts(text):
    chosen = text.split(",")
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--surd", help="the program to measure")
    what.add_argument("--from", dest="saved", metavar="RAW", help="measure nothing; write the page of this raw file")
    what.add_argument("--index", action="store_true", help="measure nothing; write the tables of all pages in README.md "
                      "and docs/performance.md")
    parser.add_argument("--torch", action="append", default=[], metavar="PYTHON", help="may be repeated")
    parser.add_argument("--eager", action="store_true", help="leave torch.compile out, which takes most of the time")
    parser.add_argument("--rounds", type=int, choices=range(1, 101), default=3, metavar="N",
                        help="how often each measurement is made, in turn with the others (3)")
    parser.add_argument("--seconds", type=positive, default=5, help="length of one measurement (5)")
    parser.add_argument("--shapes", help="of `surd bench shapes`, with commas between them (all)")
    parser.add_argument("--parts", type=parts, help=f"with commas between them ({', '.join(PARTS)}; with --shapes, those "
                        f"that have shapes: {', '.join(PARTS_BY_SHAPE)})")
    parser.add_argument("--anew", action="store_true", help="discard what the raw file has")
    parser.add_argument("--avx2", action="store_true", help="have PyTorch and OpenBLAS use AVX2, for a program that was "
                        "built for it (SURD_PRESET=package); leaves torch.compile out")
    parser.add_argument("--name", help="of the page, e.g. amd-epyc-zen3; /proc/cpuinfo often says little (required)")
    parser.add_argument("--raw", help="where results are kept (docs/performance/NAME.json)")
    parser.add_argument("--out", help="the page (docs/performance/NAME.md)")
    options = parser.parse_args()

    if options.index:
        write_tables()
        return
    if options.saved:
        raw, name = json.loads(pathlib.Path(options.saved).read_text()), pathlib.Path(options.saved).stem
    else:
        name = options.name or parser.error("--name is missing: what the page is to be called")
        options.parts = options.parts or (PARTS_BY_SHAPE if options.shapes else PARTS)
        options.raw = options.raw or str(PAGES / f"{name}.json")
        os.environ.update(AVX2 if options.avx2 else {})
        raw = Measurements(options).measure()
    out = pathlib.Path(options.out or PAGES / f"{name}.md")
    out.write_text(page(raw, (HERE / "performance.template.md").read_text()))
    say(f"written: {out}")
    if out.resolve().parent == PAGES:
        write_tables()


if __name__ == "__main__":
    main()
