"""Models that are a file or a few in a repository: what is needed of them is taken out and run, unaltered."""
import ast
import copy
import importlib
import math
import re
import sys
import types
from argparse import Namespace

import torch
from torch import nn

from make_golden import PAD
from make_presets import Original, interleaved_start, source_mask

SOURCES = None


def take(text, names, scope):
    """Runs the definitions of `names`, classes and functions of a program's text, in `scope`."""
    nodes = [node for node in ast.parse(text).body if getattr(node, "name", None) in names]
    assert {node.name for node in nodes} == set(names), "a definition is missing"
    exec(compile(ast.Module(nodes, []), "original", "exec"), scope)  # pylint: disable=exec-used
    return scope


def causal_mask(batch):
    length = batch["target_input"].shape[1]
    return torch.ones(length, length, dtype=torch.bool).tril()


class AnnotatedTransformer(Original):
    """Its norm's epsilon stands beside the deviation, which is ours where the deviation is about 1 alone."""
    small_input = 1.0
    source = "harvardnlp/annotated-transformer debc9fd"
    first_position = staticmethod(interleaved_start)
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        text = (SOURCES / "annotated-transformer" / "the_annotated_transformer.py").read_text()
        scope = take(text, ["EncoderDecoder", "Generator", "clones", "Encoder", "LayerNorm", "SublayerConnection",
                            "EncoderLayer", "Decoder", "DecoderLayer", "attention", "MultiHeadedAttention",
                            "PositionwiseFeedForward", "Embeddings", "PositionalEncoding", "make_model"],
                     {"torch": torch, "nn": nn, "math": math, "copy": copy,
                      "log_softmax": torch.nn.functional.log_softmax})
        self.model = scope["make_model"](sizes.source_vocabulary, sizes.target_vocabulary, N=sizes.layers,
                                         d_model=sizes.d_model, d_ff=sizes.width, h=sizes.heads, dropout=0.0).eval()
        model = self.model
        self.linear("source_embedding", model.src_embed[0].lut)
        self.linear("target_embedding", model.tgt_embed[0].lut)
        self.linear("output", model.generator.proj)
        for stack, names in (("encoder", [("self_attention", "self_attn")]),
                             ("decoder", [("self_attention", "self_attn"), ("cross_attention", "src_attn")])):
            module = getattr(model, stack)
            for i, layer in enumerate(module.layers):
                for j, (ours, theirs) in enumerate(names):
                    self.linears(f"{stack}.{i}.{ours}",
                                 zip(("query", "key", "value", "output"), getattr(layer, theirs).linears))
                    self.annotated_norm(f"{stack}.{i}.{ours}_residual.norm", layer.sublayer[j].norm)
                self.linears(f"{stack}.{i}.feed_forward", [("inner", layer.feed_forward.w_1),
                                                           ("outer", layer.feed_forward.w_2)])
                self.annotated_norm(f"{stack}.{i}.feed_forward_residual.norm", layer.sublayer[-1].norm)
            self.annotated_norm(f"{stack}.norm", module.norm)

    def annotated_norm(self, name, norm):
        """It divides by the unbiased deviation."""
        d = self.sizes.d_model
        self.slot(name + ".weight", norm.a_2, factor=math.sqrt(d / (d - 1)))
        self.slot(name + ".bias", norm.b_2)

    def log_probabilities(self, batch):
        hidden = self.model(batch["source"], batch["target_input"], source_mask(batch)[:, None],
                            causal_mask(batch)[None])
        return self.model.generator(hidden)


