#!/usr/bin/env python3
"""The Transformer of docs/model.md in PyTorch: a second model, written from that page alone, and the start of a port.

    model.py RUN SOURCE TARGET

prints what `surd score RUN --source SOURCE --target TARGET` prints, computed in float64: a JSON object a line with the
log-probability of each token of TARGET given that line of SOURCE. It needs PyTorch and PyYAML; a port keeps Model and
leaves out the options it does not use. The numbers in the comments are the page's sections.
"""
import json
import math
import pathlib
import re
import sys

import torch
import yaml

BOS, EOS, UNKNOWN = 1, 2, 3
ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: x / 2 * (1 + torch.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x**3))),
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "none": lambda x: x,
}


def read_safetensors(path):
    """The float32 tensors of a file by name, without an optimizer's, and its metadata."""
    data = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        if not name.startswith("optimizer."):
            first, last = entry["data_offsets"]
            values = torch.frombuffer(bytearray(data[begin + first : begin + last]), dtype=torch.float32)
            tensors[name] = values.reshape(entry["shape"])
    return tensors, metadata


def capped(x, cap):
    return x if cap is None else float(cap) * torch.tanh(x / float(cap))


def mean_square(x):
    return (x * x).mean(-1, keepdim=True)


class Model:
    """`options` is what a run's config.yaml has below `model`, `weights` are a checkpoint's tensors.

    Numbers like 1e-05 are text to PyYAML, hence the float() around them.
    """

    def __init__(self, options, weights, dtype=torch.float64):
        self.options, self.dtype = options, dtype
        self.weights = {name: tensor.to(dtype) for name, tensor in weights.items()}

    def __call__(self, source, target_input):
        """Token ids [B, S] and [B, T], padded with 0, to log-probabilities [B, T, V]."""
        if self.options.get("kind") == "decoder_only":
            return self.decode_alone(source, target_input)
        hidden_source = (source == 0)[:, None, None, :]
        future = torch.ones(target_input.shape[1], target_input.shape[1], dtype=torch.bool).triu(1)

        tied = self.options["embedding"]["tie"] == "all"
        x = self.embed("source", "target" if tied else "source", source)
        for i in range(self.options["encoder_layers"]):
            path = f"encoder.{i}."
            x = self.sub_layer(path + "self_attention", x, lambda x, p: self.attention(p, x, x, hidden_source))
            x = self.sub_layer(path + "feed_forward", x, lambda x, p: self.feed_forward(p, x))
        x = self.last_norm("encoder", x)

        y = self.embed("target", "target", target_input)
        for i in range(self.options["decoder_layers"]):
            path = f"decoder.{i}."
            y = self.sub_layer(path + "self_attention", y, lambda y, p: self.attention(p, y, y, future))
            y = self.sub_layer(path + "cross_attention", y, lambda y, p: self.attention(p, y, x, hidden_source))
            y = self.sub_layer(path + "feed_forward", y, lambda y, p: self.feed_forward(p, y))
        return self.log_probs(self.last_norm("decoder", y))

    def decode_alone(self, source, target_input):
        """One sequence after the other, the source without its padding."""
        rows = []
        for ids, target in zip(source, target_input):
            ids = ids[ids != 0]
            y = self.embed("target", "target", torch.cat([ids, target])[None])
            future = torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1)
            for i in range(self.options["decoder_layers"]):
                path = f"decoder.{i}."
                y = self.sub_layer(path + "self_attention", y, lambda y, p: self.attention(p, y, y, future))
                y = self.sub_layer(path + "feed_forward", y, lambda y, p: self.feed_forward(p, y))
            rows.append(self.log_probs(self.last_norm("decoder", y))[0, len(ids):])
        return torch.stack(rows)

    def log_probs(self, y):  # 8
        tie = self.options["embedding"]["tie"]
        logits = y @ self.weights["output.weight" if tie == "none" else "target_embedding.weight"].T
        logits = logits * self.factor("output", self.options["embedding"]["logit_scale"], self.options["d_model"])
        if self.options["embedding"]["output_bias"]:
            logits = logits + self.weights["output.bias"]
        return capped(logits, self.options["embedding"]["logit_cap"]).log_softmax(-1)

    def factor(self, path, text, dimension):  # 2
        if str(text).startswith("learned"):
            return self.weights[path + ".scale"]
        named = {"one": 1, "sqrt_dim": dimension**0.5, "inv_sqrt_dim": dimension**-0.5, "inv_dim": 1 / dimension}
        return math.prod(named[word] if word in named else float(word) for word in str(text).replace("*", " ").split())

    def linear(self, path, x):
        return x @ self.weights[path + ".weight"].T + self.weights.get(path + ".bias", 0)

    def embed(self, side, table, ids):  # 3
        options = self.options["embedding"]
        path = f"{table}_embedding"
        scale = self.factor(path, options["scale"], self.options["d_model"])
        x = scale * self.weights[path + ".weight"][ids] + self.positions(side, ids.shape[1])
        if options["norm"]:
            x = self.layer_norm(f"{side}_embedding.norm", x, float(options["norm_epsilon"]))
        return x

    def positions(self, side, length):  # 3
        options, d = self.options["positions"], self.options["d_model"]
        if options["kind"] == "none":
            return 0
        if options["kind"] == "learned":
            rows = self.weights["positions.weight" if options["shared"] else f"positions.{side}"][:length]
        else:
            centred_length = options["centred_length"] if options["centred"] else 0
            t = torch.arange(max(length, centred_length), dtype=self.dtype)[:, None] + options["offset"]
            m = d // 2 - (options["denominator"] == "half_dim_minus_one")
            angle = t / 10000 ** (torch.arange(d // 2, dtype=self.dtype) / m)
            parts = [angle.sin(), angle.cos()]
            rows = torch.cat(parts, -1) if options["layout"] == "sin_then_cos" else torch.stack(parts, -1).flatten(1)
            if options["centred"]:
                rows = rows - rows[:centred_length].mean(0)
            rows = rows[:length]
        return rows * self.factor("positions", options["scale"], d)

    def layer_norm(self, path, x, epsilon):
        x = x - x.mean(-1, keepdim=True)
        x = x / (mean_square(x) + epsilon).sqrt()
        return x * self.weights.get(path + ".weight", 1) + self.weights.get(path + ".bias", 0)

    def norm(self, path, x):  # 4
        kind, epsilon = self.options["norm"]["kind"], float(self.options["norm"]["epsilon"])
        if kind == "layer_norm":
            return self.layer_norm(path, x, epsilon)
        x = x / (mean_square(x) + epsilon).sqrt()
        if kind == "rms_norm":
            return x * self.weights.get(path + ".weight", 1)
        return x * self.weights[path + ".scale"] / x.shape[-1] ** 0.5

    def sub_layer(self, path, x, function):  # 5
        norm = path + "_residual.norm"
        if self.options["norm"]["placement"] == "pre":
            return x + function(self.norm(norm, x), path)
        return self.norm(norm, x + function(x, path))

    def last_norm(self, stack, x):  # 5
        return self.norm(stack + ".norm", x) if self.options["norm"]["placement"] == "pre" else x

    def attention(self, path, x, y, hidden):  # 6
        options, heads = self.options["attention"], self.options["heads"]
        kind = "none" if path.endswith("cross_attention") else options["name"]
        d_k = self.options["d_model"] // heads
        q, k, v = (self.linear(path + name, z).unflatten(-1, (-1, d_k)).transpose(1, 2)
                   for name, z in ((".query", x), (".key", y), (".value", y)))  # [B, heads, T, d_k]
        if options["query_key_norm"]:
            epsilon = float(options["query_key_norm_epsilon"])
            q, k = (z / (mean_square(z) + epsilon).sqrt() for z in (q, k))
            if options["query_key_norm"] == "l2":
                q, k = (z / d_k**0.5 for z in (q, k))
            else:
                q, k = q * self.weights[path + ".query_norm.weight"], k * self.weights[path + ".key_norm.weight"]
        if kind == "rotary":
            q, k = self.turn(q), self.turn(k)
        k, v = (z.repeat_interleave(heads // z.shape[1], 1) for z in (k, v))
        scores = q @ k.transpose(2, 3)
        if not options["absorb_scale"]:
            scores = scores * self.factor(path, options["scale"], d_k)
        distance = torch.arange(y.shape[1]) - torch.arange(x.shape[1])[:, None]  # j - t
        if kind == "alibi":
            scores = scores - self.slopes()[:, None, None] * distance.abs()
        if kind == "relative_bias":
            stack = path.split(".")[0]
            table = self.weights[stack + ".distance_bias.weight"]
            scores = scores + table[self.buckets(distance, stack == "encoder")].permute(2, 0, 1)
        weights = capped(scores, options["score_cap"]).masked_fill(hidden, -math.inf).softmax(-1)
        return self.linear(path + ".output", (weights @ v).transpose(1, 2).flatten(2))

    def turn(self, z):
        d_k = z.shape[-1]
        rate = float(self.options["attention"]["base"]) ** (-torch.arange(0, d_k, 2, dtype=self.dtype) / d_k)
        angle = torch.arange(z.shape[2], dtype=self.dtype)[:, None] * rate
        u, w = z[..., 0::2], z[..., 1::2]
        return torch.stack((angle.cos() * u - angle.sin() * w, angle.sin() * u + angle.cos() * w), -1).flatten(-2)

    def slopes(self):
        heads = self.options["heads"]
        n = 2 ** int(math.log2(heads))
        exponents = [h + 1 if h < n else h - n + 0.5 for h in range(heads)]
        return float(self.options["attention"]["slope"]) * 2 ** (-8 / n * torch.tensor(exponents, dtype=self.dtype))

    def buckets(self, distance, both_directions):
        n = self.options["attention"]["buckets"] // (2 if both_directions else 1)
        near = n // 2
        r = distance.abs()
        far = (r.clamp(min=1).double() / near).log() / math.log(self.options["attention"]["max_distance"] / near)
        far = (near + (far * (n - near)).floor().long()).clamp(max=n - 1)
        return torch.where(r < near, r, far) + n * (both_directions & (distance > 0))

    def feed_forward(self, path, x):  # 7
        f = ACTIVATIONS[self.options["feed_forward"]["activation"]]
        inner = self.linear(path + ".inner", x)
        gated = self.options["feed_forward"]["name"] == "gated"
        hidden = f(self.linear(path + ".gate", x)) * inner if gated else f(inner)
        return self.linear(path + ".outer", hidden)


class Run:
    """A run's folder: its resolved config, its vocabularies and the model of its best checkpoint."""

    def __init__(self, folder, dtype=torch.float64):
        folder = pathlib.Path(folder)
        self.config = yaml.safe_load((folder / "config.yaml").read_text())
        weights, _ = read_safetensors(folder / "checkpoints/best.safetensors")
        self.model = Model(self.config["model"], weights, dtype)
        task = self.config["task"]
        subwords = task.get("subwords", {}).get("kind", "words")
        if subwords not in ("words", "characters") or task.get("lowercase"):
            sys.exit(f"{folder}: its lines are cut into {subwords}{', in lower case' if task.get('lowercase') else ''}, "
                     "and this script cuts them into words or characters as they are")
        self.characters = task["name"] == "dates" or subwords == "characters"
        self.ids = {}
        for side in ("source", "target"):
            self.tokens = (folder / f"vocabulary/{side}.txt").read_text(encoding="utf-8").split("\n")[:-1]
            self.ids[side] = {token: id for id, token in enumerate(self.tokens) if id > UNKNOWN}

    def read(self, side, line):  # 1
        line = line.rstrip("\n")
        tokens = re.sub(r"[ \t-\r]", "\u2581", line) if self.characters else re.findall(r"[^ \t-\r]+", line)
        return [self.ids[side].get(token, UNKNOWN) for token in tokens]

    def score(self, source, target):
        """The tokens of a target line, the last of them eos, and the log-probability of each in nats."""
        ids = self.read("target", target) + [EOS]
        output = self.model(torch.tensor([self.read("source", source) + [EOS]]), torch.tensor([[BOS] + ids[:-1]]))
        values = output[0, torch.arange(len(ids)), ids].tolist()
        return {"tokens": [self.tokens[id] for id in ids], "log_probs": values, "total": sum(values)}


def main(folder, source, target):
    run = Run(folder)
    with open(source, encoding="utf-8") as sources, open(target, encoding="utf-8") as targets, torch.no_grad():
        for source_line, target_line in zip(sources, targets, strict=True):
            print(json.dumps(run.score(source_line, target_line)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
