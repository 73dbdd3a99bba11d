#!/usr/bin/env python3
"""docs/make_answers.py refuses what the results do not say, on results made up here; README.md, docs/answers.md, claims.md and
evidence.md are what it writes from the published ones."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "docs"))
import make_answers
import prices


def hypothesis(name, verdict, value, bound="exactly", interval=(0.5, 2.5)):
    check = {"values": [value] * 8, "seeds": list(range(1, 9)), "compared_by": "ratio", "expected": None,
             "effect": {"value": value, "bound": bound, "interval": list(interval)}}
    return {"name": name, "verdict": verdict, "claim": 1, "p": 0.0078125, "p_holm": 0.0390625, "checks": [check]}


def several(name):
    """Three checks: of one nothing is known, of one a bound."""
    checks = [hypothesis(name, "", *effect)["checks"][0]
              for effect in ((None, "unknown"), (9, "at_least"), (2, "exactly"))]
    return {"name": name, "verdict": "undecided", "claim": None, "p": None, "p_holm": None, "checks": checks}


def between(name):
    """Two checks, each known between two numbers."""
    checks = [hypothesis(name, "", value, "between")["checks"][0] for value in (2, 2.2)]
    for check, to in zip(checks, (2.5, 2.3)):
        check["effect"]["to"] = to
    return {"name": name, "verdict": "undecided", "claim": None, "p": None, "p_holm": None, "checks": checks}


def with_p(name, verdict, p, claim=None):
    return {**hypothesis(name, verdict, 2), "p": p, "claim": claim}


class Answers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        study = self.folder / "results" / "wide"
        study.mkdir(parents=True)
        (study / "verdicts.json").write_text(json.dumps({
            "seeds": list(range(1, 11)), "looks": 1,
            "hypotheses": [hypothesis("It is later", "supported", 1.6, "at_least", (1.5, None)),
                           hypothesis("It is earlier", "refuted", 2), several("It is 2 everywhere"),
                           between("It is between")],
            "arms": [{"name": "d=16", "levels": {"d": "16"}},
                     {"name": "d=32", "levels": {"d": "32", "rate": "line, of 2,000"}}],
            "summaries": [{"arm": "d=16", "metric": "steps", "regime": "tuned", "unit": "updates",
                           "estimate": {"value": 480, "bound": "exactly", "interval": [460, 500]}},
                          {"arm": "d=32", "metric": "loss", "regime": "tuned", "unit": "nats",
                           "estimate": {"value": 1.148, "to": 1.154, "bound": "between", "interval": [1, 1.2]}}],
            "made_by": [{"git_commit": "0123456789", "cpu": "a processor", "blas_core": "Haswell", "runs": 8,
                         "core_hours": 0.25}]}))

    def render(self, template, *more):
        (self.folder / "answers.template.md").write_text(template)
        return subprocess.run([sys.executable, str(SOURCE / "docs" / "make_answers.py"), str(self.folder / "results"),
                               "--docs", str(self.folder), *more], capture_output=True, text=True)

    def rendered(self):
        """Below the line that says what it is made of."""
        first, _, text = (self.folder / "answers.md").read_text().partition("\n")
        self.assertEqual(first, "<!-- made of docs/answers.template.md by ./dev answers -->")
        return text

    def refused(self, template, message):
        made = self.render(template)
        self.assertEqual(made.returncode, 1)
        self.assertIn(message, made.stderr)
        self.assertFalse((self.folder / "answers.md").exists())

    def test_numbers_come_from_the_results(self):
        made = self.render("Later: {{wide: supported It is later}}; {{wide: effect refuted It is\nearlier}};\n"
                           "{{wide: arm steps, d=16, tuned}} in {{study wide}}, {{wide: number steps, tuned}}\n"
                           "{{studies}}\n")
        self.assertEqual(made.stderr, "")
        self.assertEqual(self.rendered(),
                         "Later: **supported** (≥ 1.6 times [1.5, ∞]); 2 times [0.5, 2.5];\n"
                         "480 updates [460, 500] in [wide](../experiments/results/wide/report.md), 480\n"
                         "| Study | Runs | Core-hours | Made by |\n|---|---|---|---|\n"
                         "| wide | 8 | 0.25 | 0123456, a processor, Haswell |\n")

    def test_of_several_cases_the_range_keeps_its_bounds(self):
        self.assertEqual(self.render("{{wide: effect undecided It is 2 everywhere}}").returncode, 0)
        self.assertEqual(self.rendered(), "2 to ≥ 9 in 2 cases, not known in 1")
        self.assertEqual(self.render("{{wide: effect undecided It is between}}").returncode, 0)
        self.assertEqual(self.rendered(), "2 to 2.5 in 2 cases")

    def test_bounds_of_effects_whose_names_fit_are_rounded_away_from_them(self):
        narrow = self.folder / "results" / "narrow"
        narrow.mkdir()
        higher = hypothesis("It is higher", "supported", 9.86, "between")
        higher["checks"][0]["effect"]["to"] = 9.92
        low = hypothesis("It is [low]", "supported", 0.0318)
        low["checks"][0]["compared_by"] = "difference"
        (narrow / "verdicts.json").write_text(json.dumps({
            "hypotheses": [hypothesis("It is lower", "refuted", 1.19), higher, low]}))
        self.assertEqual(self.render("{{least narrow: supported *higher}} {{most narrow: supported It*higher}}, "
                                     "{{least wide, narrow: refuted * lower | refuted * earlier}}, "
                                     "{{most narrow, wide: supported * higher | refuted * earlier}}, "
                                     "{{most narrow: supported It is [low]}} {{narrow: value supported It is [low]}}, "
                                     "{{narrow: value supported It is higher}}").stderr, "")
        self.assertEqual(self.rendered(), "9.8 10.0, 1.1, 10.0, 0.032 0.032, 9.9")
        higher["checks"][0]["effect"]["to"] = 12
        (narrow / "verdicts.json").write_text(json.dumps({"hypotheses": [higher]}))
        self.assertEqual(self.render("{{narrow: value supported It is higher}}").stderr, "")
        self.assertEqual(self.rendered(), "9.9 to 12")
        (narrow / "verdicts.json").write_text(json.dumps({
            "hypotheses": [hypothesis("It is lower", "refuted", 1.19), higher, low]}))
        for template, message in {
                "{{least wide, narrow: supported * later | refuted *lower}}": "'It is later' of wide has not one effect",
                "{{most wide: undecided It is between}}": "'It is between' of wide has not one effect that is known",
                "{{wide: value supported It is later}}": "'It is later' of wide has not one effect that is known",
                "{{most wide: refuted It is *ier | refuted It is latest}}": "wide has no hypothesis 'It is latest'",
                "{{least narrow: refuted * h*}}": "the sentence rests on 'It is higher' being refuted, and narrow says supported",
                "{{least narrow: * *}}": "names no verdict",
                "{{least narrow: refuted * lower | supported *low?}}": "narrow has no hypothesis '*low?'",
                "{{least narrow, wide: refuted It is lower}}": "wide has no hypothesis 'refuted It is lower'",
                "{{least narrow: refuted * lower | supported *w]}}": "some are ratios, others differences",
                "{{most narrow}}": "'most narrow' says of which hypotheses"}.items():
            (self.folder / "answers.md").unlink(missing_ok=True)
            self.refused(template, message)

    def test_prices_of_a_task_a_norm_and_a_width(self):
        studies = {}
        for name, values in (("r21-narrow-rates", (0.9, 1.3)), ("r27-sharing", (1.1, 1.2))):
            studies[name] = [{**hypothesis("", "", value, bound), "kind": "difference", "metric": "updates_to_97", "under": {},
                              "arm": {"task": "reverse", "d": "64", "alpha": "1"},
                              "against": {"task": "reverse", "d": "64", "alpha": "sqrt(d)"}}
                             for value, bound in zip(values, ("exactly", "between"))]
            studies[name][1]["checks"][0]["effect"]["to"] = values[1] + 0.105
        for name in prices.STUDIES:
            folder = self.folder / "results" / name
            folder.mkdir()
            (folder / "verdicts.json").write_text(json.dumps({"seeds": list(range(16)), "hypotheses": studies.get(name, [])}))
        self.assertEqual(self.render("{{prices reverse, pre, 64}}").stderr, "")
        self.assertEqual(self.rendered(), "0.90 to 1.41")
        (self.folder / "answers.md").unlink()
        self.refused("{{prices reverse, post, 64}}", "answers.template.md:1: no study has a price of reverse, post, 64\n")
        self.refused("{{prices reverse, pre}}", "answers.template.md:1: 'prices reverse, pre' needs TASK, NORM, d\n")

    def test_the_readme_stands_beside_the_folder(self):
        (self.folder / "docs").mkdir()
        (self.folder / "docs" / "README.template.md").write_text("{{wide: value refuted It is earlier}} {{study wide}}")
        made = subprocess.run([sys.executable, str(SOURCE / "docs" / "make_answers.py"), str(self.folder / "results"),
                               "--docs", str(self.folder / "docs")], capture_output=True, text=True)
        self.assertEqual((made.returncode, made.stderr, (self.folder / "README.md").read_text()),
                         (0, "", "<!-- made of docs/README.template.md by ./dev answers -->\n"
                             "2.0 [wide](experiments/results/wide/report.md)"))

    def test_the_name_of_a_level_may_have_commas_and_two_ends_that_read_alike_are_one(self):
        self.assertEqual(self.render("{{wide: number loss, d=32, rate=line, of 2,000, tuned}}").returncode, 0)
        self.assertEqual(self.rendered(), "1.15")

    def test_an_axis_may_have_several_levels(self):
        wide = self.folder / "results" / "wide" / "verdicts.json"
        study = json.loads(wide.read_text())
        study["arms"] = [{"name": f"{d} {norm}", "levels": {"d": d, "norm": norm}}
                         for d in ("16", "32") for norm in ("pre", "post")]
        study["summaries"] = [{"arm": arm["name"], "metric": "steps", "regime": "tuned", "unit": "updates",
                               "estimate": {"value": 100 * (i + 1), "bound": "exactly", "interval": [1, 900]}}
                              for i, arm in enumerate(study["arms"])]
        wide.write_text(json.dumps(study))
        self.refused("{{wide: number steps, d=16|64, norm=pre, tuned}}", "'steps, d=64, norm=pre, tuned' (tuned) is 0 arms")
        self.assertEqual(self.render("| {{wide: number steps, d=16|32, norm=pre&post, tuned}} |").stderr, "")
        self.assertEqual(self.rendered(), "| 100, 200 | 300, 400 |")

    def test_a_sentence_cannot_rest_on_a_verdict_that_the_study_does_not_have(self):
        self.refused("First.\n{{wide: supported It is earlier}}",
                     "answers.template.md:2: the sentence rests on 'It is earlier' being supported, and wide says refuted")
        self.refused("{{wide: It is earlier}}", "names no verdict")
        self.refused("{{wide: supported It is late}}", "did you mean 'It is later'?")
        self.refused("{{wild: supported It is later}}", "did you mean 'wide'?")
        self.refused("{{wide: arm steps, d=32, tuned}}", "is 0 arms, not one")
        self.refused("{{wide: arm steps, a, b}}", "'a' is no AXIS=LEVEL")
        self.refused("{{study wide}} {{least certain 0.04}}", "no statement has a p after Holm of 0.04 or more")
        self.refused("{{study wild}}", "did you mean 'wide'?")
        self.refused("{{drawing answers: Falls.}}", "figures/answers.png is not there; draw it with --figures")
        self.refused("{{drawing price: Falls.}}", "there is no drawing 'price'; did you mean 'prices'?")

    def test_what_was_nearly_undecided_is_told(self):
        self.assertEqual(self.render("{{study wide}}\n{{least certain 0.03}}").returncode, 0)
        link, certain = "[wide](../experiments/results/wide/report.md)", \
            "p = 0.0391, 0.00781 before the correction, where all 8 seeds agree"
        self.assertEqual(self.rendered(),
                         f'{link}\n- {link}: "It is later" is **supported** (≥ 1.6 times [1.5, ∞]), {certain}\n'
                         f'- {link}: "It is earlier" is **refuted** (2 times [0.5, 2.5]), {certain}')

    def test_a_statement_without_p_says_how_many_seeds_it_is_of(self):
        made = self.render("{{wide: undecided It is 2 everywhere}}; {{wide: supported It is later}}")
        self.assertEqual(made.returncode, 0)
        self.assertEqual(self.rendered(),
                         "**undecided** (2 to ≥ 9 in 2 cases, not known in 1, of 8 of 10 seeds); "
                         "**supported** (≥ 1.6 times [1.5, ∞])")

    def test_all_studies_are_corrected_together(self):
        narrow = self.folder / "results" / "narrow"
        narrow.mkdir()
        (narrow / "verdicts.json").write_text(json.dumps({"looks": 1, "hypotheses": [
            with_p("It is small", "supported", 0.001, 1), with_p("It is smaller", "undecided", 0.6),
            with_p("It is smallest", "refuted", 0.045, 2)]}))
        self.assertEqual(self.render("{{false discoveries 0.05}}").returncode, 0)
        # Of 0.001, 0.0078, 0.0078, 0.045 and 0.6 the fourth is above 0.05 * 4 / 5, the third below 0.05 / 3.
        self.assertEqual(self.rendered(),
                         "2 studies have 5 statements with a p, and 4 of them are decided. Corrected over all of them "
                         "at once, 3 stay so (all but [narrow](../experiments/results/narrow/report.md), "
                         "\"It is smallest\", p = 0.045) by the method of Benjamini & Hochberg (1995), which expects no "
                         "more than 5 % of these to be wrong, and 3 by Holm's, where the chance that a single one is "
                         "wrong is 5 % at most. Corrected by Holm's over the statements about each claim, 4 of 4 stay")

    def test_a_picture_has_to_be_there(self):
        self.assertIn("answers.png is not there; draw it with --figures", self.render("{{drawing answers: A}}").stderr)
        (self.folder / "figures").mkdir()
        (self.folder / "figures" / "answers.png").write_bytes(b"")
        self.assertEqual(self.render("{{drawing answers: A line.}}").returncode, 0)
        self.assertEqual(self.rendered(), "![A line.](figures/answers.png)")

    def test_a_later_page_knows_the_studies_of_an_earlier_one(self):
        (self.folder / "evidence.template.md").write_text("{{studies}}")
        self.assertEqual(self.render("{{study wide}}").returncode, 0)
        self.assertIn("| wide | 8 | 0.25 |", (self.folder / "evidence.md").read_text())
        (self.folder / "evidence.template.md").write_text("\n{{study wild}}")
        self.assertIn("evidence.template.md:2: there is no study 'wild'", self.render("{{study wide}}").stderr)

    def test_a_folder_without_templates_is_refused(self):
        made = subprocess.run([sys.executable, str(SOURCE / "docs" / "make_answers.py"), str(self.folder / "results"),
                               "--docs", str(self.folder), "--check"], capture_output=True, text=True)
        self.assertEqual((made.returncode, made.stderr), (1, f"{self.folder} holds no *.template.md\n"))

    def test_check_tells_a_page_that_is_another(self):
        template = "{{wide: supported It is later}}\n"
        self.assertEqual(self.render(template).returncode, 0)
        self.assertEqual(self.render(template, "--check").returncode, 0)
        page = self.folder / "answers.md"
        page.write_text(page.read_text().replace("1.6", "1.7"))
        made = self.render(template, "--check")
        self.assertEqual(made.returncode, 1)
        self.assertIn("-**supported** (≥ 1.7 times", made.stdout)
        self.assertIn("1.7", page.read_text())

    def test_the_figures_find_what_they_draw(self):
        found = list(prices.prices(make_answers.Results(SOURCE / "experiments" / "results")))
        self.assertEqual({(price.norm, price.centred, price.rates) for price in found},
                         {(norm, centred, rates) for norm in ("pre", "post") for centred in (False, True)
                          for rates in prices.RATES})
        self.assertEqual({price.width for price in found}, {32, 64, 128, 256})
        try:
            import prices_figure
        except ModuleNotFoundError as missing:  # plotly, of a system's Python
            self.skipTest(str(missing))
        self.assertEqual({price.task for price in found}, set(prices_figure.PANELS))

    def test_the_pages_are_what_the_published_results_say(self):
        made = subprocess.run([sys.executable, str(SOURCE / "docs" / "make_answers.py"), "--check"], capture_output=True,
                              text=True)
        self.assertEqual((made.returncode, made.stdout, made.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