class CsordasPed(Original):
    """Without the start token that it puts before the source. bos and eos are one token there; in a target's input
    only bos occurs, in a source only eos, so that surd's two rows are one that is called bos in the output."""
    source = "RobertCsordas/transformer_generalization 38f2734"
    first_position = staticmethod(lambda d: interleaved_start(d) * d ** -0.5)
    pre_norm = False
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        root = SOURCES / "transformer_generalization"
        if "framework" not in sys.modules:
            # of its package `framework`, which imports much else, the model uses these two
            framework = types.ModuleType("framework")
            framework.__path__ = [str(root / "framework")]
            framework.layers = types.ModuleType("framework.layers")
            framework.data_structures = types.ModuleType("framework.data_structures")
            for part, name, file in ((framework.layers, "PositionalEncoding", "layers/positional_encoding.py"),
                                     (framework.data_structures, "DotDict", "data_structures/dotdict.py")):
                scope = {}
                exec((root / "framework" / file).read_text(), scope)  # pylint: disable=exec-used
                setattr(part, name, scope[name])
            sys.modules["framework"] = framework
        model_class = import_from(root, "models.transformer_enc_dec").TransformerEncDecModel
        self.model = model_class(
            sizes.source_vocabulary - 1, sizes.target_vocabulary - 1, state_size=sizes.d_model,
            ff_multiplier=sizes.width / sizes.d_model, nhead=sizes.heads, num_encoder_layers=sizes.layers,
            num_decoder_layers=sizes.layers, tied_embedding=True, embedding_init="kaiming", scale_mode="down",
            encoder_sos=None, dropout=0.0, max_len=sizes.positions).eval()
        # its table has one row for eos or bos, the last; surd's bos is that one
        rows = [0, sizes.target_vocabulary - 1] + list(range(1, sizes.target_vocabulary - 1))
        self.theirs = torch.tensor(rows)
        self.linear("source_embedding", self.model.input_embedding)
        self.slot("target_embedding.weight", self.model.output_embedding.weight, rows)
        self.slot("output.bias", self.model.output_map.bias, rows)
        d, heads = sizes.d_model, sizes.heads
        for stack, names in (("encoder", [("self_attention", "self_attn", "norm1")]),
                             ("decoder", [("self_attention", "self_attn", "norm1"),
                                          ("cross_attention", "multihead_attn", "norm2")])):
            for i, layer in enumerate(getattr(self.model.trafo, stack).layers):
                for ours, attention, norm in names:
                    attention, path = getattr(layer, attention), f"{stack}.{i}.{ours}"
                    pairs = attention.data_to_kv.weight.view(heads, 2, d // heads, d)  # k and v of each head
                    self.linear(path + ".query", attention.data_to_q)
                    self.heads(path + ".key.weight", pairs[:, 0])
                    self.heads(path + ".value.weight", pairs[:, 1])
                    self.linear(path + ".output", attention.multi_head_merge)
                    self.norm(path + "_residual.norm", getattr(layer, norm))
                self.linears(f"{stack}.{i}.feed_forward", [("inner", layer.linear1), ("outer", layer.linear2)])
                self.norm(f"{stack}.{i}.feed_forward_residual.norm",
                          layer.norm2 if stack == "encoder" else layer.norm3)

    def heads(self, name, view):
        self.slots[name] = HeadsSlot(view)

    def log_probabilities(self, batch):
        target = self.theirs[batch["target_output"]]  # it shifts them itself, with bos in front
        logits = self.model(batch["source"], batch["source_lengths"], target, (batch["target_output"] != PAD).sum(1),
                            teacher_forcing=True).data
        return logits[:, :, self.theirs].log_softmax(-1)


class HeadsSlot:
    """A view [heads, d_k, d] of a matrix that is [d, d] in surd."""
    def __init__(self, view):
        self.view = view

    def shape(self):
        return [self.view.shape[2]] * 2

    def set(self, value):
        self.view.copy_(value.reshape(self.view.shape))

    def get(self):
        return self.view.detach().reshape(self.shape()).double()


def import_from(root, name):
    """A module of a checkout whose modules have common names."""
    sys.path.insert(0, str(root))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(root))


class D2l(Original):
    """The decoder is in the book's text alone. In training mode, or it is not causal; without dropout."""
    source = "d2l-ai/d2l-en 23d7a5a"
    first_position = staticmethod(interleaved_start)
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    pre_norm = False
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        root = SOURCES / "d2l-en"
        d2l = types.SimpleNamespace(Module=nn.Module, zeros=torch.zeros, arange=torch.arange)
        scope = {"torch": torch, "nn": nn, "math": math, "d2l": d2l}
        library = (root / "d2l" / "torch.py").read_text()
        for name in ["Encoder", "Decoder", "masked_softmax", "DotProductAttention", "AttentionDecoder",
                     "MultiHeadAttention", "PositionalEncoding", "PositionWiseFFN", "AddNorm",
                     "TransformerEncoderBlock", "TransformerEncoder"]:
            take(library, [name], scope)
            setattr(d2l, name, scope[name])
        book = (root / "chapter_attention-mechanisms-and-transformers" / "transformer.md").read_text()
        cells = re.findall(r"```\{\.python \.input\}\n%%tab pytorch\n(.*?)```", book, re.S)
        for name in ("TransformerDecoderBlock", "TransformerDecoder"):
            take(next(cell for cell in cells if f"class {name}(" in cell), [name], scope)
        arguments = (sizes.d_model, sizes.width, sizes.heads, sizes.layers, 0.0)
        self.encoder = scope["TransformerEncoder"](sizes.source_vocabulary, *arguments)
        self.decoder = scope["TransformerDecoder"](sizes.target_vocabulary, *arguments)
        self.logits(torch.zeros(1, 2, dtype=torch.long), torch.tensor([2]), torch.zeros(1, 2, dtype=torch.long))
        self.linear("source_embedding", self.encoder.embedding)
        self.linear("target_embedding", self.decoder.embedding)
        self.linear("output", self.decoder.dense)
        for stack, names in ((self.encoder, ["attention"]), (self.decoder, ["attention1", "attention2"])):
            path = "encoder" if stack is self.encoder else "decoder"
            for i, block in enumerate(stack.blks):
                for j, (ours, theirs) in enumerate(zip(("self_attention", "cross_attention"), names)):
                    attention = getattr(block, theirs)
                    self.linears(f"{path}.{i}.{ours}", [("query", attention.W_q), ("key", attention.W_k),
                                                        ("value", attention.W_v), ("output", attention.W_o)])
                    self.norm(f"{path}.{i}.{ours}_residual.norm", getattr(block, f"addnorm{j + 1}").ln)
                self.linears(f"{path}.{i}.feed_forward", [("inner", block.ffn.dense1), ("outer", block.ffn.dense2)])
                self.norm(f"{path}.{i}.feed_forward_residual.norm", getattr(block, f"addnorm{len(names) + 1}").ln)

    def logits(self, source, lengths, target):
        state = self.decoder.init_state(self.encoder(source, lengths), lengths)
        return self.decoder(target, state)[0]

    def log_probabilities(self, batch):
        return self.logits(batch["source"], batch["source_lengths"], batch["target_input"]).log_softmax(-1)


