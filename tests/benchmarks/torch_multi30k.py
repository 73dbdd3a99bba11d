"""The recipe of experiments/configs/multi30k.yaml in PyTorch: the same model, batches, schedule and loss, other initial
values. One JSON line an evaluation: updates, seconds of training until then, the loss on the validation split; at the
end greedy translations of the test split into a file, for surd bleu.

    torch_multi30k.py DATA [--updates 5000] [--threads 2] [--out translations.de]

DATA holds train.en, train.de, valid.en, valid.de, test.en and test.de, cut into pieces that end in @@. Written for speed
as people would: batches of pairs of similar length, Adam fused where this PyTorch has it, the output projection for real
tokens only.
"""
import argparse
import collections
import json
import math
import pathlib
import random
import time

import torch
from torch import nn
from torch.nn import functional

from torch_peer import (BOS, EOS, PAD, Layer, MultiHead, Translator, after_bos, fastest_adam, padding_mask,
                        start_as_surd_does)

UNK, LONGEST = 3, 100  # pieces without the end of the sentence


class PostNormLayer(Layer):
    """norm(x + f(x)), as in the paper."""

    def forward(self, x, mask, memory=None):
        causal = memory is not None
        x = self.norms[0](self.add(x, self.self_attention(x, x, None if causal else mask, causal=causal)))
        if causal:
            x = self.norms[1](self.add(x, self.cross_attention(x, memory, mask)))
        return self.norms[-1](self.add(x, self.outer(functional.relu(self.inner(x)))))


class Tiny(Translator):
    def __init__(self, vocabulary):
        super().__init__(vocabulary, width=128, heads=4, inner=256, layers=0, rate=0.3)
        self.encoder = nn.ModuleList([PostNormLayer(128, 4, 256, 0.3, decoder=False) for _ in range(4)])
        self.decoder = nn.ModuleList([PostNormLayer(128, 4, 256, 0.3, decoder=True) for _ in range(4)])
        self.encoder_norm = self.decoder_norm = nn.Identity()
        for module in self.modules():
            if isinstance(module, MultiHead):
                module.rate = 0.0  # no dropout on attention weights
        start_as_surd_does(self)


def lines(path):
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines()]


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def batches(pairs, tokens, draw):
    """Pairs of similar length, up to so many padded positions of the longer side, in random order."""
    found, longest = [[]], 0
    for pair in sorted(pairs, key=lambda pair: (len(pair[0]), len(pair[1]), draw.random())):
        longest = max(longest, *map(len, pair))
        if (len(found[-1]) + 1) * longest > tokens:
            found.append([])
            longest = max(map(len, pair))
        found[-1].append(pair)
    draw.shuffle(found)
    return found


def loss_of(model, batch, smoothing):
    """Summed over the target's tokens, and how many there are."""
    source, target = (padded(side) for side in zip(*batch))
    mask = padding_mask(source)
    hidden = model.decode(after_bos(target), model.encode(source, mask), mask)
    real = target != PAD
    logits = functional.linear(hidden[real], model.embedding.weight)
    return functional.cross_entropy(logits, target[real], label_smoothing=smoothing, reduction="sum"), int(real.sum())


@torch.no_grad()
def validation_loss(model, pairs):
    model.eval()
    sums = [loss_of(model, pairs[i:i + 64], 0.0) for i in range(0, len(pairs), 64)]
    model.train()
    return sum(float(loss) for loss, _ in sums) / sum(count for _, count in sums)


@torch.no_grad()
def greedy(model, sources):
    model.eval()
    source = padded(sources)
    mask = padding_mask(source)
    memory = model.encode(source, mask)
    written = torch.full((len(sources), 1), BOS)
    for _ in range(2 * source.shape[1] + 20):
        last = model.decode(written, memory, mask)[:, -1]
        following = functional.linear(last, model.embedding.weight).argmax(dim=-1, keepdim=True)
        written = torch.cat([written, following], dim=1)
        if (written == EOS).any(dim=1).all():
            break
    return [row[1:row.index(EOS)] if EOS in row else row[1:] for row in written.tolist()]


def main(options):
    data = {split: [lines(options.data / f"{split}.{side}") for side in ("en", "de")]
            for split in ("train", "valid", "test")}
    counts = collections.Counter(piece for side in data["train"] for line in side for piece in line)
    pieces = ["<pad>", "<s>", "</s>", "<unk>"] + [piece for piece, _ in counts.most_common()]
    index = {piece: i for i, piece in enumerate(pieces)}
    pairs = {split: [tuple([index.get(piece, UNK) for piece in line] + [EOS] for line in pair)
                     for pair in zip(*sides)] for split, sides in data.items()}
    pairs["train"] = [pair for pair in pairs["train"] if max(map(len, pair)) <= LONGEST + 1]
    model, draw = Tiny(len(pieces)).train(), random.Random(1)
    adam = fastest_adam(model)
    seconds, update, waiting, begin = 0.0, 0, [], time.perf_counter()
    while update < options.updates:
        if len(waiting) < 2:
            waiting += batches(pairs["train"], 4096, draw)
        update += 1
        adam.zero_grad(set_to_none=True)
        tokens = 0
        for _ in range(2):
            loss, count = loss_of(model, waiting.pop(0), 0.1)
            loss.backward()
            tokens += count
        for parameter in model.parameters():
            parameter.grad /= tokens
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in adam.param_groups:
            group["lr"] = 5e-3 * min(update / 2000, math.sqrt(2000 / update))
        adam.step()
        if update % 200 == 0 or update == options.updates:
            seconds += time.perf_counter() - begin
            print(json.dumps({"update": update, "seconds": round(seconds, 1),
                              "valid_loss": round(validation_loss(model, pairs["valid"]), 4),
                              "torch": torch.__version__, "threads": options.threads}), flush=True)
            begin = time.perf_counter()
    sources = [source for source, _ in pairs["test"]]
    translations = [row for i in range(0, len(sources), 64) for row in greedy(model, sources[i:i + 64])]
    text = "".join(" ".join(pieces[i] for i in row).replace("@@ ", "") + "\n" for row in translations)
    options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--updates", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("translations.de"))
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    main(arguments)
