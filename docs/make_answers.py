#!/usr/bin/env python3
"""Renders README.md and docs/answers.md, claims.md and evidence.md from their templates and the published results of studies,
so that no verdict in them is typed by hand, and next to no number, and no sentence says other than its study.

    make_answers.py [RESULTS] [--docs FOLDER] [--check] [--figures]

RESULTS (experiments/results) holds a folder a study, as `surd study publish` makes it. Each NAME.template.md in FOLDER
(docs) becomes NAME.md, in the order of their names, and README.template.md the README.md beside FOLDER. In a template stand

    {{NAME: VERDICT HYPOTHESIS}}            verdict, effect with its interval
    {{NAME: effect VERDICT HYPOTHESIS}}     the effect with its interval alone
    {{NAME: value VERDICT HYPOTHESIS}}      the effect without its interval, to two digits
    {{least NAME, ...: VERDICT HYPOTHESIS | ...}}  a bound, to two digits, below the effects of all hypotheses of such names,
                                            in which * stands for anything
    {{most NAME, ...: VERDICT HYPOTHESIS | ...}}  one above them
    {{prices TASK, NORM, d}}                from the least to the most of what prices.py finds, at rates that fall
    {{NAME: arm METRIC, AXIS=LEVEL, ... [, tuned]}}   pseudo-median of one arm with its interval
    {{NAME: number METRIC, AXIS=LEVEL, ... [, tuned]}}  the same without its interval; of one axis there may be several
                                            levels, A|B for a cell of a table each and A&B for one cell
    {{drawing NAME: ALT}}                   the picture that NAME_figure.py draws, figures/NAME.png
    {{study NAME}}                          a link to its report
    {{least certain P}}                     the decided statements of all studies named so far whose p after Holm is P or more
    {{false discoveries RATE}}              how many decided statements of all of RESULTS stay so at RATE if p is
                                            corrected over more than one study
    {{studies}}                             a table of all studies named so far: what made them, in how many core-hours

where VERDICT is the one that the sentence rests on (supported, refuted or undecided): where the study says another,
nothing is written. --check writes nothing and tells whether the pages are what they would be. --figures draws the
pictures, with a browser.
"""
import argparse
import difflib
import importlib
import json
import math
import pathlib
import re
import sys

from prices import prices

DOCS = pathlib.Path(__file__).resolve().parent
VERDICTS = ("supported", "refuted", "undecided")
DRAWINGS = ("answers", "prices")


class Wrong(Exception):
    """What is wrong with a place in the template."""


