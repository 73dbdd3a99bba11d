"""A figure of docs/answers.md: which factor learns fastest at each width (R18, R12), and which balance (R38)."""
import math
import pathlib
import tempfile
import time

import plotly.graph_objects as go
from plotly.subplots import make_subplots

WIDTHS = {"32": "#0072b2", "64": "#009e73", "128": "#d55e00", "256": "#000000"}
OUTSIDE = 9000  # updates that no axis shows: where an interval has no upper end
RING = {"symbol": "circle-open", "size": 17, "color": "#555", "line": {"width": 2}}
SQUARE = {**RING, "symbol": "square-open"}
TITLES = ["Reversing: which factor learns fastest?", "And in a grammar?", "At d = 64: which balance?"]
TASKS = {"reverse": ("reversing", "#8c3fa8"), "lexical": ("word by word", "#7f7f7f"), "grammar": ("grammar", "#56b4e9")}


def number_of(level):
    """1/sqrt(32) -> 0.177"""
    return eval(level, {"__builtins__": {}, "sqrt": math.sqrt})  # pylint: disable=eval-used; our own studies' levels


def curves(figure, study, column):
    """Updates over a token's rms, one line a width; the factor 1 is a ring, sqrt(d) is at an rms of 1."""
    levels = {arm["name"]: arm["levels"] for arm in study["arms"]}
    points, rings = {}, []
    for summary in study["summaries"]:
        if summary["metric"] == "updates_to_97" and summary["regime"] == "tuned":
            arm = levels[summary["arm"]]
            points.setdefault(arm["d"], []).append((number_of(arm["rms"]), summary["estimate"]))
    for width, colour in ((width, WIDTHS[width]) for width in WIDTHS if width in points):
        found = sorted(points[width], key=lambda point: point[0])
        sizes, estimates = [size for size, _ in found], [estimate for _, estimate in found]
        middle = [estimate["value"] for estimate in estimates]
        above = [(estimate["interval"][1] or OUTSIDE) - estimate["value"] for estimate in estimates]
        below = [estimate["value"] - estimate["interval"][0] for estimate in estimates]
        figure.add_trace(go.Scatter(
            x=sizes, y=middle, showlegend=False, mode="lines+markers", line={"color": colour},
            error_y={"array": above, "arrayminus": below, "thickness": 1, "width": 3},
            marker={"symbol": ["circle" if e["bound"] == "exactly" else "triangle-up" for e in estimates], "size": 7}),
            row=1, col=column)
        if column == 2:  # has all widths; a line of no panel, because the legend would take the symbol of its first point
            figure.add_trace(go.Scatter(x=[None], y=[None], name=f"d = {width}", mode="lines+markers",
                                        line={"color": colour}, marker={"size": 7}), row=1, col=1)
        without = min(range(len(sizes)), key=lambda i: abs(math.log(sizes[i] * math.sqrt(int(width)))))
        rings.append((sizes[without], middle[without]))
    figure.add_trace(go.Scatter(
        x=[x for x, _ in rings], y=[y for _, y in rings], mode="markers", name="the factor 1", showlegend=column == 1,
        marker=RING), row=1, col=column)
    figure.add_trace(go.Scatter(x=[1, 1], y=[400, 2600], mode="lines", line={"dash": "dot", "color": "#555", "width": 1},
                                showlegend=False), row=1, col=column)
    figure.add_annotation(x=0, y=1, yref="y domain", text="the factor sqrt(d)", showarrow=False, xanchor="right",
                          xshift=-4, row=1, col=column)
    figure.update_xaxes(title="rms of a token: factor / sqrt(d)", type="log",
                        tickvals=[1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2], ticktext=["1/16", "1/8", "1/4", "1/2", "1", "2"],
                        row=1, col=column)
    figure.update_yaxes(title="updates to 97 % of the tokens, each rate tuned" if column == 1 else "", type="log",
                        tickvals=[500, 1000, 2000], range=[math.log10(380), math.log10(3000)], row=1, col=column)


