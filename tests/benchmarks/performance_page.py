"""The tables of docs/performance/NAME.md, from what compare_speed.py has measured."""
import statistics

from machine import when


def spread(values, digits=2):
    if not values:
        return "-"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def middle(values, digits=1):
    return f"{statistics.median(values):.{digits}f}" if values else "-"


def step_times(rounds, name):
    return [r[name]["step_ms"] for r in rounds if name in r]


def library_times(rounds):
    return [r["surd"]["library_products_ms"] for r in rounds if "surd" in r]


def library_ratios(rounds):
    return [r["surd"]["step_over_library_products"] for r in rounds if "surd" in r]


def peak_shares(rounds, peak):
    """% of the peak that a step uses: of one measured beside it or, in older files, of the page's."""
    found = [(r["surd"]["gflops"], r["surd"].get("peak_gflops", peak)) for r in rounds if "surd" in r]
    return [100 * used / had for used, had in found if had]


def peer_ratios(rounds, name):
    return [r[name]["step_ms"] / r["surd"]["step_ms"] for r in rounds if name in r and "surd" in r]


def peak_memory(rounds, name):
    return [r[name]["peak_memory_bytes"] / 1e6 for r in rounds if name in r]


def memory_ratio(rounds, names):
    """surd's over the least of the peers'."""
    peers = [statistics.median(peak_memory(rounds, n)) for n in names if peak_memory(rounds, n)]
    ours = peak_memory(rounds, "surd")
    return statistics.median(ours) / min(peers) if peers and ours else None


def pair_gains(rounds):
    return [sum(r["alone"] / t for t in r["together"]) for r in rounds if "alone" in r and "together" in r]


def replica_gains(rounds):
    return [r["alone"] / r["replicas"] for r in rounds if "alone" in r and "replicas" in r]


def runs_a_minute(rounds, name):
    return [60 * r[name]["runs"] / r[name]["seconds"] for r in rounds if name in r]


def study_ratios(rounds, name):
    both = [r for r in rounds if name in r and "surd" in r]
    return [ours / theirs for ours, theirs in zip(runs_a_minute(both, "surd"), runs_a_minute(both, name))]


def decoding_speeds(rounds):
    """{name: {(beam, sentences together): sentences a second}}, one a round"""
    return [{name: {(line["beam"], line["batch"]): line["sentences_per_s"] for line in lines}
             for name, lines in r.items()} for r in rounds]


def decoding_ratios(speeds, key, name):
    return [r["surd"][key] / r[name][key] for r in speeds if key in r.get(name, {}) and key in r.get("surd", {})]


def row(cells):
    return "| " + " | ".join(cells) + " |"


def head(cells):
    return [row(cells), "|" + "---|" * len(cells)]


def shape_table(shapes):
    lines = head(["shape", "vocabulary", "d_model", "heads", "feed-forward", "layers", "pairs",
                  "source, target positions"])
    for s in shapes:
        layers = f"{s['layers']}+{s['layers']}" if s["source_length"] > 0 else f"{s['layers']}, a decoder alone"
        lines.append(row([s["name"], f"{s['vocabulary']:,}", str(s["d_model"]), str(s["heads"]),
                          f"{s['feed_forward_width']:,}", layers, str(s["batch_size"]),
                          f"{s['source_length']}, {s['target_length']}"]))
    return lines


def step_table(table, names, shares=None):
    """With a column of `shares` of the peak of one core, {shape: a list}."""
    of_peak = ["% of the peak"] if shares else []
    lines = head(["shape", "library's products, ms", "surd, ms", "surd / library's products"] + of_peak +
                 [cell for n in names for cell in (f"{n}, ms", f"{n} / surd")])
    for shape, rounds in table.items():
        cells = [shape, middle(library_times(rounds)), middle(step_times(rounds, "surd")), spread(library_ratios(rounds))]
        if shares:
            cells.append(middle(shares[shape], 0))
        for name in names:
            cells.append(middle(step_times(rounds, name)))
            cells.append(spread(peer_ratios(rounds, name)))
        lines.append(row(cells))
    return lines


def memory_table(table, names):
    lines = head(["shape", "surd, MB", "of it parameters, gradients, moments", "what ops compute and keep"] +
                 [f"{n}, MB" for n in names] + ["surd / least of these"])
    for shape, rounds in table.items():
        ratio = memory_ratio(rounds, names)
        of_it = [middle([r["surd"][part] / 1e6 for r in rounds if "surd" in r], 0)
                 for part in ("parameters_gradients_moments_bytes", "ops_bytes")]
        lines.append(row([shape, middle(peak_memory(rounds, "surd"), 0)] + of_it +
                         [middle(peak_memory(rounds, n), 0) for n in names] + ["-" if ratio is None else f"{ratio:.2f}"]))
    return lines


def scaling_table(table):
    lines = head(["shape", "two runs side by side / one", "two replicas / one"])
    for shape, rounds in table.items():
        lines.append(row([shape, spread(pair_gains(rounds)), spread(replica_gains(rounds))]))
    return lines


def profile_table(profiles):
    parts = {part for profile in profiles.values() for part in profile}
    share = lambda profile, part: 100 * profile.get(part, {"all": 0})["all"]
    most = {part: max(share(profile, part) for profile in profiles.values()) for part in parts}
    lines = head(["part", *profiles])
    for part in sorted(parts, key=lambda p: (-most[p], p)):
        if most[part] >= 0.5:
            lines.append(row([part] + [f"{share(profile, part):.1f} %" for profile in profiles.values()]))
    return lines


