"""The model of `surd bench` in PyTorch, for comparison: one JSON line for each thing measured.

    torch_peer.py step --config toy-64 [--surd PROGRAM] [--threads N] [--secs S] [--dropout P] [--compile]
    torch_peer.py decode --config m30k-256 [--surd PROGRAM] [--threads N] [--secs S]
    torch_peer.py check

The shapes are those that `surd bench shapes` prints.

Pre-LN encoder-decoder, or a decoder alone where a shape has no sources, one embedding matrix tied three ways, ReLU, label
smoothing 0.1, clipping at norm 1, Adam; written as people write it, with scaled_dot_product_attention where this PyTorch
has it. Beam search keeps the keys and values of past positions, and makes those of the source once for each sentence;
"check" compares what it writes with what a decoder run over the whole prefix at each position writes.
"""
import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional

PAD, BOS, EOS = 0, 1, 2


class MultiHead(nn.Module):
    def __init__(self, width, heads, rate):
        super().__init__()
        self.heads, self.rate = heads, rate
        self.query, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def mix(self, queries, keys, values, mask, causal):
        q, k, v = map(self.split, (queries, keys, values))
        return self.attend(q, k, v, mask, causal)

    def attend(self, q, k, v, mask=None, causal=False):
        """Of heads: [batch, heads, positions, d_k] each, to [batch, positions, width]."""
        rate = self.rate if self.training else 0.0
        if hasattr(functional, "scaled_dot_product_attention"):
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate, is_causal=causal)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            if causal:
                mask = torch.full(scores.shape[-2:], float("-inf")).triu(1)
            weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
            mixed = functional.dropout(weights, rate, self.training) @ v
        return mixed.transpose(1, 2).flatten(2)

    def forward(self, x, memory, mask=None, causal=False):
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        return self.output(self.mix(self.query(x), keys, values, mask, causal))


class Layer(nn.Module):
    def __init__(self, width, heads, inner, rate, decoder):
        super().__init__()
        self.rate = rate
        self.self_attention = MultiHead(width, heads, rate)
        self.cross_attention = MultiHead(width, heads, rate) if decoder else None
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3 if decoder else 2)])

    def add(self, x, y):
        return x + functional.dropout(y, self.rate, self.training)

    def forward(self, x, mask, memory=None, causal=False):
        """An encoder's layer, or a decoder's where there is a memory; the mask hides padding of the source. Causal without
        a memory it is that of a decoder alone."""
        causal = causal or memory is not None
        y = self.norms[0](x)
        x = self.add(x, self.self_attention(y, y, None if causal else mask, causal=causal))
        if memory is not None:
            x = self.add(x, self.cross_attention(self.norms[1](x), memory, mask))
        return self.add(x, self.outer(functional.relu(self.inner(self.norms[-1](x)))))


class Translator(nn.Module):
    def __init__(self, vocabulary, width, heads, inner, layers, rate, longest=256):
        super().__init__()
        self.width, self.rate = width, rate
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        angle = torch.arange(longest)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1))
        self.encoder = nn.ModuleList([Layer(width, heads, inner, rate, False) for _ in range(layers)])
        self.decoder = nn.ModuleList([Layer(width, heads, inner, rate, True) for _ in range(layers)])
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def embed(self, ids):
        x = self.embedding(ids) * math.sqrt(self.width) + self.positions[: ids.shape[1]]
        return functional.dropout(x, self.rate, self.training)

    def encode(self, source, source_mask):
        x = self.embed(source)
        for layer in self.encoder:
            x = layer(x, source_mask)
        return self.encoder_norm(x)

    def decode(self, target, memory, source_mask):
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, source_mask, memory)
        return self.decoder_norm(x)

    def forward(self, source, target, source_mask):
        hidden = self.decode(target, self.encode(source, source_mask), source_mask)
        return functional.linear(hidden, self.embedding.weight)


class LanguageModel(Translator):
    """A decoder alone."""

    def __init__(self, vocabulary, width, heads, inner, layers, rate):
        super().__init__(vocabulary, width, heads, inner, 0, rate)
        self.encoder_norm = nn.Identity()
        self.decoder = nn.ModuleList([Layer(width, heads, inner, rate, False) for _ in range(layers)])

    def forward(self, source, target, source_mask):
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, None, causal=True)
        return functional.linear(self.decoder_norm(x), self.embedding.weight)


