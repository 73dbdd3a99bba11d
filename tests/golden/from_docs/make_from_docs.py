#!/usr/bin/env python3
"""Makes the files beside this script: random weights, a padded batch, and what model.py makes of them in float64.

    /usr/bin/python3 tests/golden/from_docs/make_from_docs.py SURD [FOLDER]

SURD is the program, which writes out the defaults of each config. Names and shapes of the parameters are taken from
docs/model.md and not from surd, so that a test of surd compares them as well. A file holds

    parameter.NAME   F32  random, biases and gains too, so that no mistake hides behind a zero or a one
    source, target_input   I32 [3, S], [3, T]  padded with 0
    source_lengths   I32 [3]
    log_probs        F64 [3, T, V]

and in its metadata `config`, the section `model` of a resolved config.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

import torch
import yaml

from model import BOS, EOS, Model

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from make_golden import write_safetensors  # pylint: disable=wrong-import-position

SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 9
SIZES = ["d_model=8", "heads=2", "encoder_layers=1", "decoder_layers=1", "feed_forward.width=6"]
# Together they have every option of `model` that a forward pass depends on.
CONFIGS = {
    "untied": [
        "norm.placement=post", "norm.epsilon=0.02", "embedding.tie=none", "embedding.scale=learned 8 * inv_dim",
        "embedding.logit_scale=0.7", "embedding.output_bias=true", "attention.bias=query value",
        "feed_forward.activation=gelu"],
    "tied": [
        "norm.kind=scale_norm", "embedding.tie=all", "embedding.scale=learned sqrt_dim", "embedding.norm=true",
        "embedding.norm_epsilon=0.03", "embedding.logit_scale=learned inv_sqrt_dim", "positions.layout=sin_then_cos",
        "positions.denominator=half_dim_minus_one", "positions.offset=2", "positions.centred=true",
        "positions.centred_length=5", "positions.scale=learned 0.5", "attention.scale=learned inv_dim",
        "feed_forward.name=gated"],
    "multi_query": [
        "heads=4", "norm.kind=rms_norm", "norm.epsilon=0.01", "positions.kind=learned", "positions.shared=false",
        "positions.max_length=10", "positions.scale=2 * inv_sqrt_dim", "attention.name=multi_query",
        "attention.key_value_heads=2", "attention.query_key_norm=rms_norm", "attention.query_key_norm_epsilon=0.03",
        "attention.scale=learned one", "feed_forward.name=gated", "feed_forward.activation=silu",
        "feed_forward.bias=true"],
    "rotary": [
        "norm.placement=post", "norm.kind=rms_norm", "positions.kind=none", "attention.name=rotary",
        "attention.base=50", "attention.query_key_norm=l2", "attention.query_key_norm_epsilon=0.002",
        "attention.scale=5", "feed_forward.activation=tanh"],
    "alibi": [
        "d_model=12", "heads=6", "norm.placement=post", "norm.kind=scale_norm", "positions.kind=learned",
        "positions.max_length=10", "attention.name=alibi", "attention.slope=0.7", "attention.bias=false",
        "feed_forward.activation=none"],
    "relative_bias": [
        "encoder_layers=2", "decoder_layers=2", "positions.kind=none", "attention.name=relative_bias",
        "attention.buckets=10", "attention.max_distance=7", "attention.absorb_scale=true", "attention.bias=key output",
        "feed_forward.name=gated", "feed_forward.activation=relu"],
    "capped": [
        "norm.gain=false", "embedding.logit_cap=1.5", "attention.score_cap=0.8", "feed_forward.activation=gelu_tanh"],
    "no_norm_bias": [
        "norm.bias=false", "feed_forward.activation=sigmoid"],
    "decoder_only": [
        "kind=decoder_only", "decoder_layers=2", "norm.kind=rms_norm", "embedding.tie=none", "embedding.norm=true",
        "embedding.scale=learned 2", "positions.offset=3", "attention.name=multi_query",
        "attention.key_value_heads=1", "feed_forward.name=gated", "feed_forward.activation=silu"],
}


def resolved(surd, settings):
    """The section `model` of a config, every default written out, as surd writes it."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("seed: 1\n")
        file.flush()
        arguments = [f"--set=model.{setting}" for setting in SIZES + settings]
        text = subprocess.run([surd, "config", "show", file.name, *arguments], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
    return re.search(r"^model:\n(?: .*\n)+", text, re.MULTILINE).group()


def shapes(options, source_vocabulary, target_vocabulary):
    """Every parameter's name and shape."""
    d, heads = options["d_model"], options["heads"]
    embedding, positions, attention = options["embedding"], options["positions"], options["attention"]
    found = {}

    def learned(path, factor):
        if str(factor).startswith("learned"):
            found[path + ".scale"] = [1]

    def linear(path, rows, columns, bias):
        found[path + ".weight"] = [rows, columns]
        if bias:
            found[path + ".bias"] = [rows]

    def norm(path, kind=options["norm"]["kind"], gain=options["norm"].get("gain", True),
             bias=options["norm"].get("bias", True)):
        if kind == "scale_norm":
            found[path + ".scale"] = [1]
        elif gain:
            found[path + ".weight"] = [d]
        if kind == "layer_norm" and bias:
            found[path + ".bias"] = [d]

    def sub_layers(path, names):
        for name in names:
            norm(f"{path}.{name}_residual.norm")
            if name == "feed_forward":
                feed_forward(f"{path}.{name}")
            else:
                attend(f"{path}.{name}")

    def attend(path):
        d_k = d // heads
        shared = d_k * (attention.get("key_value_heads") or heads)
        biased = str(attention["bias"]).replace("True", "query key value output").split()
        for name, rows in (("query", d), ("key", shared), ("value", shared), ("output", d)):
            linear(f"{path}.{name}", rows, d, name in biased)
        if attention["query_key_norm"] == "rms_norm":
            found[path + ".query_norm.weight"] = found[path + ".key_norm.weight"] = [d_k]
        learned(path, attention["scale"])

    def feed_forward(path):
        bias, width = options["feed_forward"]["bias"], options["feed_forward"]["width"]
        for name in ("gate", "inner") if options["feed_forward"]["name"] == "gated" else ("inner",):
            linear(f"{path}.{name}", width, d, bias)
        linear(path + ".outer", d, width, bias)

    alone = options["kind"] == "decoder_only"
    for side, rows in (("source", source_vocabulary), ("target", target_vocabulary))[alone:]:
        if side == "target" or embedding["tie"] != "all":
            found[f"{side}_embedding.weight"] = [rows, d]
            learned(f"{side}_embedding", embedding["scale"])
        if embedding["norm"]:
            norm(f"{side}_embedding.norm", "layer_norm", True, True)
    if positions["kind"] == "learned":
        for name in ["weight"] if positions["shared"] else ["source", "target"]:
            found["positions." + name] = [positions["max_length"], d]
    if positions["kind"] == "sinusoidal":
        learned("positions", positions["scale"])
    stacks = (("encoder", ["self_attention", "feed_forward"]),
              ("decoder", ["self_attention", "cross_attention", "feed_forward"]))
    for stack, names in [("decoder", ["self_attention", "feed_forward"])] if alone else stacks:
        for i in range(options[stack + "_layers"]):
            sub_layers(f"{stack}.{i}", names)
        if options["norm"]["placement"] == "pre":
            norm(stack + ".norm")
        if attention["name"] == "relative_bias":
            found[stack + ".distance_bias.weight"] = [attention["buckets"], heads]
    if embedding["tie"] == "none":
        found["output.weight"] = [target_vocabulary, d]
    if embedding["output_bias"]:
        found["output.bias"] = [target_vocabulary]
    learned("output", embedding["logit_scale"])
    return found


def random_value(name, shape, generator):
    value = torch.randn(shape, generator=generator)
    if len(shape) == 2:
        return value / shape[1] ** 0.5
    if name.endswith(".bias"):
        return 0.3 * value
    return (1 + 0.3 * value) * (3 if name.endswith("norm.scale") else 1)  # which stands for the root of the columns


def padded(rows):
    return torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])


