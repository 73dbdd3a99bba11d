"""What a measurement is made on, when, and how busy the machine is then."""
import json
import os
import pathlib
import sys
import time


def processor():
    """Its name, family, model and stepping: clouds call several generations by one name."""
    lines = [line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    found = {}
    for key, value in lines:
        found.setdefault(key.strip(), value.strip())
    family, model, stepping = (found.get(key, "?") for key in ("cpu family", "model", "stepping"))
    return f"{found.get('model name', 'unknown processor')} (family {family}, model {model}, stepping {stepping})"


def beginning():
    """The date, and the load average of the minute before."""
    return {"date": time.strftime("%Y-%m-%d"), "load": round(os.getloadavg()[0], 2)}


def when(begun):
    """"Measured on ..., load average ...", of pieces that began so; "" where nobody noted it."""
    if not begun:
        return ""
    days = sorted({piece["date"] for piece in begun})
    load = f"{max(piece['load'] for piece in begun):.2f}"
    if len(begun) == 1:
        return f"Measured on {days[0]}, load average {load} when it began."
    span = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
    return f"Measured {span}, in {len(begun)} pieces, load average up to {load} when they began."


def noted(file, begins):
    """The processor and the date that `file` keeps of what began on this machine, or begins now; nothing of older runs."""
    if begins:
        file.write_text(json.dumps({"processor": processor(), "date": beginning()["date"]}) + "\n", encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def described(summary, begun):
    """What a run was made on: by its summary.json, and what was noted when it began."""
    day = f"; begun on {begun['date']}" if begun else ""
    return (f"{begun.get('processor', summary['cpu'])}, {summary['cores']} cores, registers of {summary['simd_width']}; "
            f"commit {summary['git_commit']}{day}.")


def warn_if_modified(commit):
    if commit.endswith("-modified"):
        print(f"warning: the program is of a tree that was changed, {commit}, so that no commit builds it again",
              file=sys.stderr, flush=True)