def start_as_surd_does(model):
    """Linear maps by Xavier's rule, keys and values each on their own; biases at 0."""
    for name, values in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(values)
        elif values.dim() == 2 and "embedding" not in name:
            for matrix in values.chunk(2) if "key_value" in name else [values]:
                nn.init.xavier_uniform_(matrix)


def padding_mask(source):
    """What is added to scores [batch, 1, 1, length]; None where nothing is padded."""
    if not (source == PAD).any():
        return None
    return torch.zeros(len(source), 1, 1, source.shape[1]).masked_fill((source == PAD)[:, None, None, :], float("-inf"))


def after_bos(target):
    """What the decoder has read when it writes each token of the target."""
    return torch.cat([torch.full((len(target), 1), BOS), target[:, :-1]], dim=1)


def fastest_adam(model):
    """Fused where this PyTorch has that on a CPU."""
    settings = {"lr": 1e-3, "betas": (0.9, 0.98), "eps": 1e-9}
    try:
        return torch.optim.Adam(model.parameters(), fused=True, **settings)
    except (RuntimeError, TypeError):
        return torch.optim.Adam(model.parameters(), **settings)


def repeat(work, seconds, warm_up=3, least=5):
    for _ in range(warm_up):
        work()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < least:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), len(times)


def shape_of(arguments):
    printed = subprocess.run([arguments.surd, "bench", "shapes", "--json"], capture_output=True, text=True, check=True)
    shapes = {shape["name"]: shape for shape in map(json.loads, printed.stdout.splitlines())}
    if arguments.config not in shapes:
        sys.exit(f"there is no shape {arguments.config}; there are {', '.join(shapes)}")
    shape = shapes[arguments.config]
    return [shape[key] for key in ("vocabulary", "d_model", "heads", "feed_forward_width", "layers", "batch_size",
                                   "source_length", "target_length")]


def step(arguments):
    vocabulary, width, heads, inner, layers, batch, source_length, target_length = shape_of(arguments)
    kind = Translator if source_length > 0 else LanguageModel
    model = kind(vocabulary, width, heads, inner, layers, arguments.dropout).train()
    forward = torch.compile(model) if arguments.compile else model
    adam = fastest_adam(model)
    source = torch.randint(4, vocabulary, (batch, source_length))
    target = torch.randint(4, vocabulary, (batch, target_length + 1))

    def update():
        adam.zero_grad(set_to_none=True)
        logits = forward(source, target[:, :-1], None)
        loss = functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        loss.item()

    seconds, steps = repeat(update, arguments.secs)
    report(arguments, step_ms=1e3 * seconds, tokens_per_s=round(batch * (source_length + target_length) / seconds),
           params=sum(p.numel() for p in model.parameters()), compile=arguments.compile, steps=steps)


