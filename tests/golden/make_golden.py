#!/usr/bin/env python3
"""Makes the golden files beside this script: numbers of a small Transformer computed by PyTorch in float64.

    /usr/bin/python3 tests/golden/make_golden.py [FOLDER]

It needs PyTorch alone (1.13 of Debian bookworm made the files that are stored) and writes one safetensors file a
variant. The model is written from its definition (Vaswani et al. 2017), parameters are named as surd names them, and
each encoder and decoder stack is compared with torch.nn.Transformer{En,De}coderLayer before anything is written. There
is no dropout. A file holds

    parameter.NAME   F32  initial values, which every arithmetic can represent exactly
    gradient.NAME    F64  of the loss of batch 0 at these values
    batch.I.source, .source_lengths, .target_input, .target_output   I32
    encoded, hidden, logits, loss   F64  forward pass of batch 0
    trace.loss, .gradient_norm, .rate   F64 [100]  training on batches 0, 1, 2, 0, ...; norms before clipping
    final.NAME       F64 [2]  sum and Euclidean norm of the parameter after those updates
    whole.loss, .gradient_norm, .rate   F64 [100]  training from the start again, on all pairs as one batch
"""
import json
import math
import pathlib
import struct
import sys

import torch
import torch.nn.functional as F

WIDTH, HEADS, INNER, LAYERS = 16, 4, 32, 2
SOURCE_VOCABULARY, TARGET_VOCABULARY, SHARED_VOCABULARY = 23, 19, 21
PAD, BOS, EOS = 0, 1, 2
SMOOTHING = 0.1
# With this rate and seed, float arithmetic can follow: PyTorch's own float32 stays within 3e-7 of these losses. At a
# peak of 3e-3, or where a run passes close to ReLU's kink, it strays by more than 1e-5 within 100 updates.
UPDATES, WARM_UP, PEAK_RATE, CLIP = 100, 20, 1e-3, 1.0
SEED = 5
VARIANTS = [("pre", "decoder"), ("pre", "none"), ("post", "decoder"), ("post", "none"), ("pre", "all")]


# --- parameters and data ----------------------------------------------------------------------------------------------

def make_parameters(placement, tie, source_vocabulary, target_vocabulary):
    """Everything is random, biases and the norms' weights too, so that no mistake hides behind a zero or a one."""
    generator = torch.Generator().manual_seed(SEED)
    parameters = {}

    def add(name, shape, deviation, mean=0.0):
        value = (mean + deviation * torch.randn(shape, generator=generator)).float().double()
        parameters[name] = value.requires_grad_()

    def linear(name, inner, outer):
        add(name + ".weight", (outer, inner), inner ** -0.5)
        add(name + ".bias", (outer,), 0.1)

    def norm(name):
        add(name + ".weight", (WIDTH,), 0.1, 1.0)
        add(name + ".bias", (WIDTH,), 0.1)

    def block(path, attentions):
        for attention in attentions:
            for projection in ("query", "key", "value", "output"):
                linear(f"{path}.{attention}.{projection}", WIDTH, WIDTH)
            norm(f"{path}.{attention}_residual.norm")
        linear(path + ".feed_forward.inner", WIDTH, INNER)
        linear(path + ".feed_forward.outer", INNER, WIDTH)
        norm(path + ".feed_forward_residual.norm")

    if tie == "all":
        add("target_embedding.weight", (target_vocabulary, WIDTH), WIDTH ** -0.5)
    else:
        add("source_embedding.weight", (source_vocabulary, WIDTH), WIDTH ** -0.5)
        add("target_embedding.weight", (target_vocabulary, WIDTH), WIDTH ** -0.5)
    for i in range(LAYERS):
        block(f"encoder.{i}", ["self_attention"])
        block(f"decoder.{i}", ["self_attention", "cross_attention"])
    if placement == "pre":
        norm("encoder.norm")
        norm("decoder.norm")
    if tie == "none":
        add("output.weight", (target_vocabulary, WIDTH), WIDTH ** -0.5)
    return parameters


def make_pairs(lengths, source_vocabulary, target_vocabulary, generator):
    """Random sentences of the given (source, target) lengths, eos and bos not counted."""
    def draw(n, vocabulary):
        return torch.randint(3, vocabulary, (n,), generator=generator).tolist()

    return [(draw(s, source_vocabulary) + [EOS], draw(t, target_vocabulary)) for s, t in lengths]


def make_batch(pairs):
    def padded(rows):
        longest = max(map(len, rows))
        return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])

    sources, targets = zip(*pairs)
    return {"source": padded(sources), "source_lengths": torch.tensor(list(map(len, sources))),
            "target_input": padded([[BOS] + t for t in targets]), "target_output": padded([t + [EOS] for t in targets])}


# --- the model --------------------------------------------------------------------------------------------------------

