"""Models of surd in transformers and PyTorch, and one of transformers in surd: the programs of docs/interop.md are run as
they stand there, and the log-probabilities of 1,000 sentences are compared with those of surd score; translations are
compared word by word.

    transformers_test.py SURD

Ends with 77, and says so, where torch, transformers, safetensors, sentencepiece or yaml is missing.
"""
import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile

missing = [name for name in ("torch", "transformers", "safetensors", "sentencepiece", "yaml")
           if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIPPED: {sys.executable} has no {', '.join(missing)}; ./dev interop installs them and runs this test")
    sys.exit(77)

import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[3]
SURD = sys.argv[1]
SENTENCES = 1000
ALLOWED = 1e-4


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def programs():
    """The Python programs of docs/interop.md, in their order."""
    text = (ROOT / "docs" / "interop.md").read_text(encoding="utf-8")
    return [part.split("```")[0] for part in text.split("```python\n")[1:]]


def sentences(words, seed):
    chance = random.Random(seed)
    return [" ".join(chance.choice(words) for _ in range(chance.randint(1, 9))) for _ in range(SENTENCES)]


class Data:
    """Sentences, and a translation of each, as files of a task."""

    def __init__(self, folder):
        english = ["a", "the", "dog", "cat", "two", "runs", "sleeps", "houses", "green", "über", "naïve", "don't"]
        german = ["ein", "der", "Hund", "Katze", "zwei", "rennt", "schläft", "Häuser", "grün", "über", "naiv", "nicht"]
        self.source, self.target = folder / "source", folder / "target"
        self.sources = sentences(english, 1)
        translation = dict(zip(english, german))
        self.targets = [" ".join(translation[word] for word in line.split()) for line in self.sources]
        self.source.write_text("\n".join(self.sources) + "\n", encoding="utf-8")
        self.target.write_text("\n".join(self.targets) + "\n", encoding="utf-8")

    def task(self, more):
        files = "".join(f", {split}_{side}: {getattr(self, side)}" for split in ("train", "valid", "test")
                        for side in ("source", "target"))
        return f"task: {{name: parallel_text{files}{more}}}\n"


def trained(folder, name, config):
    path = folder / name
    (folder / f"{name}.yaml").write_text(
        config + "train: {updates: 1500, batch_size: 32, evaluate_every: 500}\nschedule: {name: inverse_sqrt, warmup: 200}\n"
        "optimizer: {learning_rate: 0.004}\n", encoding="utf-8")
    run(SURD, "train", folder / f"{name}.yaml", "--out", path, stderr=subprocess.DEVNULL)
    return path


def surd_scores(path, data):
    lines = run(SURD, "score", path, "--source", data.source, "--target", data.target, stderr=subprocess.DEVNULL)
    return [json.loads(line)["log_probs"] for line in lines.splitlines()]


def python_scores(program, model, data):
    pairs = "".join(f"{source}\t{target}\n" for source, target in zip(data.sources, data.targets))
    lines = run(sys.executable, "-c", program, model, input=pairs, stderr=subprocess.DEVNULL)
    return [[float(word) for word in line.split()] for line in lines.splitlines()]


def compare(what, ours, theirs):
    assert [len(line) for line in ours] == [len(line) for line in theirs], f"{what}: other numbers of tokens"
    largest = max(abs(a - b) for line, other in zip(ours, theirs) for a, b in zip(line, other))
    print(f"{what}: {len(ours)} sentences, {sum(map(len, ours))} tokens, largest difference {largest:.1e}")
    assert largest <= ALLOWED, f"{what}: {largest} is more than {ALLOWED}"


def compare_translations(what, path, folder, data):
    model, tokenizer = MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)
    few = data.sources[:50]
    ours = run(SURD, "translate", path, "--max-length", 80, input="\n".join(few) + "\n",
               stderr=subprocess.DEVNULL).splitlines()
    inputs = tokenizer(few, return_tensors="pt", padding=True)
    ids = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=81)  # the last one is forced to end it
    theirs = tokenizer.batch_decode(ids, skip_special_tokens=True)
    same = sum(a == b for a, b in zip(ours, theirs))
    right = sum(a == b for a, b in zip(ours, data.targets))
    print(f"{what}: {same} of {len(few)} translations are the same, {right} are right")
    assert same == len(few), f"{what}: {[pair for pair in zip(ours, theirs) if pair[0] != pair[1]][0]}"


def test_one_file(folder, data, program):
    path = trained(folder, "words", data.task("") + "model: {d_model: 32, heads: 4}\n")
    run(SURD, "export", path, "--format", "safetensors", "--out", folder / "words.safetensors")
    compare("one file", surd_scores(path, data), python_scores(program, folder / "words.safetensors", data))


