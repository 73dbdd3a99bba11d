"""A figure of docs/answers.md: what leaving sqrt(d) out costs, wherever a study stated it of updates to a target."""
import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from answers_figure import number_of, write

TASKS = {"reverse": "Reversing", "lexical": "Word by word", "grammar": "In a grammar"}
# How the rates go, where it is not one for all that falls as the inverse root.
SLOW, LINE = "slow matrix", "line of 2,000"
SCHEDULES = {"inverse root": "", "inverse root, matrix 1/2": SLOW, "linear": LINE}
# What is the same in all arms of a study, and so no part of their names.
STUDIES = {
    "r10-need-after-tuning": {"schedule": LINE},
    "r11-three-effects": {"d": "64"},
    "r12-factor-and-width": {"task": "reverse", "matrix": "sqrt(32/d)"},
    "r12-factor-and-width-grammar": {"task": "grammar", "matrix": "sqrt(32/d)"},
    "r19-lower-rates": {"task": "reverse", "d": "128"},
    "r19-lower-rates-wide": {"task": "reverse", "d": "256"},
    "r20-grammar-rates": {"task": "grammar", "d": "128"},
    "r21-narrow-rates": {},
    "r22-narrow-grammar": {"task": "grammar", "d": "32"},
    "r23-post-norm": {"d": "64"},
    "r27-sharing": {"d": "64"},
}
COLOURS = {False: "#0072b2", True: "#d55e00"}  # of post-LN


def token_size(arm, width):
    """The factor over sqrt(d), or what a study calls it by."""
    if "alpha" in arm:
        return 1 if arm["alpha"] == "sqrt(d)" else 1 / math.sqrt(width)
    if "rms" in arm:
        return number_of(arm["rms"])
    return 1 if (arm["rho"], arm["size"]) == ("1.41", "1") else 1 / math.sqrt(width) if arm["size"] == "0.586" else None


def prices(results):
    """Of every statement of updates without sqrt(d) beside those with it: task, width, label, study, seeds, effect."""
    for name, same in STUDIES.items():
        study = results.study(name)
        for hypothesis in study["hypotheses"]:
            arm, against = {**same, **hypothesis["arm"]}, {**same, **hypothesis["against"]}
            if hypothesis["kind"] not in ("difference", "equivalence") or hypothesis["metric"] != "updates_to_97":
                continue
            width = int(arm["d"])
            sizes = token_size(arm, width), token_size(against, width)
            if None in sizes or not (math.isclose(sizes[0], 1 / math.sqrt(width)) and sizes[1] == 1):
                continue
            schedule = arm.get("schedule", SCHEDULES.get(arm.get("rates"), arm.get("rates", "")))
            if arm.get("matrix", "1") != "1" and width > 32:  # sqrt(32 / d) of the rest's rate
                schedule = SLOW
            yield (arm["task"], width, schedule, arm.get("norm") == "post", arm.get("tie") == "untied", name.split("-")[0].upper(),
                   len(study["seeds"]), hypothesis["checks"][0]["effect"])


def marker(post, untied, seeds, bound):
    shape = "triangle-right" if bound == "at_least" else "diamond" if untied else "circle"
    return {"size": 10, "color": COLOURS[post], "symbol": shape + "-open" * (seeds < 16), "line": {"width": 1.5}}


def legend(figure):
    """Points of no panel that tell what the shapes and colours are."""
    for name, look in (("pre-LN", marker(False, False, 16, "exactly")), ("post-LN", marker(True, False, 16, "exactly")),
                       ("untied (tied else)", marker(False, True, 16, "exactly")),
                       ("ten seeds (16 to 24 else)", marker(False, False, 10, "exactly")),
                       ("at least", marker(False, False, 10, "at_least"))):
        figure.add_trace(go.Scatter(x=[None], y=[None], mode="markers", name=name, marker=look), row=1, col=1)


def draw(results, browser, file):
    figure = make_subplots(rows=1, cols=3, subplot_titles=list(TASKS.values()), horizontal_spacing=0.12)
    found = sorted(prices(results), key=lambda price: (price[3], price[1], *price[2:6]))
    for column, task in enumerate(TASKS, 1):
        for _, width, schedule, post, untied, study, seeds, effect in (price for price in found if price[0] == task):
            low, high = effect["interval"]
            value = effect["value"]
            label = ", ".join([f"d = {width}", *filter(None, [post * "post-LN", untied * "untied", schedule])])
            figure.add_trace(go.Scatter(
                x=[value], y=[f"{label} ({study})"],
                mode="markers", showlegend=False, marker=marker(post, untied, seeds, effect["bound"]),
                error_x={"array": [(high or 9) - value], "arrayminus": [value - low], "thickness": 1.5,
                         "color": COLOURS[post]}), row=1, col=column)
        figure.add_vline(x=1, line={"color": "#555", "width": 1}, row=1, col=column)
        figure.update_xaxes(title="times the updates of sqrt(d)", type="log", tickvals=[0.5, 0.7, 1, 1.4, 2, 2.8],
                            range=[math.log10(0.5), math.log10(3.4)], row=1, col=column)
        figure.update_yaxes(autorange="reversed", tickfont={"size": 11}, row=1, col=column)
    legend(figure)
    write(figure, browser, file, height=620, margin={"l": 20, "r": 20, "t": 40, "b": 90},
          legend={"orientation": "h", "y": -0.13, "x": -0.1})
