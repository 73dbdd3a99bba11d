"""Decoders alone: GPT-2, Llama, Gemma and OLMo of transformers, and nanoGPT. Norms but GPT-2's compute in float32."""
import importlib.util

import transformers
from transformers import GemmaConfig, GemmaForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, \
    OlmoConfig, OlmoForCausalLM

from make_golden import BOS, EOS, PAD
from make_presets import Original

VERSION = f"transformers {transformers.__version__}"
SOURCES = None


class Decoder(Original):
    """What they have in common: one vocabulary, no sources."""
    decoder_only = True
    shared_vocabulary = True
    layers = 2  # to show a factor that depends on their number

    def log_probabilities(self, batch):
        return self.model(input_ids=batch["target_input"]).logits.log_softmax(-1)


def gpt_blocks(original, blocks, weight):
    """Of GPT-2 here and in nanoGPT, which name them alike: `weight` gives a map's matrix [out, in]."""
    d = original.sizes.d_model
    for i, block in enumerate(blocks):
        attention, path = block.attn, f"decoder.{i}.self_attention"
        for part, name in enumerate(("query", "key", "value")):
            rows = slice(part * d, (part + 1) * d)
            original.slot(f"{path}.{name}.weight", weight(attention.c_attn)[rows])
            if attention.c_attn.bias is not None:
                original.slot(f"{path}.{name}.bias", attention.c_attn.bias.data[rows])
        for name, module in ((f"{path}.output", attention.c_proj), (f"decoder.{i}.feed_forward.inner", block.mlp.c_fc),
                             (f"decoder.{i}.feed_forward.outer", block.mlp.c_proj)):
            original.slot(name + ".weight", weight(module))
            if module.bias is not None:
                original.slot(name + ".bias", module.bias)
        original.norm(f"{path}_residual.norm", block.ln_1)
        original.norm(f"decoder.{i}.feed_forward_residual.norm", block.ln_2)


class Gpt2(Decoder):
    source = VERSION
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        self.model = GPT2LMHeadModel(GPT2Config(
            vocab_size=sizes.target_vocabulary, n_positions=sizes.positions, n_embd=sizes.d_model,
            n_layer=sizes.layers, n_head=sizes.heads, n_inner=sizes.width, attn_implementation="eager",
            bos_token_id=BOS, eos_token_id=EOS)).eval()
        inside = self.model.transformer
        self.slot("target_embedding.weight", inside.wte.weight)
        self.slot("positions.weight", inside.wpe.weight)
        gpt_blocks(self, inside.h, lambda module: module.weight.data.t())
        self.norm("decoder.norm", inside.ln_f)


class NanoGpt(Decoder):
    """It gives the logits of all positions only where it is given targets."""
    source = "karpathy/nanoGPT 3adf61e"
    settings = {"model.positions.max_length": "%d"}
    width_of = staticmethod(lambda d: 4 * d)

    def __init__(self, sizes):
        super().__init__(sizes)
        spec = importlib.util.spec_from_file_location("nanogpt_model", SOURCES / "nanoGPT" / "model.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.model = module.GPT(module.GPTConfig(
            block_size=sizes.positions, vocab_size=sizes.target_vocabulary, n_layer=sizes.layers, n_head=sizes.heads,
            n_embd=sizes.d_model, dropout=0.0, bias=False)).eval()
        inside = self.model.transformer
        self.slot("target_embedding.weight", inside.wte.weight)
        self.slot("positions.weight", inside.wpe.weight)
        gpt_blocks(self, inside.h, lambda module: module.weight.data)
        self.norm("decoder.norm", inside.ln_f)

    def log_probabilities(self, batch):
        return self.model(batch["target_input"].long(), batch["target_input"].long())[0].log_softmax(-1)


def llama_blocks(original, model, offset=0.0):
    """Of Llama and of what was written after it; the norms' gains are `offset` less than surd's, if there are any."""
    d, half = original.sizes.d_model, original.sizes.d_model // original.sizes.heads // 2
    # surd turns neighbouring columns of a head, the original columns half a head apart
    turned = [2 * half * (r // (2 * half)) + r % (2 * half) // 2 + half * (r % 2) for r in range(d)]

    def norm(name, module):
        if getattr(module, "weight", None) is not None:
            original.slot(name + ".weight", module.weight, offset=offset)

    original.slot("target_embedding.weight", model.embed_tokens.weight)
    for i, layer in enumerate(model.layers):
        path, attention = f"decoder.{i}", layer.self_attn
        original.slot(f"{path}.self_attention.query.weight", attention.q_proj.weight, rows=turned)
        keys = turned[:attention.k_proj.weight.shape[0]]
        original.slot(f"{path}.self_attention.key.weight", attention.k_proj.weight, rows=keys)
        original.linears(f"{path}.self_attention", [("value", attention.v_proj), ("output", attention.o_proj)])
        original.linears(f"{path}.feed_forward", [("gate", layer.mlp.gate_proj), ("inner", layer.mlp.up_proj),
                                                  ("outer", layer.mlp.down_proj)])
        norm(f"{path}.self_attention_residual.norm", layer.input_layernorm)
        norm(f"{path}.feed_forward_residual.norm", layer.post_attention_layernorm)
    norm("decoder.norm", model.norm)


def llama_sizes(sizes, key_value_heads):
    return {"vocab_size": sizes.target_vocabulary, "hidden_size": sizes.d_model, "intermediate_size": sizes.width,
            "num_hidden_layers": sizes.layers, "num_attention_heads": sizes.heads,
            "num_key_value_heads": key_value_heads, "attn_implementation": "eager", "bos_token_id": BOS,
            "eos_token_id": EOS}


class Llama(Decoder):
    """With heads that share their keys and values, as its larger sizes have."""
    source = VERSION
    settings = {"model.attention.key_value_heads": "1"}

    def __init__(self, sizes):
        super().__init__(sizes)
        self.model = LlamaForCausalLM(LlamaConfig(**llama_sizes(sizes, 1))).eval()
        llama_blocks(self, self.model.model)
        self.slot("output.weight", self.model.lm_head.weight)


class Olmo(Decoder):
    source = VERSION

    def __init__(self, sizes):
        super().__init__(sizes)
        self.model = OlmoForCausalLM(OlmoConfig(**llama_sizes(sizes, sizes.heads), pad_token_id=PAD)).eval()
        llama_blocks(self, self.model.model)
        self.slot("output.weight", self.model.lm_head.weight)


class Gemma(Decoder):
    source = VERSION
    embedding_factor = staticmethod(lambda d: d ** 0.5)

    def __init__(self, sizes):
        super().__init__(sizes)
        self.model = GemmaForCausalLM(GemmaConfig(**llama_sizes(sizes, sizes.heads), pad_token_id=PAD,
                                                  head_dim=sizes.d_model // sizes.heads)).eval()
        llama_blocks(self, self.model.model, offset=1.0)


ORIGINALS = {"gpt-2": Gpt2, "nanogpt": NanoGpt, "llama": Llama, "gemma": Gemma, "olmo": Olmo}
