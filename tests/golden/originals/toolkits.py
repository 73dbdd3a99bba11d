"""Joey NMT, OpenNMT-py, Sockeye and XLM."""
import importlib.metadata
import logging
import sys
from types import SimpleNamespace
from unittest import mock

import torch

from make_golden import PAD
from make_presets import Original, interleaved_start, permuted, source_mask, split_start

SOURCES = None


def stand_ins(*names):
    """Empty modules of packages that have nothing to do with the model."""
    for name in names:
        sys.modules.setdefault(name, mock.MagicMock(__spec__=None))


class JoeyNmt(Original):
    source = "joeynmt 2.3.0"
    first_position = staticmethod(interleaved_start)
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    settings = {"model.positions.max_length": "%d"}
    ids = [1, 2, 3, 0]

    def __init__(self, sizes):
        super().__init__(sizes)
        assert importlib.metadata.version("joeynmt") == "2.3.0"
        stand_ins("torch.utils.tensorboard", "matplotlib", "matplotlib.pyplot", "matplotlib.figure",
                  "matplotlib.backends", "matplotlib.backends.backend_pdf")
        from joeynmt.model import build_model
        from joeynmt.vocabulary import Vocabulary
        special = SimpleNamespace(unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>",
                                  sep_token=None, unk_id=0, pad_id=1, bos_id=2, eos_id=3, sep_id=None, lang_tags=[])
        stack = {"type": "transformer", "num_layers": sizes.layers, "num_heads": sizes.heads,
                 "hidden_size": sizes.d_model, "ff_size": sizes.width, "dropout": 0.0, "layer_norm": "pre",
                 "activation": "relu", "embeddings": {"embedding_dim": sizes.d_model, "scale": True, "dropout": 0.0}}
        config = {"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "bias_initializer": "zeros",
                  "tied_embeddings": False, "tied_softmax": True, "encoder": stack, "decoder": dict(stack)}
        vocabularies = [Vocabulary(tokens=[f"w{i}" for i in range(size - 4)], cfg=special)
                        for size in (sizes.source_vocabulary, sizes.target_vocabulary)]
        logging.getLogger("joeynmt").setLevel(logging.ERROR)
        self.model = build_model(config, *vocabularies).eval()
        model = self.model
        self.slot("source_embedding.weight", model.src_embed.lut.weight, permuted(self.ids, sizes.source_vocabulary))
        self.slot("target_embedding.weight", model.trg_embed.lut.weight, permuted(self.ids, sizes.target_vocabulary))
        for stack, names in (("encoder", [("self_attention", "src_src_att", "layer_norm")]),
                             ("decoder", [("self_attention", "trg_trg_att", "x_layer_norm"),
                                          ("cross_attention", "src_trg_att", "dec_layer_norm")])):
            module = getattr(model, stack)
            for i, layer in enumerate(module.layers):
                for ours, attention, norm in names:
                    attention = getattr(layer, attention)
                    self.linears(f"{stack}.{i}.{ours}", [("query", attention.q_layer), ("key", attention.k_layer),
                                                         ("value", attention.v_layer),
                                                         ("output", attention.output_layer)])
                    self.norm(f"{stack}.{i}.{ours}_residual.norm", getattr(layer, norm))
                maps = layer.feed_forward.pwff_layer
                self.linears(f"{stack}.{i}.feed_forward", [("inner", maps[0]), ("outer", maps[3])])
                self.norm(f"{stack}.{i}.feed_forward_residual.norm", layer.feed_forward.layer_norm)
            self.norm(f"{stack}.norm", module.layer_norm)

    def log_probabilities(self, batch):
        theirs = torch.tensor(permuted(self.ids, self.sizes.target_vocabulary))
        target = theirs[batch["target_input"]]
        out = self.model._encode_decode(  # pylint: disable=protected-access
            theirs[batch["source"]], target, source_mask(batch)[:, None], batch["source_lengths"],
            torch.ones(target.shape[0], 1, target.shape[1], dtype=torch.bool))
        return out[0][:, :, theirs].log_softmax(-1)


