"""The recipe of experiments/configs/multi30k.yaml in PyTorch: the same model, batches, schedule and loss, other initial
values. One JSON line an evaluation: updates, seconds of training until then, the tokens of source and target that were
read, the loss on the validation split; at the end greedy translations of the test split into a file, for surd bleu.

    torch_multi30k.py DATA [--updates 5000] [--threads 2] [--packed] [--out translations.de]

DATA holds train.en, train.de, valid.en, valid.de, test.en and test.de, cut into pieces that end in @@. Written for speed
as people would: batches of pairs of similar length, Adam fused where this PyTorch has it, the output projection for real
tokens only; with --packed, everything but attention.
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


class Rows:
    """How the positions of a batch stand in a tensor: in rows, padded to the longest; or packed, those that are no padding
    one behind another, which go into rows for attention alone."""

    def __init__(self, ids, packed):
        self.shape, self.mask = ids.shape, padding_mask(ids)
        self.real = (ids != PAD).flatten().nonzero()[:, 0] if packed and self.mask is not None else None

    def positions_of(self, rows):
        return rows if self.real is None else rows.flatten(0, 1)[self.real]

    def rows_of(self, positions):
        if self.real is None:
            return positions
        padded = positions.new_zeros(self.shape.numel(), positions.shape[-1])
        return padded.index_copy(0, self.real, positions).unflatten(0, self.shape)


class AttentionOfRows(MultiHead):
    def forward(self, x, rows, memory, memory_rows, causal):
        keys, values = memory_rows.rows_of(self.key_value(memory)).chunk(2, dim=-1)
        mask = None if causal else memory_rows.mask
        return self.output(rows.positions_of(self.mix(rows.rows_of(self.query(x)), keys, values, mask, causal)))


class PostNormLayer(Layer):
    """norm(x + f(x)), as in the paper; no dropout on attention weights."""

    def __init__(self, decoder):
        super().__init__(width=128, heads=4, inner=256, rate=0.3, decoder=decoder)
        self.self_attention = AttentionOfRows(128, 4, 0.0)
        self.cross_attention = AttentionOfRows(128, 4, 0.0) if decoder else None

    def forward(self, x, rows, memory=None, memory_rows=None):
        x = self.norms[0](self.add(x, self.self_attention(x, rows, x, rows, causal=memory is not None)))
        if memory is not None:
            x = self.norms[1](self.add(x, self.cross_attention(x, rows, memory, memory_rows, causal=False)))
        return self.norms[-1](self.add(x, self.outer(functional.relu(self.inner(x)))))


class Tiny(Translator):
    def __init__(self, vocabulary):
        super().__init__(vocabulary, width=128, heads=4, inner=256, layers=0, rate=0.3)
        self.encoder = nn.ModuleList([PostNormLayer(decoder=False) for _ in range(4)])
        self.decoder = nn.ModuleList([PostNormLayer(decoder=True) for _ in range(4)])
        self.encoder_norm = self.decoder_norm = nn.Identity()
        start_as_surd_does(self)

    def embed(self, ids, rows):
        x = self.embedding(rows.positions_of(ids)) * math.sqrt(self.width)
        x = x + rows.positions_of(self.positions[: ids.shape[1]].expand(*ids.shape, -1))
        return functional.dropout(x, self.rate, self.training)

    def encode(self, source, rows):
        x = self.embed(source, rows)
        for layer in self.encoder:
            x = layer(x, rows)
        return x

    def decode(self, target, rows, memory, memory_rows):
        x = self.embed(target, rows)
        for layer in self.decoder:
            x = layer(x, rows, memory, memory_rows)
        return x


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


def loss_of(model, batch, smoothing, packed):
    """Summed over the target's tokens, and how many there are."""
    source, target = (padded(side) for side in zip(*batch))
    source_rows, target_rows = Rows(source, packed), Rows(target, packed)
    hidden = model.decode(after_bos(target), target_rows, model.encode(source, source_rows), source_rows)
    real = target[target != PAD]
    logits = functional.linear(hidden if hidden.dim() == 2 else hidden[target != PAD], model.embedding.weight)
    return functional.cross_entropy(logits, real, label_smoothing=smoothing, reduction="sum"), len(real)


@torch.no_grad()
def validation_loss(model, pairs):
    model.eval()
    sums = [loss_of(model, pairs[i:i + 64], 0.0, packed=False) for i in range(0, len(pairs), 64)]
    model.train()
    return sum(float(loss) for loss, _ in sums) / sum(count for _, count in sums)


@torch.no_grad()
def greedy(model, sources):
    model.eval()
    source = padded(sources)
    rows = Rows(source, packed=False)
    memory = model.encode(source, rows)
    written = torch.full((len(sources), 1), BOS)
    for _ in range(2 * source.shape[1] + 20):
        last = model.decode(written, Rows(written, packed=False), memory, rows)[:, -1]
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
    seconds, update, read, waiting, begin = 0.0, 0, 0, [], time.perf_counter()
    while update < options.updates:
        if len(waiting) < 2:
            waiting += batches(pairs["train"], 4096, draw)
        update += 1
        adam.zero_grad(set_to_none=True)
        tokens = 0
        for _ in range(2):
            batch = waiting.pop(0)
            loss, count = loss_of(model, batch, 0.1, options.packed)
            loss.backward()
            tokens += count
            read += sum(len(side) for pair in batch for side in pair)
        for parameter in model.parameters():
            parameter.grad /= tokens
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in adam.param_groups:
            group["lr"] = 5e-3 * min(update / 2000, math.sqrt(2000 / update))
        adam.step()
        if update % 200 == 0 or update == options.updates:
            seconds += time.perf_counter() - begin
            print(json.dumps({"update": update, "seconds": round(seconds, 3), "tokens": read,
                              "valid_loss": round(validation_loss(model, pairs["valid"]), 4),
                              "params": sum(p.numel() for p in model.parameters()),
                              "torch": torch.__version__, "threads": options.threads}), flush=True)
            begin = time.perf_counter()
    if options.out is None:
        return
    sources = [source for source, _ in pairs["test"]]
    translations = [row for i in range(0, len(sources), 64) for row in greedy(model, sources[i:i + 64])]
    text = "".join(" ".join(pieces[i] for i in row).replace("@@ ", "") + "\n" for row in translations)
    options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--updates", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    main(arguments)