def make(path, config):
    generator = torch.Generator().manual_seed(zlib.crc32(path.stem.encode()))
    options = yaml.safe_load(config)["model"]
    shared = options["embedding"]["tie"] == "all" or options["kind"] == "decoder_only"
    target_vocabulary = SOURCE_VOCABULARY if shared else TARGET_VOCABULARY
    weights = {name: random_value(name, shape, generator)
               for name, shape in shapes(options, SOURCE_VOCABULARY, target_vocabulary).items()}

    def words(count, vocabulary):
        return torch.randint(3, vocabulary, (count,), generator=generator).tolist()

    sources = [words(count, SOURCE_VOCABULARY) + [EOS] for count in (9, 3, 5)]
    targets = [[BOS] + words(count, target_vocabulary) for count in (6, 9, 2)]
    source, target_input = padded(sources), padded(targets)
    log_probs = Model(options, weights)(source, target_input)
    tensors = {"parameter." + name: value for name, value in weights.items()}
    tensors.update(source=source.int(), target_input=target_input.int(), log_probs=log_probs,
                   source_lengths=torch.tensor([len(row) for row in sources]).int())
    write_safetensors(path, tensors, {"config": config})
    print(f"{path.name}: {len(weights)} parameters, log-probabilities {log_probs.min():.2f} to {log_probs.max():.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent
    for name, settings in CONFIGS.items():
        make(folder / f"{name}.safetensors", resolved(sys.argv[1], settings))
