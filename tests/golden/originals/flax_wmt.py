"""Flax's WMT example, from a checkout."""
import importlib
import sys

import flax
import jax
import jax.numpy as jnp
import torch

from make_golden import BOS, PAD
from make_presets import Original, split_start

SOURCES = None


def from_jax(array):
    return torch.tensor(array.tolist()).reshape(array.shape)


class FlaxWmt(Original):
    """Its padding token starts a target, and no other row is bos: here surd's two have the same row."""
    source = f"google/flax v0.12.7 with flax {flax.__version__}, jax {jax.__version__}"
    shared_vocabulary = True
    first_position = staticmethod(split_start)
    settings = {"model.positions.max_length": "%d"}

    def __init__(self, sizes):
        super().__init__(sizes)
        path = str(SOURCES / "flax" / "examples" / "wmt")
        if path not in sys.path:
            sys.path.insert(0, path)
        models = importlib.import_module("models")
        self.model = models.Transformer(models.TransformerConfig(
            vocab_size=sizes.target_vocabulary, output_vocab_size=sizes.target_vocabulary, share_embeddings=True,
            logits_via_embedding=True, emb_dim=sizes.d_model, num_heads=sizes.heads, num_layers=sizes.layers,
            qkv_dim=sizes.d_model, mlp_dim=sizes.width, max_len=sizes.positions, dropout_rate=0.0,
            attention_dropout_rate=0.0, deterministic=True))
        some = jnp.ones((1, 2), jnp.int32)
        seed = int(torch.randint(1 << 30, (1,)))
        self.tensors = jax.tree_util.tree_map(from_jax, self.model.init(jax.random.key(seed), some, some)["params"])
        self.slot("target_embedding.weight", self.tensors["shared_embedding"]["embedding"])
        for stack, block in (("encoder", "encoderblock"), ("decoder", "encoderdecoderblock")):
            attentions = ["self_attention", "cross_attention"][:1 if stack == "encoder" else 2]
            for i in range(sizes.layers):
                layer, path = self.tensors[stack][f"{block}_{i}"], f"{stack}.{i}"
                for j, name in enumerate(attentions):
                    for ours, theirs in (("query", "query"), ("key", "key"), ("value", "value"), ("output", "out")):
                        self.kernel(f"{path}.{name}.{ours}",
                                    layer[f"MultiHeadDotProductAttention_{j}"][theirs])
                    self.flax_norm(f"{path}.{name}_residual.norm", layer[f"LayerNorm_{j}"])
                self.kernel(path + ".feed_forward.inner", layer["MlpBlock_0"]["Dense_0"])
                self.kernel(path + ".feed_forward.outer", layer["MlpBlock_0"]["Dense_1"])
                self.flax_norm(path + ".feed_forward_residual.norm", layer[f"LayerNorm_{len(attentions)}"])
            self.flax_norm(stack + ".norm", self.tensors[stack][block.replace("block", "_norm")])

    def kernel(self, name, module):
        """A kernel is [in, out], with the heads as one more axis beside them."""
        inner = module["kernel"].shape[0] if name.rsplit(".", 1)[-1] != "output" else self.sizes.d_model
        self.slot(name + ".weight", module["kernel"].view(inner, -1).T)
        if "bias" in module:
            self.slot(name + ".bias", module["bias"])

    def flax_norm(self, name, module):
        self.slot(name + ".weight", module["scale"])
        self.slot(name + ".bias", module["bias"])

    def adjust(self, values):
        values["target_embedding.weight"][PAD] = values["target_embedding.weight"][BOS]
        return values

    def log_probabilities(self, batch):
        parameters = jax.tree_util.tree_map(lambda tensor: jnp.array(tensor.tolist(), jnp.float32), self.tensors)
        # it shifts the target itself
        logits = self.model.apply({"params": parameters}, jnp.array(batch["source"].tolist()),
                                  jnp.array(batch["target_output"].tolist()))
        return from_jax(logits).double().log_softmax(-1)


ORIGINALS = {"flax-wmt": FlaxWmt}
