"""A language model of captions beside nanoGPT's: trains experiments/configs/captions.yaml, then nanoGPT's model in PyTorch
for as long, both on the same pieces, and writes docs/language-model.md.

    captions.py DATA --torch PYTHON --nanogpt CHECKOUT [--runs runs/captions] [--surd PROGRAM] [--out docs/language-model.md]

DATA holds train.en, valid.en and test.en of Multi30k, tokenized, in lower case, cut into pieces that end in @@;
multi30k.py says where from. PYTHON has PyTorch and NumPy. nanoGPT has the shape of the config (4 blocks of 128 columns, 4
heads, dropout 0.2, input and output tied), and of its config/train_shakespeare_char.py rates, schedule, optimizer and
clipping; a step has as many tokens. It reads texts as it does, one behind another with a token between them, in windows of
64; both are measured text by text. Nothing of it is in this repository: the checkout's model.py is imported.
"""
import argparse
import hashlib
import json
import math
import pathlib
import subprocess
import sys

from machine import described, noted

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
CONFIG = SOURCE / "experiments" / "configs" / "captions.yaml"
NANOGPT = "3adf61e"
OF_MODEL_PY = "7c01703240dbec5d554527dc666e35b3df8391d0b117fddc07afcf325a21d11c"  # SHA-256 at that commit
WINDOW, BATCH = 64, 64
RATE, LEAST_RATE, WARMUP = 1e-3, 1e-4, 100
PROMPTS = ["", "a man", "two dogs", "a little girl in a"]


def run(command, **more):
    print("+", " ".join(map(str, command)), file=sys.stderr, flush=True)
    return subprocess.run([str(word) for word in command], check=True, text=True, **more)


def ours(options):
    folder = options.runs / "surd"
    settings = [f"--set=task.{split}={options.data / split}.en" for split in ("train", "valid", "test")]
    begun = noted(options.runs / "machine.json", begins=not folder.exists())
    if not (folder / "summary.json").exists():
        run([options.surd, "train", CONFIG, *settings, "--out", folder])
    found = {split: json.loads(run([options.surd, "eval", folder, "--split", split, "--json"],
                                   stdout=subprocess.PIPE).stdout) for split in ("valid", "test")}
    found["summary"] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    found["begun"] = begun
    found["samples"] = []
    for prompt in PROMPTS:
        written = run([options.surd, "sample", folder, *(["--prompt", prompt] if prompt else []), "--count", 3,
                       "--temperature", 0.8], stdout=subprocess.PIPE).stdout
        found["samples"] += written.split("\n")[:-1]
    return found


def lines(path):
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def ids(line, index):
    return [index.get(piece, index["<unk>"]) for piece in line.split()]


def nanogpt(options, seconds):
    """Trains for so long and prints a JSON object; run by --torch."""
    import time

    import torch

    sys.path.insert(0, str(options.nanogpt))
    from model import GPT, GPTConfig  # pylint: disable=import-error

    index = {token: i for i, token in enumerate(
        (options.runs / "surd" / "vocabulary" / "target.txt").read_text(encoding="utf-8").split("\n")[:-1])}
    end = index["</s>"]
    stream = torch.tensor([piece for line in lines(options.data / "train.en") for piece in [*ids(line, index), end]])
    torch.manual_seed(1)
    torch.set_num_threads(2)
    model = GPT(GPTConfig(block_size=WINDOW, vocab_size=len(index), n_layer=4, n_head=4, n_embd=128, dropout=0.2,
                          bias=False))
    optimizer = model.configure_optimizers(weight_decay=0.1, learning_rate=RATE, betas=(0.9, 0.99), device_type="cpu")

    def step(update, updates):
        rate = RATE * update / WARMUP
        if update > WARMUP:
            share = min(1.0, (update - WARMUP) / max(1, updates - WARMUP))
            rate = LEAST_RATE + 0.5 * (1 + math.cos(math.pi * share)) * (RATE - LEAST_RATE)
        for group in optimizer.param_groups:
            group["lr"] = rate
        begins = torch.randint(len(stream) - WINDOW, (BATCH,)).tolist()
        read = torch.stack([stream[begin:begin + WINDOW] for begin in begins])
        write = torch.stack([stream[begin + 1:begin + 1 + WINDOW] for begin in begins])
        loss = model(read, write)[1]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    # The cosine has to know its end: the first updates tell how many there will be, about.
    begin, update, updates = time.perf_counter(), 0, 10 ** 9
    model.train()
    while time.perf_counter() - begin < seconds:
        update += 1
        step(update, updates)
        if update == WARMUP:
            updates = int(WARMUP * seconds / (time.perf_counter() - begin))
    spent = time.perf_counter() - begin
    model.eval()
    result = {"updates": update, "seconds": spent, "tokens_per_second": update * WINDOW * BATCH / spent,
              "torch": torch.__version__}
    with torch.no_grad():
        for split in ("valid", "test"):
            loss = tokens = size = 0
            for line in lines(options.data / f"{split}.en"):
                text = ids(line, index)
                whole = torch.tensor([[end, *text, end]])
                loss += float(model(whole[:, :-1], whole[:, 1:])[1]) * (len(text) + 1)
                tokens += len(text) + 1
                size += len(line.replace("@@ ", "").encode()) + 1
            result[split] = {"loss": loss / tokens, "bits_per_byte": loss / math.log(2) / size}
    print(json.dumps(result))


