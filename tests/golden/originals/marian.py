"""Marian itself, in pymarian, as a program that trains for nothing and that scores."""
import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch

from make_golden import BOS, EOS, PAD
from make_presets import Original

SOURCES = None
NO_LOGIT = -100.0  # what leaves a token no probability


class FromRow2:
    """Surd's table without its rows of padding and <s>, which have no counterpart."""
    def __init__(self, tensor):
        self.tensor = tensor

    def shape(self):
        return [self.tensor.shape[0] + 2, *self.tensor.shape[1:]]

    def set(self, value):
        self.tensor.copy_(value[2:])

    def get(self):
        return self.tensor.double()


class Marian(Original):
    source = f"pymarian {importlib.metadata.version('pymarian')}"
    shared_vocabulary = True
    pre_norm = False
    settings = {"model.positions.max_length": "%d"}
    draws = 6  # each a program of its own

    def __init__(self, sizes):
        super().__init__(sizes)
        self.keep = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keep.name)
        words = ["</s>", "<unk>"] + [self.word(i) for i in range(4, sizes.target_vocabulary)]
        self.write("v.yml", [f'"{word}": {i}' for i, word in enumerate(words)])
        for name in ("source.txt", "target.txt"):
            self.write(name, [" ".join(words[2:6])] * 4)
        size = str(sizes.target_vocabulary - 2)
        self.run("train", "--model", "m.npz", "--type", "transformer", "--dim-emb", str(sizes.d_model),
                 "--transformer-heads", str(sizes.heads), "--enc-depth", str(sizes.layers), "--dec-depth",
                 str(sizes.layers), "--transformer-dim-ffn", str(sizes.width), "--tied-embeddings-all",
                 "--transformer-ffn-activation", "relu", "--dim-vocabs", size, size, "--learn-rate", "1e-30",
                 "--after-batches", "1", "--mini-batch", "4", "--max-length", "20", "--overwrite", "--seed",
                 str(int(torch.randint(1 << 30, (1,)))))
        with numpy.load(self.folder / "m.npz") as file:
            self.arrays = {name: file[name].copy() for name in file.files}
        for array in self.arrays.values():
            if array.dtype == numpy.float32:
                array[abs(array) < 1e-20] = 0  # what the update made of zeros
        self.slots["target_embedding.weight"] = FromRow2(self.tensor("Wemb"))
        self.slots["output.bias"] = FromRow2(self.tensor("decoder_ff_logit_out_b")[0])
        for stack, names in (("encoder", [("self_attention", "self")]),
                             ("decoder", [("self_attention", "self"), ("cross_attention", "context")])):
            for i in range(sizes.layers):
                for ours, theirs in names:
                    path, there = f"{stack}.{i}.{ours}", f"{stack}_l{i + 1}_{theirs}"
                    for name, letter in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o")):
                        self.matrix(f"{path}.{name}", f"{there}_W{letter}", f"{there}_b{letter}")
                    self.marian_norm(path + "_residual.norm", there + "_Wo_ln")
                path, there = f"{stack}.{i}.feed_forward", f"{stack}_l{i + 1}_ffn"
                self.matrix(path + ".inner", there + "_W1", there + "_b1")
                self.matrix(path + ".outer", there + "_W2", there + "_b2")
                self.marian_norm(path + "_residual.norm", there + "_ffn_ln")

    @staticmethod
    def word(surd_id):
        return {EOS: "</s>", 3: "<unk>"}.get(surd_id, f"w{surd_id}")

    def write(self, name, lines):
        (self.folder / name).write_text("".join(line + "\n" for line in lines))

    def run(self, *arguments):
        program = "import sys, _pymarian; sys.exit(_pymarian.main(sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments, "--train-sets", "source.txt", "target.txt", "--vocabs",
             "v.yml", "v.yml", "--cpu-threads", "1", "--workspace", "64", "--quiet"],
            cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": ":".join(sys.path)})
        return done.stdout

    def tensor(self, name):
        return torch.from_numpy(self.arrays[name])

    def matrix(self, name, weight, bias):
        self.slot(name + ".weight", self.tensor(weight).T)
        self.slot(name + ".bias", self.tensor(bias)[0])

    def marian_norm(self, name, there):
        self.slot(name + ".weight", self.tensor(there + "_scale")[0])
        self.slot(name + ".bias", self.tensor(there + "_bias")[0])

    def adjust(self, values):
        """Its decoder starts from a vector of zeros."""
        values["target_embedding.weight"][[PAD, BOS]] = 0
        values["output.bias"][[PAD, BOS]] = NO_LOGIT
        return values

    def log_probabilities(self, batch):
        numpy.savez(self.folder / "filled.npz", **self.arrays)
        for name, ids in (("source.txt", batch["source"]), ("target.txt", batch["target_output"])):
            self.write(name, [" ".join(self.word(i) for i in row if i not in (PAD, EOS)) for row in ids.tolist()])
        lines = self.run("score", "--model", "filled.npz").split()
        return {"scores": torch.tensor([float(line) for line in lines], dtype=torch.float64)}


ORIGINALS = {"marian": Marian}
