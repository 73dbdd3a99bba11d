"""The tables of docs/README.template.md and docs/performance.md that put the pages of docs/performance/ side by side, and that
of docs/samples.json. Each stands between two marks, of which the first one names it."""
import difflib
import json
import pathlib
import re
import statistics
import subprocess
import sys

from performance_page import (decoding_ratios, decoding_speeds, head, library_ratios, library_times, memory_ratio,
                              peak_shares, peer_ratios, replica_gains, row, runs_a_minute, step_times, study_ratios)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs" / "performance"
FILES = [ROOT / "docs" / "README.template.md", ROOT / "docs" / "performance.md"]
SAMPLES = ROOT / "docs" / "samples.json"
MARK, END = "<!-- by ./dev bench --index: ", "<!-- end of the table -->\n"
TABLE = re.compile(rf"({re.escape(MARK)}([^\n]+) -->\n)(?:(?!<!--).)*({END})", re.DOTALL)
GENERATIONS = {  # clouds call several by one name
    "family 25, model 17": "EPYC, 4th generation",
    "family 26, model 2": "EPYC, 5th generation",
    "family 6, model 207": "Xeon, 5th generation",
}


def generation(processor):
    """Its generation or, where that is not known, what it calls itself."""
    model = re.search(r"family \d+, model \d+", processor)
    return GENERATIONS.get(model and model[0], processor)


class Page:
    """What was measured on one processor. A page of an older kind has no numbers beside it, and stands only in the list."""

    def __init__(self, file):
        self.file = file
        self.machine = re.search(r"^.+?, \d+ cores; .*Medians of .*$", file.read_text(), re.MULTILINE)
        numbers = file.with_suffix(".json")
        self.raw = json.loads(numbers.read_text()) if self.machine and numbers.exists() else {}
        self.peers = [peer["name"] for peer in self.raw.get("peers", [])]

    def told(self, pattern):
        """Of the paragraph that names its machine; "" where that does not tell."""
        return next(iter(re.findall(pattern, self.machine[0])), "")

    def processor(self):
        return generation(self.told(r"^(.+?), \d+ cores"))

    def registers(self):
        # Before products were told with their registers, only the file's name says these.
        named = "512 bits" if "avx512" in self.file.name else "-"
        return "AVX2" if self.told("held to AVX2") else self.told(r"\d+ bits") or named

    def title(self):
        return f"{self.processor()}, {self.registers()}"

    def rounds(self, part, shape):
        return self.raw.get(part, {}).get(shape, [])


def number(value, digits=2):
    return "-" if value is None else f"{value:,.{digits}f}"


def median(values):
    return statistics.median(values) if values else None


def least(values):
    return min((value for value in values if value is not None), default=None)


def fastest_peer(page, rounds):
    """Its time over surd's."""
    return least(median(peer_ratios(rounds, name)) for name in page.peers)


def studies_made(page):
    return median(runs_a_minute(page.raw.get("studies", []), "surd"))


def study_ratio(page):
    return least(median(study_ratios(page.raw.get("studies", []), name)) for name in page.peers)


def shapes_of(pages, part):
    """Those of which any page has this part, in the order of the fullest page."""
    pages = sorted(pages, key=lambda page: -len(page.raw["shapes"]))
    known = dict.fromkeys(shape["name"] for page in pages for shape in page.raw["shapes"])
    return [shape for shape in known if any(page.rounds(part, shape) for page in pages)]


def by_shape(part, cell):
    """A line a page, a column a shape: what `cell` makes of the page and its rounds."""
    def table(pages):
        shapes = shapes_of(pages, part)
        return head(["", *shapes]) + [row([page.title()] + [cell(page, page.rounds(part, shape)) for shape in shapes])
                                      for page in pages]
    return table


def list_of_pages(pages):
    lines = head(["Page", "Processor", "Registers", "OpenBLAS core", "Peak, GFLOP/s", "Commit"])
    for page in pages:
        commit = ", ".join(filter(None, [page.told(r"Commit (\S+);"), page.told(r"Measured \w+ ([\d-]+)")]))
        lines.append(row([f"[{page.file.stem}](performance/{page.file.name})", page.processor(), page.registers(),
                          page.told(r"OpenBLAS .*?(\w+) MAX_THREADS") or "-",
                          page.told(r"peak (\d+) GFLOP/s") or "-", commit]))
    return lines