def of_what_varies(study):
    """How many times larger a token is beside the part of a sinusoid that varies over ten positions than beside it all."""
    arm = next(arm["name"] for arm in study["arms"] if arm["levels"]["positions"] == "10")
    ratio = {summary["metric"]: summary["estimate"]["value"] for summary in study["summaries"] if summary["arm"] == arm}
    return ratio["rho_centred"] / ratio["rho"]


def balances(figure, study, times):
    """Updates over the size of a token beside the part of its position that varies, pre-LN: a line a task, dashed where
    nothing else is in the position."""
    levels = {arm["name"]: arm["levels"] for arm in study["arms"]}
    points = {}
    for summary in study["summaries"]:
        arm = levels[summary["arm"]]
        if summary["metric"] == "updates_to_97" and summary["regime"] == "tuned" and arm["norm"] == "pre":
            whole = arm["positions"] == "as they are"
            points.setdefault((arm["task"], whole), []).append(
                (float(arm["rho"]) * (times if whole else 1), summary["estimate"]))
    for (task, whole), found in points.items():
        name, colour = TASKS[task]
        estimates = [estimate for _, estimate in sorted(found, key=lambda point: point[0])]
        middle = [estimate["value"] for estimate in estimates]
        figure.add_trace(go.Scatter(
            x=sorted(ratio for ratio, _ in found), y=middle, mode="lines+markers", name=name, showlegend=whole,
            line={"color": colour, "dash": "solid" if whole else "dash"}, marker={"size": 7},
            error_y={"array": [e["interval"][1] - y for e, y in zip(estimates, middle)],
                     "arrayminus": [y - e["interval"][0] for e, y in zip(estimates, middle)],
                     "thickness": 1, "width": 3}), row=1, col=3)
        for rho, marker in (("0.18", RING), ("1.41", SQUARE)):  # the balances without the factor and with it, at d = 64
            ratio = float(rho) * (times if whole else 1)
            figure.add_trace(go.Scatter(x=[ratio], y=[estimate["value"] for at, estimate in found if at == ratio],
                                        mode="markers", name="sqrt(d)", marker=marker,
                                        showlegend=whole and task == "reverse" and marker == SQUARE), row=1, col=3)
    figure.add_trace(go.Scatter(x=[None], y=[None], name="nothing in common", mode="lines",
                                line={"color": "#555", "dash": "dash"}), row=1, col=3)
    figure.update_xaxes(title="token / the part of its position that varies", type="log",
                        tickvals=[0.25, 0.5, 1, 2, 4], ticktext=["1/4", "1/2", "1", "2", "4"], row=1, col=3)
    figure.update_yaxes(type="log", tickvals=[125, 250, 500, 1000, 2000], row=1, col=3)


def write(figure, browser, file, **layout):
    """Writes the picture `file`, with a browser that selenium drives."""
    figure.update_layout(template="simple_white", width=1180, font={"size": 12}, **layout)
    figure.update_annotations(font={"size": 13})
    figure.update_xaxes(title_font={"size": 12})
    figure.update_yaxes(title_font={"size": 12})
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "figure.html"
        figure.write_html(page, include_plotlyjs=True, config={"staticPlot": True})
        browser.set_window_size(1300, layout["height"] + 300)  # what is outside would be cut off
        browser.get(page.as_uri())
        time.sleep(1.5)
        browser.find_element("class name", "svg-container").screenshot(str(file))


def draw(results, browser, file):
    """Writes the picture `file`, with a browser that selenium drives."""
    figure = make_subplots(rows=1, cols=3, subplot_titles=TITLES, horizontal_spacing=0.08, column_widths=[0.35, 0.35, 0.3])
    curves(figure, results.study("r18-one-rate"), 1)
    curves(figure, results.study("r12-factor-and-width-grammar"), 2)
    balances(figure, results.study("r38-constant-part"), of_what_varies(results.study("short-positions")))
    write(figure, browser, file, height=460, margin={"l": 60, "r": 20, "t": 40, "b": 110},
          legend={"orientation": "h", "y": -0.2, "x": -0.05, "font": {"size": 11}})