class OpenNmt(Original):
    """Built by build_model, whose loop draws the initial values; the options are those its FAQ trains with."""
    source = "OpenNMT-py 3.5.1"
    first_position = staticmethod(interleaved_start)
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        assert importlib.metadata.version("OpenNMT-py") == "3.5.1"
        stand_ins("pyonmttok", "fasttext", "spacy", "ahocorasick", "rapidfuzz", "rapidfuzz.fuzz", "sacrebleu",
                  "torch.utils.tensorboard", "ctranslate2", "waitress", "flask", "pynvml")
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):  # of PyTorch 2, called on a GPU alone
            torch.nn.functional.scaled_dot_product_attention = None
        import onmt.opts
        from onmt.model_builder import build_model
        from onmt.utils.parse import ArgumentParser
        parser = ArgumentParser()
        onmt.opts.model_opts(parser)
        onmt.opts.distributed_opts(parser)
        onmt.opts._add_train_general_opts(parser)  # pylint: disable=protected-access
        size = str(sizes.d_model)
        options = parser.parse_known_args([
            "--data", "none", "--encoder_type", "transformer", "--decoder_type", "transformer", "--layers",
            str(sizes.layers), "--hidden_size", size, "--word_vec_size", size, "--heads", str(sizes.heads),
            "--transformer_ff", str(sizes.width), "--position_encoding", "--param_init", "0",
            "--param_init_glorot", "--dropout", "0", "--attention_dropout", "0"])[0]
        ArgumentParser.update_model_opts(options)
        vocabularies = {side: dict([("<blank>", 0)] + [(str(i), i) for i in range(1, size)])
                        for side, size in (("src", sizes.source_vocabulary), ("tgt", sizes.target_vocabulary))}
        logging.getLogger().setLevel(logging.ERROR)
        self.model = build_model(options, options, vocabularies, None, -1).eval().to(torch.get_default_dtype())
        model = self.model
        self.slot("source_embedding.weight", model.encoder.embeddings.word_lut.weight)
        self.slot("target_embedding.weight", model.decoder.embeddings.word_lut.weight)
        self.linear("output", model.generator)
        for stack, layers, names in (
                ("encoder", model.encoder.transformer, [("self_attention", "self_attn", "layer_norm")]),
                ("decoder", model.decoder.transformer_layers, [("self_attention", "self_attn", "layer_norm_1"),
                                                               ("cross_attention", "context_attn", "layer_norm_2")])):
            for i, layer in enumerate(layers):
                for ours, attention, norm in names:
                    attention = getattr(layer, attention)
                    self.linears(f"{stack}.{i}.{ours}", [
                        ("query", attention.linear_query), ("key", attention.linear_keys),
                        ("value", attention.linear_values), ("output", attention.final_linear)])
                    self.norm(f"{stack}.{i}.{ours}_residual.norm", getattr(layer, norm))
                maps = layer.feed_forward
                self.linears(f"{stack}.{i}.feed_forward", [("inner", maps.w_1), ("outer", maps.w_2)])
                self.norm(f"{stack}.{i}.feed_forward_residual.norm", maps.layer_norm)
            self.norm(f"{stack}.norm", getattr(model, stack).layer_norm)

    def log_probabilities(self, batch):
        # it drops a target's last token itself
        target = torch.cat([batch["target_input"], torch.ones_like(batch["target_input"][:, :1])], 1)
        hidden = self.model(batch["source"][:, :, None], target[:, :, None], batch["source_lengths"])[0]
        return self.model.generator(hidden).log_softmax(-1)


class Sockeye(Original):
    """In training mode without dropout: outside of training it stores its fused matrices in another order."""
    source = "sockeye 3.1.34"
    shared_vocabulary = True
    first_position = staticmethod(split_start)
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    settings = {"model.positions.max_length": "%d"}
    ids = [0, 2, 3, 1]

    def __init__(self, sizes):
        super().__init__(sizes)
        from sockeye import __version__, encoder, model, transformer
        assert __version__ == "3.1.34"

        def embedding():
            return encoder.EmbeddingConfig(vocab_size=sizes.target_vocabulary, num_embed=sizes.d_model, dropout=0.0)

        def stack():
            return transformer.TransformerConfig(
                model_size=sizes.d_model, attention_heads=sizes.heads, feed_forward_num_hidden=sizes.width,
                act_type="relu", num_layers=sizes.layers, dropout_attention=0.0, dropout_act=0.0, dropout_prepost=0.0,
                positional_embedding_type="fixed", preprocess_sequence="n", postprocess_sequence="dr",
                max_seq_len_source=sizes.positions, max_seq_len_target=sizes.positions, depth_key_value=sizes.d_model)

        self.model = model.SockeyeModel(model.ModelConfig(
            config_data=None, vocab_source_size=sizes.target_vocabulary, vocab_target_size=sizes.target_vocabulary,
            config_embed_source=embedding(), config_embed_target=embedding(), config_encoder=stack(),
            config_decoder=stack()))
        self.model.apply(model.initialize_parameters)
        self.model.train().to(torch.get_default_dtype())
        d, rows = sizes.d_model, permuted(self.ids, sizes.target_vocabulary)
        self.slot("target_embedding.weight", self.model.output_layer.weight, rows)
        self.slot("output.bias", self.model.output_layer.bias, rows)

        def fused(path, names, module):
            for i, name in enumerate(names):
                self.slot(f"{path}.{name}.weight", module.weight[i * d:(i + 1) * d])

        for i, layer in enumerate(self.model.encoder.layers):
            path = f"encoder.{i}"
            fused(path + ".self_attention", ["query", "key", "value"], layer.self_attention.ff_in)
            self.linear(path + ".self_attention.output", layer.self_attention.ff_out)
            self.norm(path + ".self_attention_residual.norm", layer.pre_self_attention.layer_norm)
            self.linears(path + ".feed_forward", [("inner", layer.ff.ff1), ("outer", layer.ff.ff2)])
            self.norm(path + ".feed_forward_residual.norm", layer.pre_ff.layer_norm)
        for i, layer in enumerate(self.model.decoder.layers):
            path = f"decoder.{i}"
            fused(path + ".self_attention", ["query", "key", "value"], layer.autoregr_layer.ff_in)
            self.linear(path + ".self_attention.output", layer.autoregr_layer.ff_out)
            self.norm(path + ".self_attention_residual.norm", layer.pre_autoregr_layer.layer_norm)
            self.linear(path + ".cross_attention.query", layer.enc_attention.ff_q)
            fused(path + ".cross_attention", ["key", "value"], layer.enc_attention.ff_kv)
            self.linear(path + ".cross_attention.output", layer.enc_attention.ff_out)
            self.norm(path + ".cross_attention_residual.norm", layer.pre_enc_attention.layer_norm)
            self.linears(path + ".feed_forward", [("inner", layer.ff.ff1), ("outer", layer.ff.ff2)])
            self.norm(path + ".feed_forward_residual.norm", layer.pre_ff.layer_norm)
        self.norm("encoder.norm", self.model.encoder.final_process.layer_norm)
        self.norm("decoder.norm", self.model.decoder.final_process.layer_norm)

    def log_probabilities(self, batch):
        theirs = torch.tensor(permuted(self.ids, self.sizes.target_vocabulary))
        lengths = torch.stack([batch["source_lengths"], torch.zeros_like(batch["source_lengths"])], 1)
        logits = self.model(theirs[batch["source"]][:, :, None], lengths, theirs[batch["target_input"]][:, :, None],
                            None)["logits"]
        return logits[:, :, theirs].log_softmax(-1)