def steps_and_studies(pages):
    """For those who ask how fast it is: pages of 512 bits that have both."""
    pages = [page for page in pages if page.registers() == "512 bits" and {"one thread", "studies"} <= page.raw.keys()]
    shapes = shapes_of(pages, "one thread")
    lines = head(["", *shapes, "a study"])
    for page in pages:
        cells = [page.processor()]
        for rounds in (page.rounds("one thread", shape) for shape in shapes):
            time = median(step_times(rounds, "surd"))
            digits = 1 if time is not None and time < 10 else 0
            cells.append(f"{number(time, digits)} ms ({number(fastest_peer(page, rounds))})")
        lines.append(row(cells + [f"{number(studies_made(page), 0)} runs a minute ({number(study_ratio(page))})"]))
    return lines


def narrower_registers(pages):
    """What AVX2 takes over what 512 bits take, where a processor has a page of each."""
    held = {page.processor(): page for page in pages if page.registers() == "AVX2"}
    shapes = shapes_of(pages, "one thread")
    lines = head(["", "", *shapes])
    for wide in pages:
        narrow = held.get(wide.processor())
        if narrow is None or wide.registers() != "512 bits":
            continue
        programs = {"surd": lambda rounds: step_times(rounds, "surd"), "the library's products": library_times,
                    **{name: lambda rounds, name=name: step_times(rounds, name) for name in narrow.peers}}
        for name, times in programs.items():
            cells = []
            for shape in shapes:
                ours, theirs = (median(times(page.rounds("one thread", shape))) for page in (narrow, wide))
                cells.append(number(ours / theirs if ours and theirs else None))
            lines.append(row([wide.processor(), name, *cells]))
    return lines


def studies(pages):
    lines = head(["", "runs a minute", "to those of the faster PyTorch"])
    return lines + [row([page.title(), number(studies_made(page), 0), number(study_ratio(page))]) for page in pages]


def decoding(pages):
    """surd's sentences a second over those of the faster PyTorch."""
    speeds = {page: decoding_speeds(page.raw.get("decoding", [])) for page in pages}
    kinds = sorted({kind for rounds in speeds.values() for r in rounds for made in r.values() for kind in made})
    lines = head([""] + [f"beam {beam}, {together} together" for beam, together in kinds])
    for page in pages:
        ratios = [least(median(decoding_ratios(speeds[page], kind, name)) for name in page.peers) for kind in kinds]
        lines.append(row([page.title(), *map(number, ratios)]))
    return lines


def asked(text, met):
    return text if met else f"**{text}**"


def start(_, rounds):
    """With the time of an update, as the first one is part of it."""
    until, update = (median([r[what] for r in rounds]) for what in ("start_ms", "update_ms"))
    return f"{asked(number(until, 1), until < rounds[0]['asked_start_ms'])} ({number(update, 1)})" if rounds else "-"


def probe(_, rounds):
    share = median([r["probe_share"] for r in rounds])
    return asked(number(100 * share), share < rounds[0]["asked_probe_share"]) if rounds else "-"


def pages_of(kind, pages):
    """(title, text) of each page of another kind; the title is a link, and that of the processor's page of steps."""
    titles = {page.file.stem: page.title() for page in pages}
    for file in sorted(PAGES.glob(f"{kind}-*.md")):
        name = file.stem.removeprefix(f"{kind}-")
        yield f"[{titles.get(name, name)}](performance/{file.name})", file.read_text()


def rows_of(text):
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line.startswith("|")]


def libraries(pages):
    """The time of a step's products by surd's kernel over that by the fastest library, and by the fastest of each product."""
    shapes, lines = {}, []
    for title, text in pages_of("libraries", pages):
        cells = {"the fastest": {}, "each product's fastest": {}}
        for part in text.split("\n## ")[1:]:
            shape = part.split("\n", 1)[0]
            rows = rows_of(part)
            times = {name: float(time) for name, time in zip(rows[0][1:], rows[-1][1:]) if name != "peak"}
            ours = times.pop("surd's kernel")
            name = min(times, key=times.get)
            by_product = float(re.search(r"by the fastest of the libraries: ([\d.]+) ms", part)[1])
            cells["the fastest"][shape] = f"{number(ours / times[name])} {name}"
            cells["each product's fastest"][shape] = number(ours / by_product)
        shapes.update(dict.fromkeys(cells["the fastest"]))
        lines += [(title, beside, ratios) for beside, ratios in cells.items()]
    return head(["", "over", *shapes]) + [row([title, beside, *(ratios.get(shape, "-") for shape in shapes)])
                                          for title, beside, ratios in lines]


