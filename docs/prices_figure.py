"""A figure of docs/answers.md: what leaving sqrt(d) out costs at each width, where a study of many seeds stated it."""
import collections

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from answers_figure import write
from prices import prices

PANELS = {"reverse": "Reversing", "lexical": "Word by word", "grammar": "In a grammar"}
COLOURS = {"pre": "#0072b2", "post": "#d55e00"}


def look(norm, centred, rates):
    """Colour for the norm, a square where positions are centred, open where the rate is constant."""
    shape, constant = "square" if centred else "circle", rates == "constant"
    return {"marker": {"size": 10, "symbol": f"{shape}-open" if constant else shape, "color": COLOURS[norm],
                       "line": {"width": 1.5, "color": COLOURS[norm]}},
            "line": {"color": COLOURS[norm], "dash": "dot" if constant else "solid"}}


def legend(figure):
    """Points and lines of no panel that tell what colours and shapes are."""
    grey = {"color": "#555"}
    shown = [(f"{norm}-LN", "lines", {"line": {"color": colour, "width": 4}}) for norm, colour in COLOURS.items()]
    shown += [("falling rate", "lines+markers", {"line": grey, "marker": {**grey, "size": 10}}),
              ("constant rate", "lines+markers", {"line": {**grey, "dash": "dot"},
                                                  "marker": {**grey, "size": 10, "symbol": "circle-open"}}),
              ("squares: centred positions", "markers", {"marker": {**grey, "size": 10, "symbol": "square"}})]
    for name, mode, traits in shown:
        figure.add_trace(go.Scatter(x=[None], y=[None], mode=mode, name=name, **traits), row=1, col=1)


def draw(results, browser, file):
    """Writes the picture `file`, with a browser that selenium drives."""
    figure = make_subplots(rows=1, cols=3, subplot_titles=list(PANELS.values()), horizontal_spacing=0.04, shared_yaxes=True)
    series = collections.defaultdict(list)
    for price in prices(results):
        series[price[:4]].append(price)
    for (task, norm, centred, rates), of_series in sorted(series.items()):
        found = sorted(of_series, key=lambda price: (price.width, price.seeds))
        surest = {price.width: price for price in found}  # of a width, the study with the most seeds, or the later one
        # Beside each other, where the width is the same.
        shift = (0.96 if norm == "pre" else 1.04) * (1.04 if rates == "constant" else 0.96)
        column = 1 + list(PANELS).index(task)
        figure.add_trace(go.Scatter(
            x=[shift * price.width for price in found], y=[price.effect["value"] for price in found], mode="markers",
            **look(norm, centred, rates), showlegend=False,
            error_y={"array": [p.effect["interval"][1] - p.effect["value"] for p in found],
                     "arrayminus": [p.effect["value"] - p.effect["interval"][0] for p in found],
                     "thickness": 1.2, "width": 3}), row=1, col=column)
        figure.add_trace(go.Scatter(
            x=[shift * width for width in surest], y=[price.effect["value"] for price in surest.values()], mode="lines",
            line=look(norm, centred, rates)["line"], showlegend=False), row=1, col=column)
    legend(figure)
    figure.add_hline(y=1, line={"color": "#555", "width": 1})
    figure.update_xaxes(title="d", type="log", tickvals=[32, 64, 128, 256])
    figure.update_yaxes(type="log", tickvals=[0.3, 0.4, 0.5, 0.7, 1, 1.4, 1.8])
    figure.update_yaxes(title="updates without sqrt(d) / with it", row=1, col=1)
    write(figure, browser, file, height=540, margin={"l": 60, "r": 20, "t": 40, "b": 100},
          legend={"orientation": "h", "y": -0.16, "x": 0.12})