def decode_table(rounds, names):
    keyed = decoding_speeds(rounds)
    lines = head(["beam", "sentences together", "surd, sentences/s"] +
                 [cell for n in names for cell in (f"{n}, sentences/s", f"surd / {n}")])
    for key in sorted({key for r in keyed for speeds in r.values() for key in speeds}):
        speed = lambda name: [r[name][key] for r in keyed if key in r.get(name, {})]
        cells = [str(key[0]), str(key[1]), middle(speed("surd"))]
        for name in names:
            cells.append(middle(speed(name)))
            cells.append(spread(decoding_ratios(keyed, key, name), 1))
        lines.append(row(cells))
    return lines


def decoders(rounds):
    """What the two keep while they decode. In older raw files the peer kept nothing."""
    if any(line.get("keeps_keys_and_values") for r in rounds or [] for lines in r.values() for line in lines):
        return ["surd and the PyTorch script",
                "(tests/benchmarks/torch_peer.py) keep the keys and values of past positions, and make those of the source once",
                "for each sentence."]
    return ["surd keeps the keys and values of past positions,",
            "the PyTorch script runs the decoder over the whole prefix each time, as one does without a cache."]


def study_table(rounds, names):
    lines = head(["", "runs a minute", "surd's runs to each of these", "token accuracy of half the runs"])
    for name in ["surd", *names]:
        made = [r for r in rounds if name in r]
        if made:
            lines.append(row([name, spread(runs_a_minute(made, name), 0), spread(study_ratios(made, name)),
                              spread([r[name]["token_accuracy"] for r in made])]))
    return lines


def growth_table(results):
    axes = {}
    for line in results:
        axes.setdefault(line["axis"], []).append(line)
    lines = head(["size", "ms a step at each value", "time grows as the power", "operations as"])
    for axis, entries in axes.items():
        values = ", ".join(f"{e['value']}: {e['step_ms']:.1f}" for e in entries if "value" in e)
        lines.append(row([axis, values, f"{entries[-1]['exponent_of_time']:.2f}",
                          f"{entries[-1]['exponent_of_operations']:.2f}"]))
    return lines


def overhead_table(table):
    lines = head(["what", "asked", *table])
    asked = next(iter(table.values()))[0]
    beside = lambda r: r["batching_share"] + r["logging_share"]
    for what, limit, value, digits in [
            ("start of the program to its first update, ms", f"below {asked['asked_start_ms']:g}",
             lambda r: r["start_ms"], 0),
            ("batching and logging, % of a run", f"below {100 * asked['asked_batching_and_logging_share']:g}",
             lambda r: 100 * beside(r), 2),
            (f"probe every {asked['probe_every']} updates, % more", f"below {100 * asked['asked_probe_share']:g}",
             lambda r: 100 * r["probe_share"], 2)]:
        lines.append(row([what, limit] + [spread([value(r) for r in rounds], digits) for rounds in table.values()]))
    return lines


def with_blas(peer):
    return f"{peer['name']} ({peer['blas']})" if peer.get("blas") else peer["name"]


def page(raw, text):
    """The template with its marks replaced. A part that was not measured gets a line that says so."""
    measured = {shape for part in raw.values() if isinstance(part, dict) for shape in part}
    names = [peer["name"] for peer in raw["peers"]]
    eager = [peer["name"] for peer in raw["peers"] if not peer["compile"]]
    peak = raw.get("peak")
    held = " (as OPENBLAS_CORETYPE says)" if raw.get("blas_core_from") == "OPENBLAS_CORETYPE" else ""
    measured_on = "; ".join(part for part in (f"{raw['processor']}, {raw['cores']} cores",
                                              f"one core's peak {peak:.0f} GFLOP/s" if peak else "",
                                              raw["blas"] + held, ", ".join(map(with_blas, raw["peers"])),
                                              "all of them held to AVX2" if raw.get("avx2") else "") if part)
    tables = {
        "one thread": ("one thread", lambda part: step_table(part, names, {shape: peak_shares(rounds, peak)
                                                                           for shape, rounds in part.items()})),
        "two threads": ("two threads", lambda part: step_table(part, eager)),
        "memory": ("one thread", lambda part: memory_table(part, names)),
        "scaling": ("scaling", scaling_table),
        "studies": ("studies", lambda part: study_table(part, eager)),
        "profile": ("profile", profile_table),
        "decoding": ("decoding", lambda part: decode_table(part, eager)),
        "growth": ("growth", growth_table),
        "overheads": ("overhead", overhead_table),
    }
    sections = {
        "machine": [" ".join(filter(None, [
            f"{measured_on}.", when(raw.get("begun")),
            f"Medians of {raw['rounds']} rounds of {raw['seconds']:g} s each, the range in brackets.",
            f"Commit {raw['commit']}; products {raw['products']}."]))],
        "shapes": shape_table([shape for shape in raw["shapes"] if shape["name"] in measured]),
        "decoders": decoders(raw.get("decoding")),
        **{name: table(raw[part]) if raw.get(part) else ["Not measured."] for name, (part, table) in tables.items()},
    }
    for name, lines in sections.items():
        mark = "{{" + name + "}}"
        if mark not in text:
            raise ValueError(f"the template has no {mark}")
        text = text.replace(mark, "\n".join(lines))
    return text
