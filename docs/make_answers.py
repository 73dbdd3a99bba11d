#!/usr/bin/env python3
"""Renders docs/answers.md from its template and the studies' own files, so that no number in it is typed by hand.

    make_answers.py RUNS [--template FILE] [--out FILE]

RUNS holds a folder a study, as `surd study run ... --out RUNS/NAME` makes it. In the template stand

    {{NAME: HYPOTHESIS}}               verdict, effect with its interval, p after Holm, seeds
    {{NAME: arm METRIC, AXIS=LEVEL, ... [, tuned]}}   pseudo-median of one arm with its interval
    {{figure NAME CHART}}              a picture of a chart of NAME's report, into figures/ beside the page
"""
import argparse
import difflib
import json
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent


class Studies:
    """What RUNS holds, read when it is asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.verdicts = {}

    def study(self, name):
        if name not in self.verdicts:
            path = self.folder / name / "verdicts.json"
            if not path.exists():
                known = sorted(p.parent.name for p in self.folder.glob("*/verdicts.json"))
                raise KeyError(f"there is no study '{name}' in {self.folder}{nearest(name, known)}")
            self.verdicts[name] = json.loads(path.read_text())
            if self.verdicts[name]["quick"]:
                raise KeyError(f"{name} was made with --quick")
        return self.verdicts[name]

    def hypothesis(self, study, name):
        hypotheses = {h["name"]: h for h in self.study(study)["hypotheses"]}
        if name not in hypotheses:
            raise KeyError(f"{study} has no hypothesis '{name}'{nearest(name, list(hypotheses))}")
        return hypotheses[name]

    def summary(self, study, words):
        metric, *levels = [word.strip() for word in words.split(",")]
        regime = "tuned" if "tuned" in levels else "shared"
        wanted = dict(level.split("=", 1) for level in levels if level != "tuned")
        arms = {a["name"]: a["levels"] for a in self.study(study)["arms"]}
        found = [s for s in self.study(study)["summaries"] if s["metric"] == metric and s["regime"] == regime
                 and all(arms[s["arm"]].get(axis) == level for axis, level in wanted.items())]
        if len(found) != 1:
            raise KeyError(f"{study}: '{words}' ({regime}) is {len(found)} arms, not one")
        return found[0]


def nearest(word, known):
    close = difflib.get_close_matches(word, known, 1, 0.4)
    return f"; did you mean '{close[0]}'?" if close else ""


def number(value):
    if value is None:
        return "not finite"
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.2g}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def estimate(found, unit):
    """A pseudo-median with its interval; of one that is only a bound, "≥ 600 updates [600, ∞]"."""
    sign = {"exactly": "", "at_least": "≥ ", "at_most": "≤ ", "unknown": "about "}[found["bound"]]
    low, high = found["interval"]
    text = f"{sign}{number(found['value'])}{unit}"
    if low is None and high is None or low == high:
        return text
    return f"{text} [{'-∞' if low is None else number(low)}, {'∞' if high is None else number(high)}]"


def phrase(hypothesis):
    checks = [c for c in hypothesis["checks"] if c["values"]]
    parts = []
    if len(checks) == 1:
        times = " times" if checks[0]["compared_by"] == "ratio" and checks[0]["expected"] is None else ""
        parts.append(estimate(checks[0]["effect"], times))
    elif checks:
        effects = [c["effect"]["value"] for c in checks]
        parts.append(f"{number(min(effects))} to {number(max(effects))} over {len(checks)} arms")
    if hypothesis["p_holm"] is not None:
        parts.append(f"p = {number(hypothesis['p_holm'])}")
    if checks:
        parts.append(f"{len(checks[0]['seeds'])} seeds")
    return f"**{hypothesis['verdict']}** ({', '.join(parts)})"


def of_arm(summary):
    return estimate(summary["estimate"], f" {summary['unit']}".rstrip())


class Pictures:
    """Charts of reports, drawn by a browser without network."""

    def __init__(self, studies, folder):
        self.studies, self.folder, self.browser = studies, folder, None

    def take(self, study, chart):
        from selenium import webdriver
        if self.browser is None:
            options = webdriver.ChromeOptions()
            for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                             "--force-device-scale-factor=1.5", "--window-size=1000,1400",
                             "--host-resolver-rules=MAP * ~NOTFOUND"):
                options.add_argument(argument)
            self.browser = webdriver.Chrome(options=options)
            self.folder.mkdir(parents=True, exist_ok=True)
        page = (self.studies.folder / study / "report.html").resolve().as_uri()
        if self.browser.current_url != page:
            self.browser.get(page)
        figures = {f.get_attribute("id"): f for f in self.browser.find_elements("css selector", "figure")}
        if chart not in figures:
            raise KeyError(f"the report of {study} has no chart '{chart}'; there are {', '.join(figures)}")
        figure = figures[chart]
        self.browser.execute_script("""
            for (const hidden of arguments[0].querySelectorAll('details, figcaption')) hidden.style.display = 'none';
            arguments[0].scrollIntoView();""", figure)
        import time
        time.sleep(1.5)  # charts are drawn as they come into view
        name = f"{study}-{chart}.png"
        figure.screenshot(str(self.folder / name))
        alt = self.browser.execute_script("return document.getElementById(arguments[0]).textContent", f"{chart}-alt")
        return f"![{' '.join(alt.split())}](figures/{name})"

    def close(self):
        if self.browser is not None:
            self.browser.quit()


def render(template, studies, pictures):
    def replace(words):
        if words.startswith("figure "):
            return pictures.take(*words.split()[1:3])
        study, _, what = words.partition(": ")
        if what.startswith("arm "):
            return of_arm(studies.summary(study, what[len("arm "):]))
        return phrase(studies.hypothesis(study, what))

    def rendered(found):
        try:
            return replace(" ".join(found.group(1).split()))
        except KeyError as error:
            line = template.count("\n", 0, found.start()) + 1
            sys.exit(f"answers.template.md:{line}: {error.args[0]}")

    return re.sub(r"\{\{(.+?)\}\}", rendered, template, flags=re.S)


def provenance(studies):
    seen = set()
    for name in studies.verdicts:
        summary = next((studies.folder / name / "runs").rglob("summary.json"))
        facts = json.loads(summary.read_text())
        seen.add(f"surd {facts['surd']} ({facts['git_commit'][:7]}), {facts['blas']}, {facts['cpu']}")
    return "\n\nMeasured by " + "; ".join(sorted(seen)) + ".\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=pathlib.Path)
    parser.add_argument("--template", type=pathlib.Path, default=DOCS / "answers.template.md")
    parser.add_argument("--out", type=pathlib.Path, default=DOCS / "answers.md")
    options = parser.parse_args()
    studies = Studies(options.runs)
    pictures = Pictures(studies, options.out.parent / "figures")
    try:
        text = render(options.template.read_text(), studies, pictures)
    finally:
        pictures.close()
    options.out.write_text(text.rstrip("\n") + provenance(studies))


if __name__ == "__main__":
    main()
