#!/usr/bin/env python3
"""Makes translation_scores.json beside this script: what sacreBLEU prints of pairs of files, and its significance tests.

    python3 -m venv VENV && VENV/bin/pip install sacrebleu
    VENV/bin/python tests/golden/make_translation_scores.py

sacreBLEU 2.6.0 made the file that is stored. The lines are drawn from words that tell tokenizers apart: punctuation
beside digits, entities, several scripts, symbols, kinds of white space. Some files are empty, alike, or of one word a line.
"""
import json
import os
import pathlib
import random

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

WORDS = ("the a cat dog runs, jumps. 3.5 1,000 end-of-line it's \"quoted\" (paren) &amp; &quot;x&quot; &lt;tag&gt; "
         "<skipped> 10-20 5-x x-5 a.b.c ... ,, .5 5. 5, $5 €20 ½ ² x² Straße naïve “smart” ‘q’ — – 中文 字 。 你好！ नमस्ते ، "
         "٣٫٥ ١٢ ⅷ © → + = ~ ^ _ ` | @ # % * / \\ [b] {c} 😀 👍🏽 e\u0301 A.B 1.a a.1 1.1. .1.1 -5 5- -- - ' '' don't U.S.A. "
         "http://x.y/z?q=1&r=2 ．． ・ ｡ \u200b").split(" ") + ["a\u00a0b", "\u3000", "\u2028", "\u0085", "\x1c"]
TOKENIZATIONS = ("13a", "none", "char", "intl")


def line(draw):
    return " ".join(draw.choice(WORDS) for _ in range(draw.choice([0, 1, 1, 2, 3, 5, 8, 12, 20])))


def changed(text, draw, share=0.3):
    words = []
    for word in text.split(" "):
        kind = draw.random() / share
        if kind < 0.4:
            continue
        words.append(draw.choice(WORDS) if kind < 0.8 else word[::-1] if kind < 1 else word)
    if draw.random() < 0.2:
        draw.shuffle(words)
    return " ".join(words)


def pair_of_files(number, draw):
    references = [line(draw) for _ in range(draw.choice([1, 2, 5, 12]))]
    kind = number % 10
    if kind == 3:
        return references, references
    if kind == 4:
        return [""] * len(references), references
    if kind == 5:
        return ["zz"] * len(references), references
    if kind == 6:
        references = [draw.choice(WORDS) for _ in references]
        return [draw.choice(WORDS) if draw.random() < 0.5 else word for word in references], references
    return [changed(text, draw) for text in references], references


def of_files(translations, references):
    def as_read(lines):  # sacreBLEU's program takes the white space from the ends of lines
        return [text.rstrip() for text in lines]

    texts, scores = (as_read(translations), [as_read(references)]), {}
    for tokenization in TOKENIZATIONS:
        bleu = BLEU(tokenize=tokenization, force=True)
        result = bleu.corpus_score(*texts)
        scores[tokenization] = [f"{result.score:.2f}", result._verbose,
                                str(bleu.get_signature()).split("|version")[0]]
    for words in (0, 1, 2):
        chrf = CHRF(word_order=words)
        result = chrf.corpus_score(*texts)
        scores[result.name] = [f"{result.score:.2f}", "", str(chrf.get_signature()).split("|version")[0]]
    return {"translations": translations, "references": references, "scores": scores}


def of_systems(share, trials, draw):
    references = [" ".join(draw.choice(WORDS[:12]) for _ in range(10)) for _ in range(100)]
    baseline, system = ([changed(text, draw, s) for text in references] for s in (0.3, share))
    tests = {}
    for name, test in (("bootstrap", "bs"), ("randomization", "ar")):
        results = PairedTest([("baseline", baseline), ("system", system)], {"BLEU": BLEU(), "chrF2": CHRF()},
                             [references], test_type=test, n_samples=trials)()[1]
        tests[name] = {metric: {key: None if value is None else float(value) for key, value in
                                (("p", results[metric][1].p_value), ("mean", results[metric][1].mean),
                                 ("half_width", results[metric][1].ci))} for metric in ("BLEU", "chrF2")}
    return {"references": references, "baseline": baseline, "system": system, "trials": trials, "tests": tests}


def main():
    os.environ["SACREBLEU_SEED"] = "12345"
    draw = random.Random(1)
    golden = {"files": [of_files(*pair_of_files(number, draw)) for number in range(70)],
              "systems": [of_systems(share, 10000, draw) for share in (0.2, 0.27, 0.3)]}
    path = pathlib.Path(__file__).with_name("translation_scores.json")
    path.write_text(json.dumps(golden, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
