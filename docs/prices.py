"""What leaving sqrt(d) out costs, where a study of many seeds stated it."""
import collections

CASES = {"word by word, pre-LN": ("lexical", "pre"), "grammar, post-LN": ("grammar", "post")}
# What is the same in all arms of a study, and so no part of their names.
STUDIES = {
    "r19-lower-rates": {"task": "reverse", "d": "128"},
    "r19-lower-rates-wide": {"task": "reverse", "d": "256"},
    "r20-grammar-rates": {"task": "grammar", "d": "128"},
    "r21-narrow-rates": {},
    "r22-narrow-grammar": {"task": "grammar", "d": "32"},
    "r23-post-norm": {"d": "64"},
    "r26-post-norm-width": {"norm": "post"},
    "r27-sharing": {"d": "64"},
    "r28-word-by-word-width": {"task": "lexical"},
    "r35-constant-rate": {"d": "64", "rates": "constant"},
    "r36-constant-rate-width": {"rates": "constant"},
    "r40-constant-without-factor": {"d": "64", "rates": "constant"},
    "r41-constant-part-width": {"d": "128", "rates": "constant"},
    "r42-constant-part-warmup": {"d": "64"},
    "r45-constant-part-wide": {"d": "256", "positions": "centred"},
}
RATES = ("inverse root", "constant")
SEEDS = 16

Price = collections.namedtuple("Price", "task norm centred rates width seeds effect")


def prices(results):
    """Of every statement about updates without sqrt(d) beside those with it, its conditions and what was found; tied, one
    learning rate for all parameters."""
    for name, same in STUDIES.items():
        study = results.study(name)
        assert len(study["seeds"]) >= SEEDS, name
        for hypothesis in study["hypotheses"]:
            if (hypothesis["kind"] not in ("difference", "equivalence") or hypothesis["under"]
                    or hypothesis["metric"] != "updates_to_97" or hypothesis["arm"] != {**hypothesis["against"], "alpha": "1"}):
                continue
            arm = {"norm": "pre", "tie": "tied", "rates": "inverse root", "matrix": "1", **same, **hypothesis["arm"]}
            if "case" in arm:
                arm["task"], arm["norm"] = CASES[arm["case"]]
            if arm["tie"] == "tied" and arm["matrix"] == "1" and arm["rates"] in RATES:
                yield Price(arm["task"], arm["norm"], arm.get("positions") == "centred", arm["rates"], int(arm["d"]),
                            len(study["seeds"]), hypothesis["checks"][0]["effect"])
