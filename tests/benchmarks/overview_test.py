#!/usr/bin/env python3
"""The tables of all pages, on pages made up here; README.md's template, docs/performance.md and its pages are what was
measured."""
import json
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import overview
from performance_page import page

OLD, NEW = "PyTorch 1", "PyTorch 2"


def step(ours, old, new, **more):
    memory = lambda megabytes: {"peak_memory_bytes": 1e6 * megabytes}
    return {"surd": {"step_ms": ours, "step_over_library_products": ours / 2, "library_products_ms": 2, "gflops": 80,
                     **memory(30), **more},
            OLD: {"step_ms": old, **memory(60)}, NEW: {"step_ms": new, **memory(120)}}


# Of OLD over surd's the median of ratios is 4, and the ratio of medians 8; NEW's are 4.5 and 5.
STEPS = [step(1, 2, 5), step(2, 16, 9), step(10, 40, 10)]


def numbers(*shapes, **more):
    return {"peers": [{"name": OLD}, {"name": NEW}], "peak": 100,
            "shapes": [{"name": shape} for shape in shapes or ("small",)],
            "one thread": {"small": STEPS}, **more}


class Overview(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def page(self, name, raw, registers="512 bits", processor="AMD EPYC (family 25, model 17, stepping 1)"):
        (self.folder / f"{name}.md").write_text(
            f"# Speed\n\n{processor}, 2 cores; one core's peak 100 GFLOP/s; OpenBLAS 1 Haswell MAX_THREADS=64. "
            f"Measured on 2026-11-02. Medians of 3 rounds. Commit 0123; products all by surd ({registers}).\n")
        if raw:
            (self.folder / f"{name}.json").write_text(json.dumps(raw))
        return overview.Page(self.folder / f"{name}.md")

    def table(self, name, *pages):
        """The cells of its lines."""
        text = overview.render(f"before\n{overview.MARK}{name} -->\nold\n{overview.END}after\n", pages)
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n") and "old" not in text, text)
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line.startswith("|")]
        self.assertEqual({len(cells) for cells in rows}, {len(rows[0])})
        return rows[:1] + rows[2:]

    def test_a_line_a_page_a_column_a_shape(self):
        first = self.page("a", numbers("large", **{"one thread": {"large": [step(1, 2, 3)]}}))
        second = self.page("b", numbers("tiny", "small", "large"), "256 bits", "Another (family 1, model 2)")
        self.assertEqual(self.table("one thread", first, second), [["", "small", "large"],
                                                                   ["EPYC, 4th generation, 512 bits", "-", "2.00"],
                                                                   ["Another (family 1, model 2), 256 bits", "4.00", "-"]])

    def test_figures_are_medians_of_rounds_and_of_the_faster_peer(self):
        made = lambda seconds: {"runs": 40, "seconds": seconds}
        speed = lambda each: [{"beam": 5, "batch": 64, "sentences_per_s": each}]
        measured = self.page("a", numbers(
            **{"two threads": {"small": [step(2, 5, 6)]}}, studies=[{"surd": made(10), OLD: made(40), NEW: made(30)}],
            overhead={"small": [{"start_ms": 50.4, "asked_start_ms": 50, "update_ms": 9.6,
                                 "probe_share": 0.0181, "asked_probe_share": 0.02}]},
            scaling={"small": [{"alone": 9, "replicas": 5}]},
            decoding=[{"surd": speed(9), OLD: speed(3), NEW: speed(4)}]))
        for table, expected in {"one thread": ["4.00"], "two threads": ["2.50"], "library": ["1.00"], "memory": ["0.50"],
                                "peak": ["80"], "studies": ["240", "3.00"], "start": ["**50.4** (9.6)"], "probe": ["1.81"],
                                "replicas": ["1.80"], "decoding": ["2.25"]}.items():
            self.assertEqual(self.table(table, measured)[1:], [["EPYC, 4th generation, 512 bits", *expected]], table)
        self.assertEqual(self.table("steps and studies", measured)[1:],
                         [["EPYC, 4th generation", "2.0 ms (4.00)", "240 runs a minute (3.00)"]])
        slow = self.page("b", numbers(**{"one thread": {"small": [step(1234.4, 0, 0)]}}, studies=[{"surd": made(10)}]))
        self.assertEqual(self.table("steps and studies", slow)[1][1:], ["1,234 ms (0.00)", "240 runs a minute (-)"])

    def test_of_the_peak_that_was_measured_beside_a_step(self):
        beside = numbers(**{"one thread": {"small": [step(1, 2, 3, peak_gflops=160)]}})
        unknown = numbers(peak=None)
        self.assertEqual([cells[1] for cells in self.table("peak", self.page("a", beside), self.page("b", unknown))],
                         ["small", "50", "-"])

    def test_what_failed_and_what_was_not_measured_has_no_figure(self):
        failed = self.page("a", numbers(**{"one thread": {"small": [{OLD: {"step_ms": 3}}]}}))
        other, older = self.page("b", numbers()), self.page("c-avx512", None, "")
        pages = failed, other, older
        self.assertEqual([cells[1] for cells in self.table("one thread", *pages)], ["small", "-", "4.00"])
        self.assertEqual(self.table("studies", *pages)[1:], [["EPYC, 4th generation, 512 bits", "-", "-"]] * 2)
        for table in "two threads", "replicas", "start", "probe", "decoding":
            self.assertEqual(self.table(table, *pages), [[""]] + [["EPYC, 4th generation, 512 bits"]] * 2, table)
        self.assertEqual(len(self.table("steps and studies", *pages)), 1)
        self.assertEqual(self.table("pages", *pages)[1:], [
            [f"[{name}](performance/{name}.md)", "EPYC, 4th generation", "512 bits", "Haswell", "100", "0123, 2026-11-02"]
            for name in ("a", "b", "c-avx512")])

    def test_pages_held_to_avx2_stand_beside_those_of_512_bits_of_the_same_processor(self):
        narrow = numbers(**{"one thread": {"small": [step(3, 8, 18)]}})
        pages = (self.page("a", narrow, "256 bits, all held to AVX2"), self.page("b", numbers()),
                 self.page("c", numbers(), processor="Another one"), self.page("d", numbers(), "256 bits"))
        self.assertEqual(self.table("narrower registers", *pages)[1:],
                         [["EPYC, 4th generation", "surd", "1.50"], ["EPYC, 4th generation", "the library's products", "1.00"],
                          ["EPYC, 4th generation", OLD, "0.50"], ["EPYC, 4th generation", NEW, "2.00"]])
        whole = [self.page(page.file.stem, {**page.raw, "studies": []}, told) for page, told in
                 zip(pages, ("256 bits, all held to AVX2", "512 bits", "512 bits", "256 bits"))]
        self.assertEqual(len(self.table("steps and studies", *whole)), 3)
        self.assertEqual([cells[0] for cells in self.table("library", *pages)[1:]],
                         ["EPYC, 4th generation, AVX2", "EPYC, 4th generation, 512 bits", "Another one, 512 bits",
                          "EPYC, 4th generation, 256 bits"])

    def test_products_by_libraries_over_the_fastest_of_all_and_of_each(self):
        part = lambda shape, ours, each: (
            f"## {shape}\n\n| product (m x n x k) | A | B | surd's kernel | peak |\n|---|---|---|---|---|\n| NT 1 x 2 x 3 | 9 | 9 | 9 | 9 |\n"
            f"| **all of a step, ms** | 8.0 | 6.0 | {ours} | 1.0 |\n\nEach by the fastest of the libraries: {each} ms. As a step takes them: 3.0 ms.\n\n")
        (self.folder / "libraries-a.md").write_text("# Products\n\n" + part("small", 3.0, 4.0) + part("large", 9.0, 5.0))
        (self.folder / "libraries-b.md").write_text("# Products\n\n" + part("large", 6.0, 4.0))
        with unittest.mock.patch.object(overview, "PAGES", self.folder):
            known = "[EPYC, 4th generation, 512 bits](performance/libraries-a.md)"
            unknown = "[b](performance/libraries-b.md)"
            self.assertEqual(self.table("libraries", self.page("a", numbers())),
                             [["", "over", "small", "large"],
                              [known, "the fastest", "0.50 B", "1.50 B"], [known, "each product's fastest", "0.75", "1.80"],
                              [unknown, "the fastest", "-", "1.00 B"], [unknown, "each product's fastest", "-", "1.50"]])

    def test_real_batches_over_each_way(self):
        made = lambda *lines: "# Real batches\n\n|  | tokens | surd's |\n|---|---|---|\n" + "\n".join(lines)
        (self.folder / "real-batches-a.md").write_text(made("| surd | 90 (80-99) | 1.00 |", "| the same, mixed | 80 | 0.9 |",
                                                            f"| {OLD}, packed | 30 | 3.0 (2.9-3.1) |"))
        (self.folder / "real-batches-b.md").write_text(made("| surd | 70 | 1.00 |", "| the same, mixed | 80 | 0.8 |",
                                                            f"| {NEW}, packed | 35 | 2.0 |"))
        with unittest.mock.patch.object(overview, "PAGES", self.folder):
            self.assertEqual(self.table("real batches"),
                             [["", "tokens", f"{OLD}, packed", "itself, mixed", f"{NEW}, packed"],
                              ["[a](performance/real-batches-a.md)", "90 (80-99)", "3.0 (2.9-3.1)", "0.9", "-"],
                              ["[b](performance/real-batches-b.md)", "70", "-", "0.8", "2.0"]])

    def test_what_the_sample_configs_reach(self):
        file = self.folder / "samples.json"
        file.write_text(json.dumps({
            "processor": "Some (family 26, model 2, stepping 1)", "cores": 2, "git_commit": "0123", "simd_width": "512 bits", "begun": {"date": "2026-11-02"},
            "configs": {"sort": {"meant": 99.5, "sequence_accuracy": {"test": 0.9876, "test_long": 0.05}, "seconds": 65.4}}}))
        with unittest.mock.patch.object(overview, "SAMPLES", file):
            self.assertEqual(self.table("samples")[1:], [["`sort.yaml`", "98.8 %", "99.5 %", "1:05 min"],
                                                         ["`sort.yaml`, `--split test_long`", "5.0 %", "", ""]])
            self.assertIn("\nEPYC, 5th generation, 2 cores, registers of 512 bits; commit 0123, 2026-11-02.\n",
                          overview.render(f"{overview.MARK}samples -->\n{overview.END}", []))

    def test_a_mark_that_names_no_table_or_has_no_other_is_refused_with_its_line(self):
        with self.assertRaisesRegex(ValueError, "line 2: there is no table 'librery'; did you mean 'library'?"):
            overview.render(f"\n{overview.MARK}librery -->\n{overview.END}", [])
        for text in (f"{overview.MARK}library -->\n{overview.MARK}peak -->\n{overview.END}", overview.END,
                     f"<!-- by ./dev bench --index -->\n{overview.END}"):
            with self.assertRaisesRegex(ValueError, "line 1: a table needs"):
                overview.render(text, [])

    def test_the_pages_are_what_their_numbers_say(self):
        template = (HERE / "performance.template.md").read_text()
        for raw in overview.PAGES.glob("*.json"):
            written = raw.with_suffix(".md")
            self.assertEqual(page(json.loads(raw.read_text()), template), written.read_text() if written.exists() else "",
                             f"./dev bench --from {raw} writes it")

    def test_the_documents_have_every_table_of_the_published_pages(self):
        texts = {file: file.read_text() for file in overview.FILES}
        for file, text in texts.items():
            self.assertEqual(text, overview.render(text, overview.read_pages()), f"{file}: ./dev bench --index writes it")
        marks = re.findall(rf"{re.escape(overview.MARK)}(.+) -->", "".join(texts.values()))
        self.assertEqual(sorted(marks), sorted(overview.TABLES))


if __name__ == "__main__":
    unittest.main()
