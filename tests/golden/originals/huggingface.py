"""transformers: T5 and Marian. The presets were read in 4.57.6; 4.40.2 is the last for PyTorch 1."""
import transformers
from transformers import MarianConfig, MarianMTModel, T5Config, T5ForConditionalGeneration

from make_golden import BOS, EOS, PAD
from make_presets import Original, source_mask

VERSION = f"transformers {transformers.__version__}"


class T5(Original):
    """Its norms and softmax compute in float32 whatever the model's type is."""
    source = VERSION
    shared_vocabulary = True
    layers = 2  # to show that the table of distances is shared
    lengths = ([100, 41, 7], [24, 12, 5])  # to reach buckets of more than one distance

    def __init__(self, sizes):
        super().__init__(sizes)
        self.model = T5ForConditionalGeneration(T5Config(
            vocab_size=sizes.target_vocabulary, d_model=sizes.d_model, d_kv=sizes.d_model // sizes.heads,
            d_ff=sizes.width, num_layers=sizes.layers, num_decoder_layers=sizes.layers, num_heads=sizes.heads,
            pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=BOS)).eval()
        self.slot("target_embedding.weight", self.model.shared.weight)
        for stack, sub_layers in (("encoder", ["self_attention"]), ("decoder", ["self_attention", "cross_attention"])):
            module = getattr(self.model, stack)
            self.slot(f"{stack}.distance_bias.weight",
                      module.block[0].layer[0].SelfAttention.relative_attention_bias.weight)
            for i, block in enumerate(module.block):
                for j, name in enumerate(sub_layers):
                    attention = getattr(block.layer[j], "EncDecAttention" if j else "SelfAttention")
                    self.linears(f"{stack}.{i}.{name}", [("query", attention.q), ("key", attention.k),
                                                         ("value", attention.v), ("output", attention.o)])
                    self.norm(f"{stack}.{i}.{name}_residual.norm", block.layer[j].layer_norm)
                maps = block.layer[-1].DenseReluDense
                self.linears(f"{stack}.{i}.feed_forward", [("inner", maps.wi), ("outer", maps.wo)])
                self.norm(f"{stack}.{i}.feed_forward_residual.norm", block.layer[-1].layer_norm)
            self.norm(f"{stack}.norm", module.final_layer_norm)

    def log_probabilities(self, batch):
        return self.model(input_ids=batch["source"], attention_mask=source_mask(batch).long(),
                          decoder_input_ids=batch["target_input"]).logits.log_softmax(-1)


class Marian(Original):
    """The padding row is compared as any other; that it starts the target there is not: <s> is given."""
    source = VERSION
    shared_vocabulary = True
    pre_norm = False
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        self.model = MarianMTModel(MarianConfig(
            vocab_size=sizes.target_vocabulary, d_model=sizes.d_model, encoder_layers=sizes.layers,
            decoder_layers=sizes.layers, encoder_attention_heads=sizes.heads, decoder_attention_heads=sizes.heads,
            encoder_ffn_dim=sizes.width, decoder_ffn_dim=sizes.width, max_position_embeddings=sizes.positions,
            pad_token_id=PAD, decoder_start_token_id=BOS, eos_token_id=EOS, forced_eos_token_id=EOS)).eval()
        self.slot("target_embedding.weight", self.model.model.shared.weight)
        blocks(self, self.model.model)

    def log_probabilities(self, batch):
        return self.model(input_ids=batch["source"], attention_mask=source_mask(batch).long(),
                          decoder_input_ids=batch["target_input"]).logits.log_softmax(-1)


def blocks(original, model):
    """The layers of Marian here and of fairseq's Transformer, which have the same names."""
    for stack in ("encoder", "decoder"):
        for i, layer in enumerate(getattr(model, stack).layers):
            attentions = [("self_attention", "self_attn")]
            if stack == "decoder":
                attentions.append(("cross_attention", "encoder_attn"))
            for ours, theirs in attentions:
                attention = getattr(layer, theirs)
                original.linears(f"{stack}.{i}.{ours}", [("query", attention.q_proj), ("key", attention.k_proj),
                                                         ("value", attention.v_proj), ("output", attention.out_proj)])
                original.norm(f"{stack}.{i}.{ours}_residual.norm", getattr(layer, theirs + "_layer_norm"))
            original.linears(f"{stack}.{i}.feed_forward", [("inner", layer.fc1), ("outer", layer.fc2)])
            original.norm(f"{stack}.{i}.feed_forward_residual.norm", layer.final_layer_norm)


ORIGINALS = {"t5": T5, "hf-marian": Marian}