class Results:
    """What RESULTS holds, read when it is asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.verdicts = {}

    def study(self, name):
        if name not in self.verdicts:
            path = self.folder / name / "verdicts.json"
            if not path.exists():
                known = sorted(p.parent.name for p in self.folder.glob("*/verdicts.json"))
                raise Wrong(f"there is no study '{name}' in {self.folder}{nearest(name, known)}")
            self.verdicts[name] = json.loads(path.read_text(encoding="utf-8"))
        return self.verdicts[name]

    def hypothesis(self, study, words):
        verdict, _, name = words.partition(" ")
        if verdict not in VERDICTS:
            raise Wrong(f"'{words}' names no verdict; begin it with the one that the sentence rests on: "
                        f"{', '.join(VERDICTS)}")
        hypotheses = {h["name"]: h for h in self.study(study)["hypotheses"]}
        if name not in hypotheses:
            raise Wrong(f"{study} has no hypothesis '{name}'{nearest(name, list(hypotheses))}")
        found = hypotheses[name]
        if found["verdict"] != verdict:
            raise Wrong(f"the sentence rests on '{name}' being {verdict}, and {study} says {found['verdict']}; "
                        "write the sentence anew")
        return found

    def summary(self, study, words):
        metric, *levels = parts(words)
        if "," in metric:
            raise Wrong(f"'{metric.split(',')[1].strip()}' is no AXIS=LEVEL")
        regime = "tuned" if "tuned" in levels else "shared"
        wanted = dict(level.split("=", 1) for level in levels if level != "tuned")
        arms = {a["name"]: a["levels"] for a in self.study(study)["arms"]}
        found = [s for s in self.study(study)["summaries"] if s["metric"] == metric and s["regime"] == regime
                 and all(arms[s["arm"]].get(axis) == level for axis, level in wanted.items())]
        if len(found) != 1:
            raise Wrong(f"{study}: '{words}' ({regime}) is {len(found)} arms, not one")
        return found[0]


def parts(words):
    """METRIC, AXIS=LEVEL, ... [, tuned]. A level may have a comma: one divides only where AXIS=LEVEL or the regime follows."""
    return re.split(r",\s*(?=tuned$|[^,]+=)", words.strip())


def nearest(word, known):
    close = difflib.get_close_matches(word, known, 1, 0.4)
    return f"; did you mean '{close[0]}'?" if close else ""


def number(value):
    if value is None:
        return "not finite"
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.2g}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def bounded(found):
    """A number, or the bounds that are known of it."""
    if found["bound"] == "unknown":
        return "not known"
    if found["bound"] == "between":
        return " to ".join(dict.fromkeys([number(found["value"]), number(found["to"])]))
    return {"exactly": "", "at_least": "≥ ", "at_most": "≤ "}[found["bound"]] + number(found["value"])


def numbers(results, study, words):
    """The centres of the arms that `words` name, where an axis may have several levels: A|B, or A&B within a cell."""
    for divider, between in (("|", " | "), ("&", ", ")):
        for part in parts(words):
            axis, _, levels = part.partition("=")
            if divider in levels:
                return between.join(numbers(results, study, words.replace(part, f"{axis}={level}"))
                                    for level in levels.split(divider))
    return bounded(results.summary(study, words)["estimate"])


def estimate(found, unit):
    """A pseudo-median with its interval; of one that is only a bound, "≥ 600 updates [600, ∞]"."""
    low, high = found["interval"]
    text = f"{bounded(found)}{unit}"
    if low is None and high is None or low == high:
        return text
    return f"{text} [{'-∞' if low is None else number(low)}, {'∞' if high is None else number(high)}]"


def upper_end(found):
    return {"between": found.get("to"), "at_least": math.inf}.get(found["bound"], found["value"])


def effect(hypothesis):
    checks = [c for c in hypothesis["checks"] if c["values"]]
    if len(checks) == 1:
        times = " times" if checks[0]["compared_by"] == "ratio" and checks[0]["expected"] is None else ""
        return estimate(checks[0]["effect"], times)
    if not checks:
        return "no value"
    effects = sorted((c["effect"] for c in checks if c["effect"]["value"] is not None), key=lambda e: e["value"])
    if not effects:
        return f"not known in {len(checks)} cases"
    least, most = effects[0], max(effects, key=upper_end)
    ends = dict.fromkeys((number(least["value"]) if least["bound"] == "between" else bounded(least),
                          number(most["to"]) if most["bound"] == "between" else bounded(most)))
    text = f"{' to '.join(ends)} in {len(effects)} cases"
    unknown = len(checks) - len(effects)
    return text + (f", not known in {unknown}" if unknown else "")


def two_digits(value, towards=round):
    """Rounded up or down where `towards` is math.ceil or math.floor."""
    if value == 0 or not math.isfinite(value):
        raise Wrong(f"{value} has no two digits")
    decimals = 1 - math.floor(math.log10(abs(value)))
    return f"{towards(value * 10**decimals) / 10**decimals:.{max(decimals, 0)}f}"


def known_check(study, hypothesis):
    """Its only one, whose effect is known, or known to lie between two numbers."""
    checks = [check for check in hypothesis["checks"] if check["values"]]
    if len(checks) != 1 or checks[0]["effect"]["bound"] not in ("exactly", "between"):
        raise Wrong(f"'{hypothesis['name']}' of {study} has not one effect that is known")
    return checks[0]


def end_of(results, words, which):
    """Of all hypotheses that `words`, NAME, ...: VERDICT HYPOTHESIS | ..., name."""
    names, colon, patterns = words.partition(": ")
    if not colon:
        raise Wrong(f"'{which} {words}' says of which hypotheses, {which} NAME, ...: VERDICT HYPOTHESIS | ...")
    found = []  # study, check
    for pattern in patterns.split(" | "):
        verdict, _, glob = pattern.partition(" ")
        fits = re.compile(re.escape(glob).replace(r"\*", ".*")).fullmatch
        named = [(study, hypothesis["name"]) for study in names.split(", ")
                 for hypothesis in results.study(study)["hypotheses"] if fits(hypothesis["name"])]
        if not named:
            raise Wrong(f"{names} has no hypothesis '{glob}'")
        found += [(study, known_check(study, results.hypothesis(study, f"{verdict} {name}"))) for study, name in named]
    for study in names.split(", "):
        if study not in (name for name, _ in found):
            raise Wrong(f"{study} has no hypothesis '{patterns}'")
    if len({check["compared_by"] for _, check in found}) > 1:
        raise Wrong(f"of '{patterns}' some are ratios, others differences")
    effects = [check["effect"] for _, check in found]
    if which == "least":
        return two_digits(min(effect["value"] for effect in effects), math.floor)
    return two_digits(max(map(upper_end, effects)), math.ceil)


def falling_prices(results, words):
    if words.count(", ") != 2:
        raise Wrong(f"'prices {words}' needs TASK, NORM, d")
    task, norm, width = words.split(", ")
    found = [price.effect for price in prices(results) if (price.task, price.norm, str(price.width)) ==
             (task, norm, width) and price.rates == "inverse root" and not price.centred]
    if not found or any(effect["bound"] not in ("exactly", "between") for effect in found):
        raise Wrong(f"no study has a price of {words}" if not found else f"a price of {words} is but a bound")
    ends = min(effect["value"] for effect in found), max(map(upper_end, found))
    return " to ".join(dict.fromkeys(f"{end:.2f}" for end in ends))


def phrase(study, hypothesis):
    """Of a statement that has no p because runs have no value, also of how many of the study's seeds it is."""
    seeds = len(study["seeds"])
    known = min((len(check["values"]) for check in hypothesis["checks"]), default=0)
    of = f", of {known} of {seeds} seeds" if hypothesis["p"] is None and 0 < known < seeds else ""
    return f"**{hypothesis['verdict']}** ({effect(hypothesis)}{of})"


