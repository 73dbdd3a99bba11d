#!/usr/bin/env python3
"""A study's report.html in a headless browser without network: drawn, quiet, narrow enough, and true.

report_browser.py [--write PROGRAM] [--surd PROGRAM --results DIR] [--chromium FILE --driver FILE] [--screenshots DIR] STUDY

STUDY is a study's folder (runs/, verdicts.json, report.html); PROGRAM STUDY makes it first. Ends with 1 and a line for
each thing that is wrong, and with 77, and says so, where no browser can be driven.
"""
import argparse
import json
import math
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

problems = []


def check(holds, message):
    if not holds:
        problems.append(message)


def expect_localhost():
    """The browser and its driver talk to each other there."""
    try:
        socket.getaddrinfo("localhost", None)
    except socket.gaierror:
        print("SKIPPED: nobody knows localhost; write '127.0.0.1 localhost' to /etc/hosts, which a bare chroot lacks")
        sys.exit(77)


def open_browser(chromium, driver):
    options = Options()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     # every name resolves to nothing: what leaves anyway is seen in the log
                     "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(service=Service(driver), options=options)


def load(browser, page, width, height, scheme="light"):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                            {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.get(page.resolve().as_uri())
    browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 500));")


def check_quiet(browser, page, what):
    for entry in browser.get_log("browser"):
        check(entry["level"] not in ("SEVERE", "WARNING"), f"{what}: console: {entry['message']}")
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] != "Network.requestWillBeSent":
            continue
        url = message["params"]["request"]["url"]
        if not url.startswith(("data:", "blob:")):
            check(url.split("#")[0] == page.resolve().as_uri(), f"{what}: asked for {url}")


def check_drawn(browser, what):
    """Each chart has an svg of some size, with marks in it."""
    sizes = browser.execute_script("""
        return [...document.querySelectorAll("[data-chart]")].map((chart) => ({
          id: chart.dataset.chart,
          plots: [...chart.querySelectorAll(".drawing")].map((plot) => {
            const svg = plot.querySelector("svg.main-svg");
            const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
            return {width: box.width, height: box.height,
                    marks: plot.querySelectorAll(".scatterlayer .trace, .heatmaplayer image").length};
          })}));""")
    check(sizes, f"{what}: no chart on the page")
    for chart in sizes:
        check(chart["plots"], f"{what}: chart {chart['id']} is not drawn")
        for plot in chart["plots"]:
            check(plot["width"] > 100 and plot["height"] > 100 and plot["marks"] > 0,
                  f"{what}: chart {chart['id']} is drawn as {plot}")


def check_width(browser, width, what):
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    check(wide <= width, f"{what}: the page is {wide} px wide")


def check_first_screen(browser, height, what):
    """Question, answer and every row of a study of six hypotheses or fewer, readable without scrolling."""
    found = browser.execute_script("""
        const bottom = (node) => node.getBoundingClientRect().bottom;
        const rows = [...document.querySelectorAll(".forest li")];
        return {question: bottom(document.querySelector("h1")), answer: bottom(document.querySelector(".answer")),
          rows: rows.map((row) => ({
            bottom: bottom(row), marks: row.querySelectorAll(".point").length, alt: row.querySelector(".plot").ariaLabel,
            plot: row.querySelector("svg.row").getBoundingClientRect().width,
            // nothing of a row may stand over another part of it
            crossed: [...row.children].some((a, i) => [...row.children].slice(i + 1).some((b) => {
              const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
              return p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1;
            })),
            cut: [...row.children].some((part) => part.scrollWidth > part.clientWidth + 1),
            over: [...row.querySelectorAll("svg text")].some((a, i, all) => all.slice(i + 1).some((b) => {
              const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
              return p.left < q.right && q.left < p.right;
            })),
            small: Math.min(...[...row.querySelectorAll("svg text, small")].filter((t) => t.getClientRects().length > 0)
              .map((t) => parseFloat(getComputedStyle(t).fontSize)))}))};""")
    check(found["question"] < found["answer"] < height, f"{what}: question and answer end at {found}")
    check(found["rows"], f"{what}: no row of a hypothesis")
    for row in found["rows"]:
        check(len(found["rows"]) > 6 or row["bottom"] <= height, f"{what}: a row ends at {row['bottom']:.0f} of {height}")
        check(row["marks"] > 0 and row["plot"] > 120, f"{what}: a row has {row}")
        check("Found" in row["alt"] and re.search(NUMBER, row["alt"]), f"{what}: a row's text says '{row['alt']}'")
        check(not row["crossed"] and not row["cut"], f"{what}: parts of a row do not fit: {row}")
        check(not row["over"], f"{what}: numbers along a row stand over each other: {row['alt']}")
        check(row["small"] >= 10, f"{what}: text of {row['small']} px")


