"""A figure of docs/answers.md: what leaving sqrt(d) out costs, wherever a study stated it of updates to a target."""
import collections
import math
import re

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from answers_figure import write

PANELS = {"reverse": "Reversing", "lexical": "Word by word", "grammar": "In a grammar", "others": "Other tasks"}
OTHERS = {"copy": "copying", "sort": "sorting", "dates": "dates", "five": "five words", "adjectives": "adjectives"}
# What is the same in all arms of a study, and so no part of their names.
STUDIES = {
    "r10-need-after-tuning": {"rates": "linear"},
    "r11-three-effects": {"d": "64"},
    "r12-factor-and-width": {"task": "reverse", "matrix": "sqrt(32/d)"},
    "r12-factor-and-width-grammar": {"task": "grammar", "matrix": "sqrt(32/d)"},
    "r19-lower-rates": {"task": "reverse", "d": "128"},
    "r19-lower-rates-wide": {"task": "reverse", "d": "256"},
    "r20-grammar-rates": {"task": "grammar", "d": "128"},
    "r21-narrow-rates": {},
    "r22-narrow-grammar": {"task": "grammar", "d": "32"},
    "r23-post-norm": {"d": "64"},
    "r26-post-norm-width": {"norm": "post"},
    "r27-sharing": {"d": "64"},
    "r28-word-by-word-width": {"task": "lexical"},
    "r29-where-to-look": {"d": "64"},
    "r30-norm-on-the-sum": {},
    "r31-words-that-move": {"d": "128"},
    "r32-words-without-warmup": {"d": "128", "rates": "constant rate"},
    "r35-constant-rate": {"d": "64", "rates": "constant rate"},
    "r36-constant-rate-width": {"rates": "constant rate"},
    "r40-constant-without-factor": {"d": "64", "rates": "constant rate"},
    "r41-constant-part-width": {"d": "128", "rates": "constant rate"},
    "r42-constant-part-warmup": {"d": "64"},
}
# How the rates go, where it is not one for all that falls as the inverse root.
SLOW = "slow matrix"
SCHEDULES = {"inverse root": "", "inverse root, matrix 1/2": SLOW, "linear": "line of 2,000"}
COLOURS = {"pre": "#0072b2", "post": "#d55e00"}
MANY_SEEDS = 16
OUTSIDE = 9  # a ratio that no axis shows

Price = collections.namedtuple("Price", "norm width centred schedule untied normalised task study seeds effect")


def prices(results):
    """Of every statement about updates without sqrt(d) beside those with it, its conditions and what was found."""
    about_the_factor = re.compile(r"with(out)? the factor|without sqrt\(d\)|the factor 1 takes")
    for name, same in STUDIES.items():
        study = results.study(name)
        for hypothesis in study["hypotheses"]:
            if (hypothesis["kind"] not in ("difference", "equivalence") or hypothesis["metric"] != "updates_to_97"
                    or not about_the_factor.search(hypothesis["name"])
                    or hypothesis["arm"].get("positions") != hypothesis["against"].get("positions")):
                continue
            arm = {"norm": "pre", "tie": "tied", "rates": "inverse root", "matrix": "1", "sum": "as it is", **same,
                   **hypothesis["arm"]}
            slow = arm["matrix"] != "1" and arm["d"] != "32"  # sqrt(32 / d) of the rest's rate
            yield Price(arm["norm"], int(arm["d"]), arm.get("positions") == "centred", SLOW if slow else SCHEDULES.get(arm["rates"], arm["rates"]),
                        arm["tie"] == "untied", arm["sum"] == "normalised", arm["task"] if "task" in arm else arm["words"],
                        name.split("-")[0].upper(), len(study["seeds"]), hypothesis["checks"][0]["effect"])


def marker(norm, untied=False, many_seeds=True, bound="exactly"):
    shape = "triangle-right" if bound == "at_least" else "diamond" if untied else "circle"
    return {"size": 10, "color": COLOURS[norm], "symbol": shape if many_seeds else f"{shape}-open", "line": {"width": 1.5}}


def legend(figure):
    """Points of no panel that tell what the shapes and colours are."""
    for name, look in (("pre-LN", marker("pre")), ("post-LN", marker("post")), ("untied", marker("pre", untied=True)),
                       ("ten seeds (16 to 40 else)", marker("pre", many_seeds=False)),
                       ("at least", marker("pre", bound="at_least"))):
        figure.add_trace(go.Scatter(x=[None], y=[None], mode="markers", name=name, marker=look), row=1, col=1)


def draw(results, browser, file):
    """Writes the picture `file`, with a browser that selenium drives."""
    figure = make_subplots(rows=2, cols=2, subplot_titles=list(PANELS.values()), horizontal_spacing=0.28, vertical_spacing=0.09)
    found = sorted(prices(results), key=lambda price: (price.norm == "post", *price[1:8]))
    for panel, shown in enumerate(PANELS):
        place = {"row": 1 + panel // 2, "col": 1 + panel % 2}
        for price in found:
            if price.task != shown and not (shown == "others" and price.task in OTHERS):
                continue
            conditions = [OTHERS.get(price.task, ""), f"d = {price.width}", "post-LN" if price.norm == "post" else "",
                          "untied" if price.untied else "", "norm on the sum" if price.normalised else "", "centred" if price.centred else "",
                          price.schedule]
            value, (low, high) = price.effect["value"], price.effect["interval"]
            figure.add_trace(go.Scatter(
                x=[value], y=[f"{', '.join(filter(None, conditions))} ({price.study})"], mode="markers", showlegend=False,
                marker=marker(price.norm, price.untied, price.seeds >= MANY_SEEDS, price.effect["bound"]),
                error_x={"array": [(OUTSIDE if high is None else high) - value], "arrayminus": [value - low],
                         "thickness": 1.5, "color": COLOURS[price.norm]}), **place)
        figure.add_vline(x=1, line={"color": "#555", "width": 1}, **place)
        figure.update_xaxes(title="times the updates of sqrt(d)", type="log", tickvals=[0.3, 0.5, 0.7, 1, 1.4, 2, 2.8],
                            range=[math.log10(0.26), math.log10(3.4)], **place)
        figure.update_yaxes(autorange="reversed", tickmode="linear", dtick=1, tickfont={"size": 11}, **place)
    legend(figure)
    write(figure, browser, file, height=1400, margin={"l": 20, "r": 20, "t": 40, "b": 90},
          legend={"orientation": "h", "y": -0.055, "x": -0.1})