class Transformer:
    def __init__(self, parameters, placement, tie):
        self.p, self.placement, self.tie = parameters, placement, tie

    def linear(self, path, x):
        return x @ self.p[path + ".weight"].T + self.p[path + ".bias"]

    def norm(self, path, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred ** 2).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * self.p[path + ".weight"] + self.p[path + ".bias"]

    def attention(self, path, queries, memory, mask):
        """mask [B or 1, Tq or 1, Tk]: true where a query may look."""
        def heads(x):
            return x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

        q, k, v = (heads(self.linear(f"{path}.{name}", x))
                   for name, x in (("query", queries), ("key", memory), ("value", memory)))
        scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        weights = torch.softmax(scores.masked_fill(~mask[:, None], -math.inf), -1)
        return self.linear(path + ".output", (weights @ v).transpose(1, 2).reshape(queries.shape))

    def residual(self, path, x, sub_layer):
        if self.placement == "pre":
            return x + sub_layer(self.norm(path + ".norm", x))
        return self.norm(path + ".norm", x + sub_layer(x))

    def feed_forward(self, path, x):
        return self.linear(path + ".outer", torch.relu(self.linear(path + ".inner", x)))

    def encoder(self, x, mask):
        for i in range(LAYERS):
            path = f"encoder.{i}"
            x = self.residual(path + ".self_attention_residual", x,
                              lambda y: self.attention(path + ".self_attention", y, y, mask))
            x = self.residual(path + ".feed_forward_residual", x,
                              lambda y: self.feed_forward(path + ".feed_forward", y))
        return self.norm("encoder.norm", x) if self.placement == "pre" else x

    def decoder(self, x, encoded, mask):
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()[None]
        for i in range(LAYERS):
            path = f"decoder.{i}"
            x = self.residual(path + ".self_attention_residual", x,
                              lambda y: self.attention(path + ".self_attention", y, y, causal))
            x = self.residual(path + ".cross_attention_residual", x,
                              lambda y: self.attention(path + ".cross_attention", y, encoded, mask))
            x = self.residual(path + ".feed_forward_residual", x,
                              lambda y: self.feed_forward(path + ".feed_forward", y))
        return self.norm("decoder.norm", x) if self.placement == "pre" else x

    def embed(self, side, ids):
        weight = self.p[("target" if self.tie == "all" else side) + "_embedding.weight"]
        position = torch.arange(ids.shape[1], dtype=torch.float64)[:, None]
        angle = position / 10000 ** (torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)
        encoding = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)  # sin, cos side by side
        return weight[ids] * math.sqrt(WIDTH) + encoding

    def forward(self, batch):
        mask = (torch.arange(batch["source"].shape[1]) < batch["source_lengths"][:, None])[:, None]
        encoded = self.encoder(self.embed("source", batch["source"]), mask)
        hidden = self.decoder(self.embed("target", batch["target_input"]), encoded, mask)
        output = "output" if self.tie == "none" else "target_embedding"
        return encoded, hidden, hidden @ self.p[output + ".weight"].T

    def loss(self, batch):
        encoded, hidden, logits = self.forward(batch)
        targets, vocabulary = batch["target_output"].flatten(), logits.shape[-1]
        wanted = (1 - SMOOTHING) * F.one_hot(targets, vocabulary).double() + SMOOTHING / vocabulary
        nats = -(wanted * torch.log_softmax(logits.flatten(0, 1), -1)).sum(-1)
        kept = targets != PAD
        return encoded, hidden, logits, nats[kept].sum() / kept.sum()


