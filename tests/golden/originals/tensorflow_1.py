"""tensor2tensor, by a program of its own in a Python 3.7 that the variable TENSORFLOW1_PYTHON names."""
import os
import pathlib
import subprocess
import tempfile

import numpy
import torch

from make_golden import BOS
from make_presets import Original

SOURCES = None


class Rows:
    """A table of which each part is a tensor of its own."""
    def __init__(self, parts):
        self.parts = parts

    def shape(self):
        return list(torch.cat(self.parts).shape)

    def set(self, value):
        for part, rows in zip(self.parts, value.split([len(part) for part in self.parts])):
            part.copy_(rows)

    def get(self):
        return torch.cat(self.parts).double()


class Tensor2Tensor(Original):
    """It starts a target from zeros, as surd does with a row of zeros for <s>; without its vector of the target space.
    Ids are surd's: it has no use for any but the padding's."""
    source = "tensor2tensor 1.15.7 with TensorFlow 1.15.5"
    shared_vocabulary = True
    embedding_factor = staticmethod(lambda d: d ** 0.5)
    settings = {"model.positions.max_length": "%d"}
    draws = 6
    drawn = {}  # of one size, for a program takes long to start

    def __init__(self, sizes):
        super().__init__(sizes)
        if str(sizes) not in self.drawn:
            self.drawn[str(sizes)] = self.run(sizes, self.draws, {})[0]
        self.arrays = self.drawn[str(sizes)].pop(0)
        tensors = {name: torch.from_numpy(array) for name, array in self.arrays.items()}
        with torch.no_grad():
            tensors["transformer/body/target_space_embedding/kernel"].zero_()
        table = f"transformer/symbol_modality_{sizes.target_vocabulary}_{sizes.d_model}/shared/weights_"
        self.slots["target_embedding.weight"] = Rows([tensors[table + str(i)] for i in range(16)])
        for stack, attentions in (("encoder", [("self_attention", "self_attention")]),
                                  ("decoder", [("self_attention", "self_attention"),
                                               ("cross_attention", "encdec_attention")])):
            root = f"transformer/body/{stack}/"

            def stack_norm(name, place):
                place += "layer_prepostprocess/layer_norm/layer_norm_"
                self.slot(name + ".weight", tensors[place + "scale"])
                self.slot(name + ".bias", tensors[place + "bias"])

            for i in range(sizes.layers):
                for ours, theirs in attentions:
                    place, path = f"{root}layer_{i}/{theirs}/", f"{stack}.{i}.{ours}"
                    for name, kernel in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "output_transform")):
                        self.slot(f"{path}.{name}.weight", tensors[f"{place}multihead_attention/{kernel}/kernel"].T)
                    stack_norm(path + "_residual.norm", place)
                place, path = f"{root}layer_{i}/ffn/", f"{stack}.{i}.feed_forward"
                for name, kernel in (("inner", "conv1"), ("outer", "conv2")):
                    self.slot(f"{path}.{name}.weight", tensors[f"{place}{kernel}/kernel"].T)
                    self.slot(f"{path}.{name}.bias", tensors[f"{place}{kernel}/bias"])
                stack_norm(path + "_residual.norm", place)
            stack_norm(stack + ".norm", root)

    @staticmethod
    def run(sizes, draws, filled):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if filled:
                numpy.savez(folder / "filled.npz", **filled)
            numbers = (sizes.d_model, sizes.heads, sizes.layers, sizes.width, sizes.target_vocabulary,
                       int(torch.randint(1 << 30, (1,))), draws)
            subprocess.run([os.environ["TENSORFLOW1_PYTHON"], pathlib.Path(__file__).with_name(
                "tensor2tensor_program.py"), folder, " ".join(map(str, numbers))], check=True, env={},
                stderr=subprocess.DEVNULL)
            logits = numpy.load(folder / "logits.npz")["logits"] if filled else None
            return [dict(numpy.load(folder / f"initial_{i}.npz")) for i in range(draws)], logits

    def adjust(self, values):
        values["target_embedding.weight"][BOS] = 0
        return values

    def log_probabilities(self, batch):
        filled = dict(self.arrays, source=batch["source"].numpy(), target=batch["target_output"].numpy())
        return torch.from_numpy(self.run(self.sizes, 1, filled)[1]).double().log_softmax(-1)


ORIGINALS = {"tensor2tensor": Tensor2Tensor}