def page(found, peer):
    summary = found["summary"]
    if summary["resumed_at"] > 0:
        sys.exit("the run was interrupted, so that it has no times; begin it again")

    def row(name, updates, seconds, speed, scores):
        cells = [name, f"{updates:,}", f"{seconds / 60:.1f}", f"{speed:,.0f}"]
        for split in ("valid", "test"):
            cells += [f"{scores[split]['loss']:.3f}", f"{scores[split]['bits_per_byte']:.3f}"]
        return "| " + " | ".join(cells) + " |"

    lines = ["# A language model of captions", "",
             "Written by tests/benchmarks/captions.py, which trains [captions.yaml](../experiments/configs/captions.yaml) on the",
             f"English side of Multi30k, then nanoGPT's model (karpathy/nanoGPT {NANOGPT}, in PyTorch "
             f"{peer['torch'].split('+')[0]},", "without torch.compile) for as long: the same pieces, the same shape, as many tokens a "
             "step, and the rates, the", "schedule and the optimizer of its config/train_shakespeare_char.py. "
             "[multi30k.md](multi30k.md) says where the text is from.", "",
             described(summary, found["begun"]), "",
             "| | Updates | Minutes | Tokens a second | Validation loss | bits a byte | Test loss | bits a byte |",
             "|" + "---|" * 8,
             row("surd", summary["updates"], summary["wall_seconds"], summary["tokens_per_second"], found),
             row("nanoGPT", peer["updates"], peer["seconds"], peer["tokens_per_second"], peer), "",
             "The loss is in nats a piece, the end of a text counted. surd's minutes contain its evaluations, nanoGPT's none.",
             "", "## Samples", "", "`surd sample runs/captions --prompt TEXT --count 3 --temperature 0.8`, of each prompt three:",
             ""]
    lines += [f"    {text}" for text in found["samples"]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--torch", metavar="PYTHON", required=True)
    parser.add_argument("--nanogpt", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/captions"))
    parser.add_argument("--surd", default=SOURCE / "build" / "release" / "experiments" / "surd")
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "docs" / "language-model.md")
    parser.add_argument("--train-nanogpt", type=float, metavar="SECONDS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train_nanogpt:
        nanogpt(options, options.train_nanogpt)
        return
    if hashlib.sha256((options.nanogpt / "model.py").read_bytes()).hexdigest() != OF_MODEL_PY:
        sys.exit(f"{options.nanogpt} is not nanoGPT at the commit {NANOGPT}")
    options.runs.mkdir(parents=True, exist_ok=True)
    found = ours(options)
    log = options.runs / "nanogpt.json"
    if not log.exists():
        result = run([options.torch, __file__, options.data, "--torch", options.torch, "--nanogpt", options.nanogpt,
                      "--runs", options.runs, "--train-nanogpt", found["summary"]["wall_seconds"]],
                     stdout=subprocess.PIPE)
        log.write_text(result.stdout.splitlines()[-1], encoding="utf-8")
    options.out.write_text(page(found, json.loads(log.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