def least_certain(results, least):
    """A line a statement, the least certain first."""
    found = [(hypothesis["p_holm"], name, hypothesis) for name in sorted(results.verdicts)
             for hypothesis in results.verdicts[name]["hypotheses"]
             if hypothesis["verdict"] != "undecided" and (hypothesis["p_holm"] or 0) >= least]
    lines = []
    for p_holm, name, hypothesis in sorted(found, key=lambda entry: -entry[0]):
        seeds = min(len(check["values"]) for check in hypothesis["checks"])
        # Where all seeds agree, a test of signed ranks gives 2 in 2^seeds, and never less.
        agree = f", where all {seeds} seeds agree" if hypothesis["p"] == 2 / 2**seeds else ""
        lines.append(f"- {study_link(name)}: \"{hypothesis['name']}\" is {phrase(results.verdicts[name], hypothesis)}, "
                     f"p = {number(p_holm)}, {number(hypothesis['p'])} before the correction{agree}")
    if not lines:
        raise Wrong(f"no statement has a p after Holm of {number(least)} or more")
    return "\n".join(lines)


def holm(p):
    """Adjusted so that the chance of a single error among those below a rate is no more than it."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, so_far = dict.fromkeys(order), 0.0
    for rank, i in enumerate(order):
        adjusted[i] = so_far = max(so_far, (len(p) - rank) * p[i])
    return [adjusted[i] for i in range(len(p))]


def benjamini_hochberg(p):
    """Adjusted so that the expected share of errors among those below a rate is no more than it."""
    order = sorted(range(len(p)), key=lambda i: -p[i])
    adjusted, so_far = dict.fromkeys(order), 1.0
    for rank, i in enumerate(order):
        adjusted[i] = so_far = min(so_far, len(p) / (len(p) - rank) * p[i])
    return [adjusted[i] for i in range(len(p))]


def false_discoveries(results, rate):
    """How many decided statements of all published studies are left if p is corrected over more than one study."""
    tested = []  # study, hypothesis, p
    for path in sorted(results.folder.glob("*/verdicts.json")):
        verdicts = json.loads(path.read_text(encoding="utf-8"))
        tested += [(path.parent.name, hypothesis, verdicts["looks"] * hypothesis["p"])
                   for hypothesis in verdicts["hypotheses"] if hypothesis["p"] is not None]
    decided = [hypothesis["verdict"] != "undecided" for _, hypothesis, _ in tested]

    def left(correct, among):
        adjusted = correct([tested[i][2] for i in among])
        return [i for i, p in zip(among, adjusted) if decided[i] and p <= rate]

    everything = range(len(tested))
    found = left(benjamini_hochberg, everything)
    lost = [f"{study_link(name)}, \"{hypothesis['name']}\", p = {number(hypothesis['p'])}"
            for i, (name, hypothesis, _) in enumerate(tested) if decided[i] and i not in found]
    about = {}  # a claim
    for i, (_, hypothesis, _) in enumerate(tested):
        about.setdefault(hypothesis["claim"] or None, []).append(i)
    about.pop(None, None)
    exception = f" (all but {'; '.join(lost)})" if lost else ""
    everywhere = len(left(holm, everything))
    of_claims = sum(len(left(holm, among)) for among in about.values())
    decided_of_claims = sum(decided[i] for among in about.values() for i in among)
    studies = len({name for name, _, _ in tested})
    return (f"{studies} studies have {len(tested)} statements with a p, and {sum(decided)} of them are decided. "
            f"Corrected over all of them at once, {len(found)} stay so{exception} by the method of Benjamini & "
            f"Hochberg (1995), which expects no more than {100 * rate:g} % of these to be wrong, and "
            f"{everywhere} by Holm's, where the chance that a single one is wrong is {100 * rate:g} % at most. "
            f"Corrected by Holm's over the statements about each claim, {of_claims} of {decided_of_claims} stay")


def study_link(name):
    return f"[{name}](../experiments/results/{name}/report.md)"


def studies_table(results):
    lines = ["| Study | Runs | Core-hours | Made by |", "|---|---|---|---|"]
    for name in sorted(results.verdicts):
        made_by = results.verdicts[name]["made_by"]
        makers = sorted({f"{maker['git_commit'][:7]}, {maker['cpu']}, {maker['blas_core']}" for maker in made_by})
        lines.append(f"| {name} | {sum(m['runs'] for m in made_by)} | "
                     f"{number(sum(m['core_hours'] for m in made_by))} | {'; '.join(makers)} |")
    return "\n".join(lines)


def render(template, results, pictures):
    """The page of a template, whose pictures it adds. Ends the program where the template is wrong."""
    words_of_page = template.read_text(encoding="utf-8")

    def replace(words):
        if words == "studies":
            return studies_table(results)
        if words.startswith("least certain "):
            return least_certain(results, float(words[len("least certain "):]))
        if words.startswith("false discoveries "):
            return false_discoveries(results, float(words[len("false discoveries "):]))
        for which in ("least", "most"):
            if words.startswith(f"{which} "):
                return end_of(results, words[len(f"{which} "):], which)
        if words.startswith("prices "):
            return falling_prices(results, words[len("prices "):])
        if words.startswith("drawing "):
            name, _, alt = words[len("drawing "):].partition(": ")
            if name not in DRAWINGS:
                raise Wrong(f"there is no drawing '{name}'{nearest(name, DRAWINGS)}")
            pictures.append(name)
            return f"![{alt}](figures/{name}.png)"
        if words.startswith("study "):
            name = words[len("study "):]
            results.study(name)
            return study_link(name)
        study, _, what = words.partition(": ")
        if what.startswith("arm "):
            found = results.summary(study, what[len("arm "):])
            return estimate(found["estimate"], f" {found['unit']}".rstrip())
        if what.startswith("number "):
            return numbers(results, study, what[len("number "):])
        if what.startswith("value "):
            found = known_check(study, results.hypothesis(study, what[len("value "):]))["effect"]
            ends = dict.fromkeys(map(two_digits, (found["value"], upper_end(found))))
            return " to ".join(ends)
        if what.startswith("effect "):
            return effect(results.hypothesis(study, what[len("effect "):]))
        return phrase(results.study(study), results.hypothesis(study, what))

    def rendered(found):
        try:
            made = replace(" ".join(found.group(1).split()))
            if template.name == "README.template.md":  # which becomes a page of the folder above
                made = made.replace("](../", "](").replace("](figures/", "](docs/figures/")
            return made
        except Wrong as wrong:
            line = words_of_page.count("\n", 0, found.start()) + 1
            sys.exit(f"{template.name}:{line}: {wrong}")

    return (f"<!-- made of docs/{template.name} by ./dev answers -->\n" +
            re.sub(r"\{\{(.+?)\}\}", rendered, words_of_page, flags=re.S))


def draw(pictures, results, folder):
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--force-device-scale-factor=1.5", "--window-size=1300,1400",
                     "--host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(argument)
    folder.mkdir(parents=True, exist_ok=True)
    browser = webdriver.Chrome(options=options)
    try:
        for name in DRAWINGS:
            if name in pictures:
                importlib.import_module(f"{name}_figure").draw(results, browser, folder / f"{name}.png")
    finally:
        browser.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="?", default=DOCS.parent / "experiments" / "results")
    parser.add_argument("--docs", type=pathlib.Path, default=DOCS)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_args()
    results, pictures = Results(options.results), []
    suffix, figures = ".template.md", options.docs / "figures"
    pages = {}
    for template in sorted(options.docs.glob(f"*{suffix}"), key=lambda file: file.name.lower()):
        page = template.name[:-len(suffix)] + ".md"
        folder = options.docs.parent if page == "README.md" else options.docs
        pages[folder / page] = render(template, results, pictures)
    if not pages:
        sys.exit(f"{options.docs} holds no *{suffix}")
    if options.figures:
        draw(pictures, results, figures)
    for picture in pictures:
        if not (figures / f"{picture}.png").exists():
            sys.exit(f"{figures}/{picture}.png is not there; draw it with --figures")
    same = True
    for page, text in pages.items():
        if not options.check:
            page.write_text(text, encoding="utf-8")
            continue
        before = page.read_text(encoding="utf-8")
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), text.splitlines(True), str(page),
                                                   "what the results say"))
        same = same and before == text
    sys.exit(not same)


if __name__ == "__main__":
    main()
