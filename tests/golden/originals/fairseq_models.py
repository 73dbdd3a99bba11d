"""fairseq's Transformer and BART, from a checkout: PyPI's 0.12.2 is the same in all of this, but is built for Python
3.8."""
import dataclasses
import importlib.abc
import importlib.machinery
import sys
from argparse import Namespace
from unittest import mock

import torch

from make_presets import Original, permuted
from originals.huggingface import blocks

SOURCES = None
# bos, pad, eos and unk in this order: surd's pad, bos, eos, unk
IDS = [1, 0, 2, 3]
OTHER_PACKAGES = {"sklearn", "editdistance", "torchaudio", "soundfile", "timm", "einops", "pandas", "h5py", "scipy"}


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages of its tasks and criteria, which it imports all and the model does not use."""
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OTHER_PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return mock.MagicMock(__spec__=spec, __path__=[], __name__=spec.name)

    def exec_module(self, module):
        pass


def prepare():
    if "fairseq" in sys.modules:
        return
    sys.path.insert(0, str(SOURCES / "fairseq"))
    sys.meta_path.append(StandIns())
    # From Python 3.11 on, dataclass refuses default values that have no hash, as its configurations are.
    plain = dataclasses.dataclass

    def dataclass(cls=None, **options):
        options.setdefault("unsafe_hash", options.get("eq", True) and not options.get("frozen", False))
        return plain(cls, **options) if cls is not None else lambda later: plain(later, **options)

    dataclasses.dataclass = dataclass
    import fairseq
    dataclasses.dataclass = plain
    assert fairseq.__version__ == "0.12.2"


def dictionary(size):
    from fairseq.data import Dictionary
    words = Dictionary()
    for i in range(size - 4):
        words.add_symbol(f"w{i}")
    return words


def first_position(d):
    """The first token is number 2; sines before cosines, of exponents i / (d/2 - 1)."""
    angles = 2 * 10000 ** (-torch.arange(d // 2, dtype=torch.float64) / (d // 2 - 1))
    return torch.cat([angles.sin(), angles.cos()])


class Fairseq(Original):
    source = "facebookresearch/fairseq 3d262bb"
    first_position = staticmethod(first_position)
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    pre_norm = False
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        prepare()
        self.model = self.build(Namespace(
            encoder_embed_dim=sizes.d_model, encoder_ffn_embed_dim=sizes.width, encoder_layers=sizes.layers,
            encoder_attention_heads=sizes.heads, decoder_layers=sizes.layers, decoder_attention_heads=sizes.heads,
            dropout=0.0, max_source_positions=sizes.positions, max_target_positions=sizes.positions)).train()
        source, target = permuted(IDS, sizes.source_vocabulary), permuted(IDS, sizes.target_vocabulary)
        if not self.shared_vocabulary:
            self.slot("source_embedding.weight", self.model.encoder.embed_tokens.weight, source)
        self.slot("target_embedding.weight", self.model.decoder.embed_tokens.weight, target)
        if self.model.decoder.output_projection.weight is not self.model.decoder.embed_tokens.weight:
            self.slot("output.weight", self.model.decoder.output_projection.weight, target)
        blocks(self, self.model)

    def task(self):
        return Namespace(source_dictionary=dictionary(self.sizes.source_vocabulary),
                         target_dictionary=dictionary(self.sizes.target_vocabulary))

    def build(self, arguments):
        from fairseq.models.transformer import TransformerModel
        return TransformerModel.build_model(arguments, self.task())

    def log_probabilities(self, batch):
        source = torch.tensor(permuted(IDS, self.sizes.source_vocabulary))
        target = torch.tensor(permuted(IDS, self.sizes.target_vocabulary))
        logits = self.model(source[batch["source"]], batch["source_lengths"], target[batch["target_input"]])[0]
        return logits[:, :, target].log_softmax(-1)


class Bart(Fairseq):
    """With bart_large's options. Its tables of positions have two more rows, in front."""
    shared_vocabulary = True
    first_position = staticmethod(torch.zeros)
    embedding_factor = staticmethod(lambda d: 1.0)

    def __init__(self, sizes):
        super().__init__(sizes)
        for stack, side in (("encoder", "source"), ("decoder", "target")):
            module = getattr(self.model, stack)
            self.slot(f"positions.{side}", module.embed_positions.weight[2:])
            self.norm(f"{side}_embedding.norm", module.layernorm_embedding)

    def build(self, arguments):
        from fairseq.models.bart import BARTModel
        from fairseq.models.bart.model import bart_large_architecture
        arguments.attention_dropout = arguments.relu_dropout = 0.0
        bart_large_architecture(arguments)
        words = dictionary(self.sizes.target_vocabulary)
        return BARTModel.build_model(arguments, Namespace(source_dictionary=words, target_dictionary=words))


ORIGINALS = {"fairseq": Fairseq, "fairseq-bart": Bart}