def test_marian(folder, data, program):
    models = {
        "as it is": "extends: hf-marian\nmodel: {d_model: 32, heads: 4, embedding: {scale: sqrt_dim}}\n",
        "other factors": "model: {d_model: 32, heads: 4, norm: {placement: post}, attention: {scale: 0.7},\n"
                         "  embedding: {tie: all, scale: 3, logit_scale: inv_sqrt_dim, output_bias: true}}\n",
        "two vocabularies": "model: {d_model: 32, heads: 4, norm: {placement: post}, embedding: {tie: decoder},\n"
                            "  positions: {kind: learned, shared: false}}\n",
        "nothing tied": "model: {d_model: 32, heads: 4, norm: {placement: post}, embedding: {tie: none, logit_scale: 2},\n"
                        "  attention: {name: multi_query}}\n"}
    for i, (name, model) in enumerate(models.items()):
        shared = "true" if i < 2 else "false"
        task = data.task(f", shared_vocabulary: {shared}, subwords: {{kind: bpe, size: 60}}")
        extends = model.startswith("extends")
        first, rest = model.split("\n", 1) if extends else ("", model)
        path = trained(folder, f"pieces-{i}", (first + "\n" if extends else "") + task + rest)
        there = folder / f"marian-{i}"
        run(SURD, "export", path, "--format", "marian", "--out", there)
        compare(f"Marian, {name}", surd_scores(path, data), python_scores(program, there, data))
        compare_translations(f"Marian, {name}", path, there, data)
    return folder / "marian-0"


def test_causal(folder, data, program):
    """Texts without sources, in words."""
    files = ", ".join(f"{split}: {data.source}" for split in ("train", "valid", "test"))
    task = f"task: {{name: text, {files}}}\n"
    sizes = "kind: decoder_only, d_model: 32, heads: 4"
    models = {
        ("gpt2", "the preset"): "extends: gpt-2\nmodel: {d_model: 32, heads: 4, dropout: 0}\n",
        ("gpt2", "other factors"): f"model: {{{sizes}, attention: {{name: multi_query, scale: 0.7, bias: false}},\n"
                                   "  positions: {kind: sinusoidal, scale: 0.5},\n"
                                   "  embedding: {tie: all, scale: 3, logit_scale: inv_sqrt_dim}}\n",
        ("llama", "the preset"): "extends: llama\nmodel: {d_model: 32, heads: 4, attention: {key_value_heads: 2}}\n",
        ("llama", "other factors"): f"model: {{{sizes}, norm: {{kind: rms_norm}}, positions: {{kind: none}},\n"
                                    "  attention: {name: rotary, base: 100, scale: 0.7}, embedding: {tie: all, scale: 3},\n"
                                    "  feed_forward: {name: gated, activation: gelu_tanh, bias: true}}\n"}
    for i, ((architecture, name), model) in enumerate(models.items()):
        extends = model.startswith("extends")
        first, rest = model.split("\n", 1) if extends else ("", model)
        path = trained(folder, f"texts-{i}", (first + "\n" if extends else "") + task + rest)
        there = folder / f"causal-{i}"
        run(SURD, "export", path, "--format", architecture, "--out", there)
        lines = run(SURD, "score", path, "--target", data.source, stderr=subprocess.DEVNULL).splitlines()
        theirs = run(sys.executable, "-c", program, there, input="\n".join(data.sources) + "\n",
                     stderr=subprocess.DEVNULL).splitlines()
        compare(f"{architecture}, {name}", [json.loads(line)["log_probs"] for line in lines],
                [[float(word) for word in line.split()] for line in theirs])


def test_import(folder, data, exported, program):
    """A model that transformers made, with the vocabulary of an exported one and Marian's own first token."""
    torch.manual_seed(7)
    vocabulary = json.loads((exported / "vocab.json").read_text(encoding="utf-8"))
    config = MarianConfig(vocab_size=len(vocabulary), d_model=24, encoder_layers=2, decoder_layers=1,
                          encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=40,
                          activation_function="swish", scale_embedding=True, max_position_embeddings=64, init_std=0.3,
                          pad_token_id=vocabulary["<pad>"], eos_token_id=vocabulary["</s>"],
                          decoder_start_token_id=vocabulary["<pad>"], forced_eos_token_id=vocabulary["</s>"])
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_()
    there = folder / "theirs"
    model.save_pretrained(there)
    MarianTokenizer.from_pretrained(exported).save_pretrained(there)
    run(SURD, "import", there, "--out", folder / "imported")
    compare("imported", surd_scores(folder / "imported", data), python_scores(program, there, data))


def main():
    one_file, marian, causal = programs()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = Data(folder)
        test_one_file(folder, data, one_file)
        exported = test_marian(folder, data, marian)
        test_import(folder, data, exported, marian)
        test_causal(folder, data, causal)


main()
