#!/usr/bin/env python3
"""Makes tests/golden/presets/: what the code that a preset follows computes itself, for surd's presets to agree with.

    python3 tests/golden/make_presets.py [--sources FOLDER] [--to FOLDER] [PRESET...]

The original code is imported, not copied: PyPI's packages from where Python finds them, the others from checkouts in
--sources, each in a folder named as its repository. `originals/` says for each preset which version, and what of it is
not compared. Packages that have nothing to do with the model (plots, tokenizers) are replaced by empty stand-ins. What
is stored was made with PyTorch 1.13 of Debian bookworm and Python 3.11:

    pip install --no-deps transformers==4.40.2 joeynmt==2.3.0 sockeye==3.1.34 OpenNMT-py==3.5.1 pymarian==1.12.42
    pip install 'tokenizers<0.20' 'huggingface_hub<0.24' safetensors regex requests sacrebleu sentencepiece
    pip install subword_nmt configargparse importlib_metadata hydra-core omegaconf bitarray
    pip install flax==0.12.7 jax==0.10.2   # in an environment of its own, for it needs NumPy 2
    pip install --no-deps tensor2tensor==1.15.7, and tensorflow==1.15.5   # for Python 3.7: TENSORFLOW1_PYTHON names it

but for the decoders alone: with PyTorch 2.15 and transformers 5.23.0.

A file PRESET.safetensors has two parts. A small model with random parameters, biases and the norms' gains too:

    parameter.NAME   F32  the parameters, under surd's names; the ids below are surd's too
    batch.0.source, .source_lengths, .target_input, .target_output   I32
    log_probabilities   F64 [B, T, V]  of the original with these parameters, or
    scores              F64 [B]  their sums over the target, where the original gives no more

and of models that are larger, as the original starts them, over several draws:

    initial.NAME     F64 [5]  elements measured, their mean, standard deviation, kurtosis, share of zeros

The metadata names the original, and as `settings` and `initial_settings` what surd's preset is given for these sizes.
The random parameters are chosen so that a wrong epsilon shows, which it does where a norm's input is small: the first
target position before pre-norm and before a norm of the embeddings, the feed-forward layer's norms in post-norm.

Preset                      Original                     Log-probabilities     Initial values
annotated-transformer       GitHub debc9fd               yes (1)               yes
csordas-ped                 GitHub 38f2734               yes (2)               yes
d2l-pytorch                 GitHub 23d7a5a               yes                   yes
fairseq                     GitHub 3d262bb               yes                   yes
fairseq-bart                GitHub 3d262bb               yes                   yes
flax-wmt                    GitHub, tag v0.12.7          yes (3)               yes, normal biases apart
gemma                       PyPI, transformers 5.23.0    yes                   yes
gpt-2                       PyPI, transformers 5.23.0    yes                   yes
hf-marian                   PyPI, transformers 4.40.2    yes (4)               yes
joeynmt                     PyPI, joeynmt 2.3.0          yes                   yes
llama                       PyPI, transformers 5.23.0    yes (5)               yes
marian                      PyPI, pymarian 1.12.42       scores (6)            yes
nanogpt                     GitHub 3adf61e               yes                   yes
olmo                        PyPI, transformers 5.23.0    yes                   yes
opennmt-py                  PyPI, OpenNMT-py 3.5.1       yes                   yes
sockeye-3                   PyPI, sockeye 3.1.34         yes                   yes
t5                          PyPI, transformers 4.40.2    yes (4)               yes
transformers-without-tears  GitHub c2dfaaa               yes (7)               yes
xlm                         GitHub cd281d3               yes (8)               yes
tensor2tensor               PyPI, tensor2tensor 1.15.7   yes (9)               yes

(1) The norms' gains times sqrt(d / (d - 1)), for it divides by the unbiased deviation; its epsilon beside the deviation
    is not the preset's where a norm's input is small, so that none is.
(2) Without the start token before a source.
(3) Its padding token starts a target: the two rows are equal.
(4) <s> starts a target, not the padding token.
(5) With one head of keys and values.
(6) To six decimals. It starts from a vector of zeros: a row of zeros for <s>, which with padding has no probability.
(7) Without language embeddings and without its mask over logits; rows of norm 1.
(8) Without language embeddings.
(9) A row of zeros for <s>, for it starts from such a vector; its target space's vector is zero.
"""
import argparse
import dataclasses
import importlib
import math
import pathlib
import sys

import torch

import make_golden
from make_golden import BOS, write_safetensors