def check_values_whole(browser, what):
    """Nothing of the tables of hypotheses is cut off, not even the values of every seed."""
    cut = browser.execute_script("""return [...document.querySelectorAll(".hypothesis .scroll")]
        .filter((box) => box.scrollWidth > box.clientWidth).length""")
    check(cut == 0, f"{what}: {cut} tables of hypotheses are cut")


def check_keyboard(browser):
    """Tab reaches the skip link first; what scrolls can be focused; nothing to press is without a name."""
    from selenium.webdriver.common.keys import Keys
    browser.find_element("tag name", "body").send_keys(Keys.TAB)
    first = browser.switch_to.active_element
    check("skip" in (first.get_attribute("class") or ""), "the first Tab does not reach the skip link")
    check(first.rect["x"] >= 0, "the skip link stays invisible when it has the focus")
    unreachable = browser.execute_script("""return [...document.querySelectorAll(".scroll")]
        .filter((box) => box.tabIndex < 0).length""")
    check(unreachable == 0, f"{unreachable} boxes scroll and cannot be focused")
    button = browser.find_elements("css selector", ".legend button")
    if button:
        button[0].send_keys(Keys.ENTER)
        check(button[0].get_attribute("aria-pressed") == "false", "Enter on a legend's button hides nothing")
        button[0].send_keys(Keys.ENTER)


def save_pictures(browser, folder, what, width, height=1600):
    """The page in pieces, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    pieces = math.ceil(browser.execute_script("return document.documentElement.scrollHeight") / height)
    for i in range(pieces):
        browser.execute_script(f"scrollTo({{top: {i * height}, behavior: 'instant'}})")
        browser.save_screenshot(str(folder / f"{what}-{i}.png"))


# --- what the tables say ---------------------------------------------------------------------------------------------

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


def matches(text, value):
    """Whether a cell's first number is the value, as exactly as it is written."""
    found = re.match(NUMBER, text)
    if value is None or not math.isfinite(value):
        return found is None
    if found is None:
        return False
    if value == 0:
        return float(found.group()) == 0
    # Four digits are written, from a thousand to ten million all before the point.
    unit = 1 if 1e3 <= abs(value) < 1e7 else 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return abs(float(found.group()) - value) <= 0.5001 * unit


def table_rows(browser, selector):
    """[heads, row, row, ...] of a table's texts."""
    return browser.execute_script("""
        return [...document.querySelector(arguments[0]).rows].map((row) => [...row.cells].map((c) => c.textContent));""",
                                  selector)


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def pseudo_median(values):
    """The median of the means of all pairs, each with itself too."""
    values = [v for v in values if v is not None and math.isfinite(v)]
    return statistics.median((a + b) / 2 for i, a in enumerate(values) for b in values[:i + 1]) if values else None


def finite(curves):
    """The curves of runs, a value an update, that have any number."""
    numbers = [{x: y for x, y in curve.items() if y is not None and math.isfinite(y)} for curve in curves]
    return [curve for curve in numbers if curve]


def point_of(curves, update):
    """Of a line over runs: there is none where a run has none (any more)."""
    values = [curve.get(update) for curve in curves]
    return None if None in values else pseudo_median(values)


def cells_of(rows, panels):
    """(panel, x, column name, text) of a chart's table."""
    heads = rows[0]
    for row in rows[1:]:
        panel, x, rest = (row[0], row[1], 2) if panels else ("", row[0], 1)
        for name, text in zip(heads[rest:], row[rest:]):
            yield panel, float(x), name, text