class Xlm(Original):
    """Without its language embeddings, and with surd's <s> for the sentence's first token, which is eos there."""
    source = "facebookresearch/XLM cd281d3"
    shared_vocabulary = True  # it has two matrices for it all the same
    pre_norm = False
    width_of = staticmethod(lambda d: 4 * d)
    settings = {"model.positions.max_length": "%d"}  # 512 there: as many of its first rows
    ids = [2, 0, 1, 3]

    def __init__(self, sizes):
        super().__init__(sizes)
        path = str(SOURCES / "XLM")
        if path not in sys.path:
            sys.path.insert(0, path)
        from xlm.model.transformer import TransformerModel
        parameters = SimpleNamespace(
            n_langs=1, n_words=sizes.target_vocabulary, eos_index=1, pad_index=2, id2lang={0: "en"},
            lang2id={"en": 0}, emb_dim=sizes.d_model, n_heads=sizes.heads, n_layers=sizes.layers, dropout=0.0,
            attention_dropout=0.0, sinusoidal_embeddings=False, gelu_activation=False, asm=False, share_inout_emb=True)
        words = [0] * sizes.target_vocabulary
        self.models = {"encoder": TransformerModel(parameters, words, True, True).eval(),
                       "decoder": TransformerModel(parameters, words, False, True).eval()}
        rows = permuted(self.ids, sizes.target_vocabulary)
        for stack, side in (("encoder", "source"), ("decoder", "target")):
            model = self.models[stack]
            self.slot(f"{side}_embedding.weight", model.embeddings.weight, rows)
            self.norm(f"{side}_embedding.norm", model.layer_norm_emb)
            self.slot(f"positions.{side}", model.position_embeddings.weight[:sizes.positions])
            for i in range(sizes.layers):
                names = [("self_attention", model.attentions[i], model.layer_norm1[i])]
                if stack == "decoder":
                    names.append(("cross_attention", model.encoder_attn[i], model.layer_norm15[i]))
                for ours, attention, norm in names:
                    self.linears(f"{stack}.{i}.{ours}", [("query", attention.q_lin), ("key", attention.k_lin),
                                                         ("value", attention.v_lin), ("output", attention.out_lin)])
                    self.norm(f"{stack}.{i}.{ours}_residual.norm", norm)
                self.linears(f"{stack}.{i}.feed_forward", [("inner", model.ffns[i].lin1),
                                                           ("outer", model.ffns[i].lin2)])
                self.norm(f"{stack}.{i}.feed_forward_residual.norm", model.layer_norm2[i])
        self.slot("output.bias", self.models["decoder"].pred_layer.proj.bias, rows)

    def log_probabilities(self, batch):
        theirs = torch.tensor(permuted(self.ids, self.sizes.target_vocabulary))
        lengths = (batch["target_output"] != PAD).sum(1)
        encoded = self.models["encoder"]("fwd", x=theirs[batch["source"]].T, lengths=batch["source_lengths"],
                                         causal=False).transpose(0, 1)
        hidden = self.models["decoder"]("fwd", x=theirs[batch["target_input"]].T, lengths=lengths, causal=True,
                                        src_enc=encoded, src_len=batch["source_lengths"])
        logits = self.models["decoder"].pred_layer.proj(hidden.transpose(0, 1))
        return logits[:, :, theirs].log_softmax(-1)


ORIGINALS = {"joeynmt": JoeyNmt, "opennmt-py": OpenNmt, "sockeye-3": Sockeye, "xlm": Xlm}