def real_batches(pages):
    """surd's tokens a second, and these over each way of PyTorch and over its own where lengths are mixed."""
    lines = []
    for title, text in pages_of("real-batches", pages):
        names, _, ours, mixed, *others = rows_of(text)
        itself = mixed[0].replace("the same", "itself")
        lines.append(({"": title, names[1]: ours[1]}, {**{other[0]: other[2] for other in others}, itself: mixed[2]}))
    ways = list(dict.fromkeys(way for _, ratios in lines for way in ratios))
    return head([*lines[0][0], *ways]) + [row([*made.values(), *(ratios.get(way, "-") for way in ways)])
                                          for made, ratios in lines] if lines else head([""])


def samples(_):
    """What samples.py found."""
    found = json.loads(SAMPLES.read_text())
    lines = head(["Config", "Sequence accuracy", "Meant to reach", "Time, one thread"])
    for name, figures in found["configs"].items():
        for split, accuracy in figures["sequence_accuracy"].items():
            minutes, seconds = divmod(round(figures["seconds"]), 60)
            rest = [f"{figures['meant']:g} %", f"{minutes}:{seconds:02} min"] if split == "test" else ["", ""]
            lines.append(row([f"`{name}.yaml`" + ("" if split == "test" else f", `--split {split}`"),
                              f"{100 * accuracy:.1f} %", *rest]))
    return lines + ["", f"{generation(found['processor'])}, {found['cores']} cores, registers of {found['simd_width']}; "
                        f"commit {found['git_commit']}, {found['begun']['date']}."]


TABLES = {
    "samples": samples,
    "libraries": libraries,
    "real batches": real_batches,
    "pages": list_of_pages,
    "steps and studies": steps_and_studies,
    "library": by_shape("one thread", lambda page, rounds: number(median(library_ratios(rounds)))),
    "peak": by_shape("one thread", lambda page, rounds: number(median(peak_shares(rounds, page.raw.get("peak"))), 0)),
    "one thread": by_shape("one thread", lambda page, rounds: number(fastest_peer(page, rounds))),
    "two threads": by_shape("two threads", lambda page, rounds: number(fastest_peer(page, rounds))),
    "replicas": by_shape("scaling", lambda page, rounds: number(median(replica_gains(rounds)))),
    "memory": by_shape("one thread", lambda page, rounds: number(memory_ratio(rounds, page.peers))),
    "start": by_shape("overhead", start),
    "probe": by_shape("overhead", probe),
    "narrower registers": narrower_registers,
    "studies": studies,
    "decoding": decoding,
}


def render(text, pages):
    """`text` with its tables made anew. Throws ValueError where a mark names no table, or a table has no end."""
    measured = [page for page in pages if page.raw]
    line = lambda position: f"line {text.count(chr(10), 0, position) + 1}"

    def replace(found):
        name = found[2]
        if name not in TABLES:
            close = difflib.get_close_matches(name, TABLES, 1, 0.4)
            raise ValueError(f"{line(found.start())}: there is no table '{name}'" +
                             (f"; did you mean '{close[0]}'?" if close else ""))
        table = TABLES[name](pages if name == "pages" else measured)
        return found[1] + "\n" + "\n".join(table) + "\n\n" + found[3]

    complete = {position for found in TABLE.finditer(text) for position in (found.start(1), found.start(3))}
    for found in re.finditer(rf"{re.escape(MARK.strip(' :'))}|{END}", text):
        if found.start() not in complete:
            raise ValueError(f"{line(found.start())}: a table needs {MARK}NAME --> above it and {END.strip()} below it")
    return TABLE.sub(replace, text)


def read_pages():
    return [page for page in map(Page, sorted(PAGES.glob("*.md"))) if page.machine]


def write_tables():
    pages = read_pages()
    for file in FILES:
        before = file.read_text()
        try:
            after = render(before, pages)
        except ValueError as wrong:
            sys.exit(f"{file}: {wrong}")
        if after != before:
            file.write_text(after)
            print(f"written: {file}", file=sys.stderr)
    sys.exit(subprocess.run([sys.executable, str(ROOT / "docs" / "make_answers.py")]).returncode)  # README.md follows