def learning_curve(run, key, updates):
    """A diverged run counts as its first value where it has no number."""
    curve = {update: evaluation.get(key) for update, evaluation in run["evaluations"].items()}
    if run["status"] == "diverged" and curve:
        first = curve[min(curve)]
        curve.update({update: first for update in updates
                      if curve.get(update) is None or not math.isfinite(curve[update])})
    return curve


def check_curves(browser, study, data):
    """Learning curves and diagnostics against the runs' own files; the number of cells that were compared."""
    runs = [dict(run, evaluations={e["update"]: e for e in read_lines(study / "runs" / run["id"] / "metrics.jsonl")
                                   if e["event"] == "evaluation"},
                 updates={e["update"]: e["gradient_norm"]
                          for e in read_lines(study / "runs" / run["id"] / "metrics.jsonl") if e["event"] == "update"},
                 probe=read_lines(study / "runs" / run["id"] / "probe.jsonl")) for run in data["runs"]]
    quantities = {"scores-std": ("scores", "std"), "weights-entropy": ("weights", "entropy"),
                  "logits-std": ("logits", "std"), "logits-max": ("logits", "max"), "embedding-rho": ("embedding", "rho")}
    compared = 0
    for chart in data["charts"]:
        name, _, regime = chart["id"].rpartition("-")
        panels = len(chart["panels"]) > 1
        of_regime = [run for run in runs if run["regime"] == regime]
        if name not in {"gradient-norm", "loss", "accuracy", *quantities}:
            continue
        cells = list(cells_of(table_rows(browser, f"#{chart['id']} table"), panels))
        if name == "gradient-norm":
            def curves(panel, series):
                return [run["updates"] for run in of_regime
                        if run["series"] == series and (not panels or run["panel"] == panel)]
        elif name in ("loss", "accuracy"):
            key = "loss" if name == "loss" else "token_accuracy"
            updates = {int(x) for _, x, _, _ in cells}

            def curves(panel, series):
                return [learning_curve(run, key, updates) for run in of_regime
                        if run["series"] == series and (not panels or run["panel"] == panel)]
        else:
            what, statistic = quantities[name]

            def curves(panel, series):
                place = panel if panels else chart["panels"][0]["title"]
                return [{p["update"]: p["value"] for p in run["probe"]
                         if (p["path"], p["what"], p["statistic"]) == (place, what, statistic)}
                        for run in of_regime if run["arm"] == series]
        lines = {place: finite(curves(*place)) for place in {(panel, series) for panel, _, series, _ in cells}}
        for panel, x, series, text in cells:
            expected = point_of(lines[panel, series], int(x))
            check(matches(text, expected), f"{chart['id']}: {panel} {series} at {x}: '{text}', the runs say {expected}")
            compared += 1
    return compared


def check_arms(browser, study):
    """The table of all arms against verdicts.json, and the pseudo-medians there against their own values."""
    summaries = json.loads((study / "verdicts.json").read_text())["summaries"]
    rows = table_rows(browser, "#arms table")
    found = {(row[0], row[1], re.sub(r" \(.*\)$", "", head)): text
             for row in rows[1:] for head, text in zip(rows[0][2:], row[2:])}
    for summary in summaries:
        place = (summary["arm"], summary["regime"], summary["metric"])
        check(place in found, f"the table of arms has no {place}")
        text = found.get(place, "")
        expected = pseudo_median(summary["values"])
        check(matches(text, expected), f"{place}: '{text}', its values have the pseudo-median {expected}")
        interval = re.search(rf"\[({NUMBER}), ({NUMBER})\]", text)
        ends = summary["estimate"]["interval"]
        if interval and None not in ends:
            check(all(matches(t, v) for t, v in zip(interval.groups(), ends)),
                  f"{place}: '{text}', verdicts.json says {ends}")
    return len(summaries)