SEED = 11
MODULES = {  # in originals/
    "huggingface": ["t5", "hf-marian"],
    "decoders": ["gpt-2", "nanogpt", "llama", "gemma", "olmo"],
    "toolkits": ["joeynmt", "opennmt-py", "sockeye-3", "xlm"],
    "fairseq_models": ["fairseq", "fairseq-bart"],
    "single_files": ["annotated-transformer", "csordas-ped", "d2l-pytorch", "transformers-without-tears"],
    "flax_wmt": ["flax-wmt"],
    "marian": ["marian"],
    "tensorflow_1": ["tensor2tensor"],
}


@dataclasses.dataclass
class Sizes:
    d_model: int
    heads: int
    layers: int
    width: int
    source_vocabulary: int
    target_vocabulary: int
    positions: int  # the longest sequence

    def settings(self, decoder_only):
        encoder = "model.kind=decoder_only" if decoder_only else f"model.encoder_layers={self.layers}"
        return [f"model.d_model={self.d_model}", f"model.heads={self.heads}", encoder,
                f"model.decoder_layers={self.layers}", f"model.feed_forward.width={self.width}"]


class Original:
    """One preset's original code. A class of originals/ derives from it and builds the model in its constructor."""
    source = ""  # package and version, or repository and commit
    shared_vocabulary = False
    layers = 1
    width_of = None  # the hidden layer's width, where the original fixes it: a function of d_model
    pre_norm = True
    decoder_only = False
    small_input = 0.03  # the size of some norms' inputs, which shows their epsilon
    lengths = ([7, 4, 1], [6, 3, 2])  # of the batch's sources and target inputs, eos or bos counted
    settings = {}  # besides the sizes: for the small model, or with %d the longest sequence
    first_position = staticmethod(torch.zeros)  # what the original adds at position 0: a function of d_model
    embedding_factor = staticmethod(lambda d: 1.0)
    draws = 16  # of the initial values

    def __init__(self, sizes):
        self.sizes = sizes
        self.slots = {}  # surd's name -> Slot

    def slot(self, name, tensor, rows=None, offset=0.0, factor=1.0):
        self.slots[name] = Slot(tensor, rows, offset, factor)

    def linear(self, name, module):
        self.slot(name + ".weight", module.weight)
        if getattr(module, "bias", None) is not None:
            self.slot(name + ".bias", module.bias)

    norm = linear  # has the same two

    def linears(self, path, pairs):
        for name, module in pairs:
            self.linear(f"{path}.{name}", module)

    def fill(self, values):
        """The random parameters `values`, by surd's name, in place of the initial ones."""
        with torch.no_grad():
            for name, slot in self.slots.items():
                slot.set(values[name])

    def adjust(self, values):
        """The random parameters with what the original restricts."""
        return values

    def log_probabilities(self, batch):
        """[B, T, V] in surd's order of ids, or {"scores": [B]}."""
        raise NotImplementedError


def interleaved_start(d):
    """A sinusoidal position 0, where sines are 0 and cosines 1."""
    return (torch.arange(d) % 2).double()


