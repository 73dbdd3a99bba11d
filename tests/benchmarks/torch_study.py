"""What `surd study run` does, in PyTorch: runs of the model of experiments/configs/study.yaml that learn to reverse, with
other initial values and data of the same distribution; one JSON line for all of them.

    torch_study.py [--runs 40] [--updates 600] [--jobs 2]

Written for speed as people would: a process a core on one thread each, that makes one run after the other; batches of
pairs of one length, so that hardly any is padded or masked; Adam fused where this PyTorch has it.
"""
import argparse
import json
import math
import multiprocessing
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

from torch_peer import EOS, PAD, Translator, after_bos, fastest_adam, padding_mask, start_as_surd_does

SYMBOLS, SHORTEST, LONGEST, BATCH, WARM_UP, RATE = 26, 2, 10, 32, 100, 1e-3


class Reverser(Translator):
    """The source has a matrix of its own; the target's is the output's too."""

    def __init__(self):
        super().__init__(vocabulary=SYMBOLS + 4, width=64, heads=4, inner=128, layers=1, rate=0.0)
        self.source_embedding = nn.Embedding(SYMBOLS + 4, self.width)
        nn.init.normal_(self.source_embedding.weight, std=self.width**-0.5)
        start_as_surd_does(self)

    def encode(self, source, source_mask):
        x = self.source_embedding(source) * math.sqrt(self.width) + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x, source_mask)
        return self.encoder_norm(x)


def pairs(count, random):
    """Sequences [count, LONGEST + 1], none twice, their reverse, and their lengths with the end of the sequence."""
    more = 2 * count
    lengths = torch.randint(SHORTEST, LONGEST + 1, (more, 1), generator=random)
    source = torch.randint(4, SYMBOLS + 4, (more, LONGEST + 1), generator=random)
    places = torch.arange(LONGEST + 1)[None, :]
    source = source.masked_fill(places > lengths, PAD).masked_fill(places == lengths, EOS).unique(dim=0)
    source = source[torch.randperm(len(source), generator=random)[:count]]
    lengths = (source == EOS).int().argmax(dim=1, keepdim=True)
    backwards = (lengths - 1 - places).clamp(min=0)
    target = source.gather(1, backwards).masked_fill(places > lengths, PAD).masked_fill(places == lengths, EOS)
    return source, target, lengths[:, 0] + 1


def batch_of(data, rows):
    """Source, target behind the beginning of the sequence, target, and a mask where lengths differ."""
    source, target, lengths = (part[rows] for part in data)
    longest = int(lengths.max())
    source, target = source[:, :longest], target[:, :longest]
    return source, after_bos(target), target, padding_mask(source) if int(lengths.min()) < longest else None


def batches(data, random):
    """Without end: those of an epoch, of pairs sorted by length, in random order."""
    count = len(data[2])
    while True:
        shuffled = torch.randperm(count, generator=random)
        order = shuffled[torch.argsort(data[2][shuffled], stable=True)]
        for index in torch.randperm(count // BATCH, generator=random):
            yield batch_of(data, order[index * BATCH:(index + 1) * BATCH])


def losses(model, source, before, target, mask):
    logits = model(source, before, mask).flatten(0, 1)
    return logits, functional.cross_entropy(logits, target.flatten(), ignore_index=PAD)


@torch.no_grad()
def evaluate(model, batch):
    model.eval()
    logits, loss = losses(model, *batch)
    target = batch[2].flatten()
    real = target != PAD
    model.train()
    return loss.item(), (logits.argmax(-1) == target)[real].float().mean().item()


def run(job):
    """The token accuracy of one run on pairs it has not seen, and the number of parameters."""
    seed, updates = job
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed)
    data = pairs(20200, random)
    unseen = batch_of([part[20000:] for part in data], torch.arange(200))
    data = [part[:20000] for part in data]
    model = Reverser().train()
    adam = fastest_adam(model)
    stream = batches(data, random)
    accuracy = 0.0
    for update in range(1, updates + 1):
        adam.param_groups[0]["lr"] = RATE * min(update / WARM_UP, (updates - update + 1) / (updates - WARM_UP))
        adam.zero_grad(set_to_none=True)
        _, loss = losses(model, *next(stream))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        if update % 50 == 0:
            _, accuracy = evaluate(model, unseen)
    return accuracy, sum(p.numel() for p in model.parameters())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.jobs, torch.set_num_threads, (1,)) as workers:
        made = workers.map(run, [(seed, options.updates) for seed in range(options.runs)], chunksize=1)
    print(json.dumps({"peer": "torch " + torch.__version__, "runs": options.runs,
                      "seconds": time.perf_counter() - start, "params": made[0][1],
                      "token_accuracy": statistics.median(accuracy for accuracy, _ in made)}))


if __name__ == "__main__":
    main()