class Past:
    """Keys and values of a source and of the positions so far, each made once."""

    def __init__(self, model, source, beam, length):
        self.model, self.position, self.shape = model, 0, (len(source), beam, model.width)
        memory, maps = model.encode(source, None), [layer.cross_attention for layer in model.decoder]
        self.of_source = [[m.split(part).contiguous() for part in m.key_value(memory).chunk(2, dim=-1)] for m in maps]
        heads = maps[0].heads
        self.of_target = memory.new_empty(len(maps), 2, len(source) * beam, heads, length, model.width // heads)

    def read(self, prefixes):
        """The last state of each prefix, of which all but the last token was read before."""
        batch, beam, _ = self.shape
        x = self.model.embedding(prefixes[:, -1]) * math.sqrt(self.model.width) + self.model.positions[self.position]
        x = x.view(self.shape)
        for layer, (keys, values), past in zip(self.model.decoder, self.of_source, self.of_target):
            own, cross = layer.self_attention, layer.cross_attention
            y = layer.norms[0](x)
            past[:, :, :, self.position] = own.key_value(y).view(batch * beam, 2, own.heads, -1).transpose(0, 1)
            queries = own.query(y).view(batch * beam, own.heads, 1, -1)
            x = x + own.output(own.attend(queries, *past[:, :, :, : self.position + 1])).view(self.shape)
            # The prefixes of a sentence are its queries, side by side: none needs the source's keys for itself.
            x = x + cross.output(cross.attend(cross.split(cross.query(layer.norms[1](x))), keys, values))
            x = x + layer.outer(functional.relu(layer.inner(layer.norms[-1](x))))
        self.position += 1
        return self.model.decoder_norm(x).flatten(0, 1)

    def follow(self, rows):
        """Each prefix goes on from the row that it is given."""
        if self.shape[1] > 1:
            self.of_target = self.of_target.index_select(2, rows)


class WholePrefix:
    """Nothing is kept: the decoder reads the whole prefix each time."""

    def __init__(self, model, source, beam, length):
        self.model, self.memory = model, model.encode(source, None).repeat_interleave(beam, dim=0)

    def read(self, prefixes):
        return self.model.decode(prefixes, self.memory, None)[:, -1]

    def follow(self, rows):
        pass


@torch.no_grad()
def beam_search(model, source, beam, length, kept=Past):
    """The beam best translations of each source, all of the full length unless they end in EOS before."""
    batch = source.shape[0]
    decoder = kept(model, source, beam, length)
    prefixes = torch.full((batch * beam, 1), BOS)
    scores = torch.full((batch, beam), float("-inf"))
    scores[:, 0] = 0
    ended = torch.zeros(batch * beam, dtype=torch.bool)
    for _ in range(length):
        logs = functional.log_softmax(functional.linear(decoder.read(prefixes), model.embedding.weight), dim=-1)
        logs[:, [PAD, BOS]] = float("-inf")
        logs[ended] = float("-inf")
        logs[ended, PAD] = 0
        size = logs.shape[-1]
        scores, chosen = (scores[:, :, None] + logs.view(batch, beam, size)).flatten(1).topk(beam, dim=-1)
        rows = (torch.arange(batch)[:, None] * beam + chosen // size).flatten()
        tokens = (chosen % size).flatten()
        prefixes = torch.cat([prefixes[rows], tokens[:, None]], dim=1)
        decoder.follow(rows)
        ended = ended[rows] | (tokens == EOS)
        if ended.all():
            break
    return prefixes


def decode(arguments):
    vocabulary, width, heads, inner, layers, _, source_length, target_length = shape_of(arguments)
    model = Translator(vocabulary, width, heads, inner, layers, 0.0).eval()
    for beam in (1, 5):
        for batch in (1, 64):
            source = torch.randint(4, vocabulary, (batch, source_length))
            seconds, rounds = repeat(lambda: beam_search(model, source, beam, target_length), arguments.secs, 1, 3)
            report(arguments, beam=beam, batch=batch, sentences_per_s=round(batch / seconds, 2), rounds=rounds,
                   keeps_keys_and_values=True)


def check(_):
    """Small models in double precision, so that no two scores are alike to rounding."""
    torch.set_default_dtype(torch.float64)
    ended = 0
    for seed in range(20):
        torch.manual_seed(seed)
        model = Translator(vocabulary=12, width=32, heads=4, inner=64, layers=2, rate=0.0).eval()
        for beam in (1, 2, 5):
            for batch in (1, 7):
                source = torch.randint(4, 12, (batch, 9))
                written = [beam_search(model, source, beam, 10, kept) for kept in (Past, WholePrefix)]
                if not torch.equal(*written):
                    sys.exit(f"seed {seed}, beam {beam}, {batch} sentences: {written}")
                ended += int((written[0] == EOS).sum())
    print(f"beam search writes the same with and without kept keys and values; {ended} prefixes ended early")


def report(arguments, **figures):
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"peer": "torch " + torch.__version__, "config": arguments.config, "threads": arguments.threads,
                      **figures, "peak_memory_bytes": peak}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["step", "decode", "check"])
    parser.add_argument("--config", default="toy-64", metavar="SHAPE")
    parser.add_argument("--surd", default="build/release/experiments/surd", metavar="PROGRAM")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--secs", type=float, default=5)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    {"step": step, "decode": decode, "check": check}[options.what](options)