def split_start(d):
    """The same with all cosines behind the sines."""
    return (torch.arange(d) >= d // 2).double()


def permuted(specials, vocabulary):
    """The original's ids of surd's pad, bos, eos and unk, then of the rest."""
    return specials + list(range(4, vocabulary))


def source_mask(batch):
    """[B, S]: true for what is not padding."""
    return torch.arange(batch["source"].shape[1]) < batch["source_lengths"][:, None]


@dataclasses.dataclass
class Slot:
    """Where a parameter of surd's is in the original: `tensor` is a view of its storage, of the same elements in the
    same order but for `rows`, which surd's rows are there. Surd has `offset` more than the original; `factor` times
    surd's random values are what the original must be given to compute the same."""
    tensor: torch.Tensor
    rows: list
    offset: float
    factor: float

    def shape(self):
        shape = list(self.tensor.shape)
        if self.rows is not None:
            shape[0] = len(self.rows)
        return shape

    def set(self, value):
        value = ((value - self.offset) * self.factor).to(self.tensor.dtype).reshape(self.shape())
        if self.rows is None:
            self.tensor.copy_(value)
        else:
            self.tensor[self.rows] = value

    def get(self):
        value = self.tensor.detach()
        return (value if self.rows is None else value[self.rows]).double() + self.offset


def random_parameters(original, shapes):
    """Everything is random, and exact in float32."""
    generator = torch.Generator().manual_seed(SEED)
    d = original.sizes.d_model

    def draw(shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    small = original.small_input
    values = {}
    for name, shape in shapes.items():
        kind = name.rsplit(".", 1)[-1]
        small_block = not original.pre_norm and (
            name.startswith("encoder.0.self_attention_residual") or
            name.startswith("decoder.0.cross_attention_residual") or name.startswith("decoder.0.feed_forward.") or
            name.startswith("encoder.0.feed_forward."))
        if kind == "scale":
            value = math.sqrt(d) * (1 + 0.1 * draw(shape))
        elif ".norm." in name and kind == "weight":
            value = (1 + 0.1 * draw(shape)) * (small if small_block else 1)
        elif kind == "bias":
            value = 0.1 * draw(shape) * (small if small_block else 1)
        elif "distance_bias" in name:
            value = draw(shape)
        else:
            value = draw(shape) * shape[-1] ** -0.5
        if name.startswith("positions."):
            value[0] *= small
        if name.endswith("_embedding.weight"):
            value[BOS] = (small * draw(d) - original.first_position(d)) / original.embedding_factor(d)
        values[name] = value.float().double()
    return original.adjust(values)


def make_batch(sizes, lengths):
    generator = torch.Generator().manual_seed(SEED)
    pairs = make_golden.make_pairs([(source - 1, target - 1) for source, target in zip(*lengths)],
                                   sizes.source_vocabulary, sizes.target_vocabulary, generator)
    return make_golden.make_batch(pairs)


def statistics(draws):
    """Of one parameter over several draws: [5]."""
    values = torch.stack(draws)
    mean = values.mean()
    variance = ((values - mean) ** 2).mean()
    constant = bool((values == values.flatten()[0]).all())
    kurtosis = 0.0 if constant else float(((values - mean) ** 4).mean() / variance ** 2)
    return torch.tensor([values.numel(), mean, 0.0 if constant else variance.sqrt(), kurtosis,
                         (values == 0).double().mean()], dtype=torch.float64)


def extra_settings(kind, longest):
    return [f"{key}={longest if value == '%d' else value}" for key, value in kind.settings.items()]


def sized(kind, *sizes):
    d, heads, layers, width, source, target, positions = sizes
    return Sizes(d, heads, layers, kind.width_of(d) if kind.width_of else width,
                 target if kind.shared_vocabulary else source, target, positions)


def make(kind, preset, folder):
    longest = max(map(max, kind.lengths))
    small = sized(kind, 16, 2, kind.layers, 24, 11, 13, longest)
    torch.manual_seed(SEED)
    torch.set_default_dtype(torch.float64)
    original = kind(small)
    values = random_parameters(original, {name: slot.shape() for name, slot in original.slots.items()})
    original.fill(values)
    batch = make_batch(small, kind.lengths)
    with torch.no_grad():
        results = original.log_probabilities(batch)
    if not isinstance(results, dict):
        results = {"log_probabilities": results}
    tensors = {f"parameter.{name}": value.float() for name, value in values.items()}
    tensors.update({f"batch.0.{name}": ids.int() for name, ids in batch.items()})
    tensors.update({name: value.double().contiguous() for name, value in results.items()})

    torch.set_default_dtype(torch.float32)
    large = sized(kind, 128, 4, 1, 192, 197, 211, 128)
    draws = {}
    for i in range(kind.draws):
        torch.manual_seed(SEED + i)
        for name, slot in kind(large).slots.items():
            draws.setdefault(name, []).append(slot.get())
    tensors.update({f"initial.{name}": statistics(values) for name, values in draws.items()})
    write_safetensors(folder / f"{preset}.safetensors", tensors, {
        "original": kind.source,
        "settings": " ".join(small.settings(kind.decoder_only) + extra_settings(kind, longest)),
        "source_vocabulary": str(small.source_vocabulary), "target_vocabulary": str(small.target_vocabulary),
        "initial_settings": " ".join(large.settings(kind.decoder_only) + extra_settings(kind, 128)),
        "initial_source_vocabulary": str(large.source_vocabulary),
        "initial_target_vocabulary": str(large.target_vocabulary)})
    print(f"{preset}: {kind.source}, {len(values)} parameters")


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--to", type=pathlib.Path, default=here / "presets")
    parser.add_argument("presets", nargs="*")
    arguments = parser.parse_args()
    sys.modules["make_presets"] = sys.modules["__main__"]  # for originals/ to import
    torch.set_num_threads(1)
    for module, presets in MODULES.items():
        for preset in presets:
            if arguments.presets and preset not in arguments.presets:
                continue
            found = importlib.import_module("originals." + module)
            found.SOURCES = arguments.sources.resolve()
            make(found.ORIGINALS[preset], preset, arguments.to)