def check_endings(browser, study, data):
    """Every run that the folder has as diverged or failed is listed; every ended run that is shown exists."""
    listed = {row[0]: row[1] for row in (table_rows(browser, "#unfinished table") or [[]])[1:]} if \
        browser.find_elements("css selector", "#unfinished table") else {}
    outcomes = {str(path.parent.relative_to(study / "runs")): json.loads(path.read_text())["status"]
                for path in (study / "runs").rglob("outcome.json")}
    for run, status in outcomes.items():
        check(listed.get(run, "finished") == status, f"{run} is {status}; the page says {listed.get(run, 'finished')}")
    for run in data["runs"]:
        check(outcomes.get(run["id"]) == run["status"], f"{run['id']}: {run['status']} on the page, {outcomes.get(run['id'])}")
    return len(outcomes)


def check_numbers(browser, study):
    """All numbers of the page that follow from the study's folder."""
    data = json.loads(browser.execute_script("return document.getElementById('study-data').textContent"))
    return (check_curves(browser, study, data), check_arms(browser, study), check_endings(browser, study, data))


def alignment_page(surd, folder):
    """Of a run that is made here."""
    config, run, page = folder / "tiny.yaml", folder / "run", folder / "alignment.html"
    config.write_text("task: {name: copy, train_size: 60, valid_size: 8, test_size: 8, vocabulary: 9, max_length: 3}\n"
                      "model: {d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 2, feed_forward: {width: 8}}\n"
                      "train: {updates: 4, batch_size: 16, evaluate_every: 2, checkpoint_every: 2}\n")
    subprocess.run([surd, "train", config, "--out", run], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([surd, "translate", run, "--alignment", page], input="a b a\nc\n", check=True, text=True,
                   stdout=subprocess.DEVNULL)
    return page


def published_page(surd, results, folder):
    """The report that the program makes of what another version of it may have published."""
    copy = folder / results.name
    shutil.copytree(results, copy)
    subprocess.run([surd, "study", "report", copy], check=True, stdout=subprocess.DEVNULL)
    return copy / "report.html"


def check_other_pages(browser, surd, results):
    """Pages whose numbers are not looked at here: that everything on them is drawn."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pages = {f"published {study.name}": published_page(surd, study, folder)
                 for study in sorted(results.iterdir()) if (study / "report.json.gz").exists()}
        check(pages, f"{results}: nothing is published there")
        pages["alignment"] = alignment_page(surd, folder)
        for what, page in pages.items():
            for width, height in ((1200, 800), (390, 844)) if what == "alignment" else ((1200, 800),):
                load(browser, page, width, height, "light")
                check_drawn(browser, what)
                check_width(browser, width, what)
                check_quiet(browser, page, what)
        return len(pages)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=pathlib.Path)
    parser.add_argument("--write")
    parser.add_argument("--surd", help="with it, pages of other studies and of an alignment are drawn too")
    parser.add_argument("--results", type=pathlib.Path, help="published studies")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--driver", default="/usr/bin/chromedriver")
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    expect_localhost()
    if arguments.write:
        subprocess.run([arguments.write, str(arguments.study)], check=True)
    page = arguments.study / "report.html"
    browser = open_browser(arguments.chromium, arguments.driver)
    try:
        compared = None
        for what, width, height, scheme in (("desktop", 1200, 800, "light"), ("phone", 390, 844, "light"),
                                            ("narrow", 360, 740, "light"), ("dark", 1280, 900, "dark")):
            load(browser, page, width, height, scheme)
            if what != "narrow":
                check_first_screen(browser, height, what)
            check_drawn(browser, what)
            check_width(browser, width, what)
            if what == "desktop":
                compared = check_numbers(browser, arguments.study)
                check_values_whole(browser, what)
            check_quiet(browser, page, what)
            if arguments.screenshots:
                save_pictures(browser, arguments.screenshots, what, width)
        check_keyboard(browser)
        others = check_other_pages(browser, arguments.surd, arguments.results) if arguments.surd else 0
    finally:
        browser.quit()
    for problem in problems[:50]:
        print(problem)
    print(f"{compared[0]} cells of curves, {compared[1]} of arms and {compared[2]} runs compared; "
          f"{others} other pages drawn; {len(problems)} problems")
    sys.exit(1 if problems or not all(compared) else 0)


if __name__ == "__main__":
    main()