class WithoutTears(Original):
    """base() of its configurations, without language embeddings and with no logit masked."""
    source = "tnq177/transformers_without_tears c2dfaaa"
    shared_vocabulary = True
    first_position = staticmethod(interleaved_start)
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        model_class = import_from(SOURCES / "transformers_without_tears", "model").Transformer
        self.model = model_class(Namespace(
            embed_dim=sizes.d_model, ff_dim=sizes.width, num_enc_layers=sizes.layers, num_dec_layers=sizes.layers,
            num_heads=sizes.heads, use_bias=True, fix_norm=True, scnorm=True, mask_logit=True, pre_act=True,
            joint_vocab_size=sizes.target_vocabulary, lang_vocab_size=2, dropout=0.0, att_dropout=0.0, ff_dropout=0.0,
            word_dropout=0.0, label_smoothing=0.0)).eval()
        with torch.no_grad():
            self.model.lang_embedding.zero_()
            # its rows are normalised whenever they are used: what is used is compared, and normalised rows stay as
            # they are
            self.model.word_embedding.copy_(torch.nn.functional.normalize(self.model.word_embedding, dim=-1))
        self.slot("target_embedding.weight", self.model.word_embedding)
        self.slot("output.bias", self.model.out_bias)
        d = sizes.d_model
        for stack, names in (("encoder", [("self_attention", "atts")]),
                             ("decoder", [("self_attention", "atts"), ("cross_attention", "cross_atts")])):
            module, each = getattr(self.model, stack), len(names) + 1
            for i in range(sizes.layers):
                for j, (ours, theirs) in enumerate(names):
                    attention = getattr(module, theirs)[i]
                    for k, name in enumerate(("query", "key", "value", "output")):
                        self.slot(f"{stack}.{i}.{ours}.{name}.weight", attention.weights[k * d:(k + 1) * d])
                        self.slot(f"{stack}.{i}.{ours}.{name}.bias", attention.biases[k * d:(k + 1) * d])
                    self.scale(f"{stack}.{i}.{ours}_residual.norm", module.scales[each * i + j])
                self.linears(f"{stack}.{i}.feed_forward", [("inner", module.ffs[i].in_proj),
                                                           ("outer", module.ffs[i].out_proj)])
                self.scale(f"{stack}.{i}.feed_forward_residual.norm", module.scales[each * (i + 1) - 1])
            self.scale(f"{stack}.norm", module.scales[-1])

    def scale(self, name, norm):
        self.slot(name + ".scale", norm.scale.view(1))

    def adjust(self, values):
        rows = values["target_embedding.weight"]
        values["target_embedding.weight"] = torch.nn.functional.normalize(rows, dim=-1).float().double()
        return values

    def log_probabilities(self, batch):
        logits, of_forward = [], self.model.logit_fn

        def keep(*arguments):
            logits.append(of_forward(*arguments))
            return logits[-1]

        self.model.logit_fn = keep
        self.model(batch["source"], batch["target_input"], batch["target_output"], 0, 1,
                   torch.ones(self.sizes.target_vocabulary))
        return logits[0].log_softmax(-1).reshape(*batch["target_input"].shape, -1)


ORIGINALS = {"annotated-transformer": AnnotatedTransformer, "csordas-ped": CsordasPed, "d2l-pytorch": D2l,
             "transformers-without-tears": WithoutTears}