def check_against_torch(model, batch):
    """The stacks and the loss above against PyTorch's own."""
    def load(layer, path, attentions):
        for ours, theirs in attentions:
            attention = getattr(layer, theirs)
            for kind in ("weight", "bias"):
                getattr(attention, "in_proj_" + kind).copy_(
                    torch.cat([model.p[f"{path}.{ours}.{name}.{kind}"] for name in ("query", "key", "value")]))
                getattr(attention.out_proj, kind).copy_(model.p[f"{path}.{ours}.output.{kind}"])
        sub_layers = [ours for ours, _ in attentions] + ["feed_forward"]
        for kind in ("weight", "bias"):
            for i, sub_layer in enumerate(sub_layers):
                getattr(getattr(layer, f"norm{i + 1}"), kind).copy_(model.p[f"{path}.{sub_layer}_residual.norm.{kind}"])
            getattr(layer.linear1, kind).copy_(model.p[f"{path}.feed_forward.inner.{kind}"])
            getattr(layer.linear2, kind).copy_(model.p[f"{path}.feed_forward.outer.{kind}"])

    def last_norm(path, x):
        if model.placement == "post":
            return x
        return F.layer_norm(x, (WIDTH,), model.p[path + ".weight"], model.p[path + ".bias"], 1e-5)

    arguments = dict(d_model=WIDTH, nhead=HEADS, dim_feedforward=INNER, dropout=0.0, batch_first=True,
                     norm_first=model.placement == "pre", dtype=torch.float64)
    with torch.no_grad():
        padding = torch.arange(batch["source"].shape[1]) >= batch["source_lengths"][:, None]
        x = model.embed("source", batch["source"])
        for i in range(LAYERS):
            layer = torch.nn.TransformerEncoderLayer(**arguments).train()  # train: not the fused inference path
            load(layer, f"encoder.{i}", [("self_attention", "self_attn")])
            x = layer(x, src_key_padding_mask=padding)
        encoded = last_norm("encoder.norm", x)
        y = model.embed("target", batch["target_input"])
        causal = torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1)
        for i in range(LAYERS):
            layer = torch.nn.TransformerDecoderLayer(**arguments).train()
            load(layer, f"decoder.{i}", [("self_attention", "self_attn"), ("cross_attention", "multihead_attn")])
            y = layer(y, encoded, tgt_mask=causal, memory_key_padding_mask=padding)
        hidden = last_norm("decoder.norm", y)
        ours = model.loss(batch)
        loss = F.cross_entropy(ours[2].flatten(0, 1), batch["target_output"].flatten(), ignore_index=PAD,
                               label_smoothing=SMOOTHING)
    for name, a, b in (("encoded", ours[0], encoded), ("hidden", ours[1], hidden), ("loss", ours[3], loss)):
        assert torch.allclose(a, b, rtol=0, atol=1e-12), f"{name} differs from PyTorch's own"


# --- training and storing ---------------------------------------------------------------------------------------------

def rate_at(update):
    """Linear warm-up to the peak, then falling with 1/sqrt(update); the first update is number 1."""
    return PEAK_RATE * min(update / WARM_UP, math.sqrt(WARM_UP / update))


def train(model, batches):
    parameters = list(model.p.values())
    optimizer = torch.optim.Adam(parameters, betas=(0.9, 0.98), eps=1e-9)
    trace = {"loss": [], "gradient_norm": [], "rate": []}
    for update in range(1, UPDATES + 1):
        optimizer.param_groups[0]["lr"] = rate_at(update)
        optimizer.zero_grad()
        loss = model.loss(batches[(update - 1) % len(batches)])[3]
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
        for name, value in (("loss", loss.item()), ("gradient_norm", norm.item()), ("rate", rate_at(update))):
            trace[name].append(value)
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in trace.items()}


def write_safetensors(path, tensors, metadata):
    kinds = {torch.float64: ("F64", "d"), torch.float32: ("F32", "f"), torch.int32: ("I32", "i")}
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in sorted(tensors.items()):
        kind, code = kinds[tensor.dtype]
        raw = struct.pack(f"<{tensor.numel()}{code}", *tensor.flatten().tolist())
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make(folder, placement, tie):
    vocabularies = (SHARED_VOCABULARY,) * 2 if tie == "all" else (SOURCE_VOCABULARY, TARGET_VOCABULARY)
    model = Transformer(make_parameters(placement, tie, *vocabularies), placement, tie)
    generator = torch.Generator().manual_seed(3762)
    pairs = [make_pairs(lengths, *vocabularies, generator)
             for lengths in ([(6, 4), (3, 6), (5, 5)], [(4, 3), (7, 2), (1, 1), (2, 6)], [(2, 5), (5, 1), (4, 4)])]
    batches = [make_batch(some) for some in pairs]
    tensors = {"parameter." + name: value.detach().float() for name, value in model.p.items()}
    for i, batch in enumerate(batches):
        check_against_torch(model, batch)
        tensors.update({f"batch.{i}.{name}": ids.int() for name, ids in batch.items()})
    encoded, hidden, logits, loss = model.loss(batches[0])
    loss.backward()
    tensors.update(encoded=encoded, hidden=hidden, logits=logits, loss=loss.reshape(1))
    tensors.update({"gradient." + name: value.grad.clone() for name, value in model.p.items()})
    trace = train(model, batches)
    tensors.update({"trace." + name: values for name, values in trace.items()})
    tensors.update({"final." + name: torch.stack([value.sum(), value.norm()]) for name, value in model.p.items()})
    model.p = make_parameters(placement, tie, *vocabularies)
    whole = train(model, [make_batch(sum(pairs, []))])
    tensors.update({"whole." + name: values for name, values in whole.items()})
    write_safetensors(folder / f"{placement}_{tie}.safetensors", {k: t.detach() for k, t in tensors.items()},
                      {"placement": placement, "tie": tie, "source_vocabulary": str(vocabularies[0]),
                       "target_vocabulary": str(vocabularies[1]), "torch": torch.__version__})
    clipped = int((trace["gradient_norm"] > CLIP).sum())
    print(f"{placement} {tie}: loss {trace['loss'][0]:.4f} -> {trace['loss'][-1]:.4f}, {clipped} updates clipped")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for variant in VARIANTS:
        make(target, *variant)
