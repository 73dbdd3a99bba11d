"""Prints the core that OpenBLAS is to be held to here: nothing where it chooses well itself, else a name for
OPENBLAS_CORETYPE, where it takes a processor that it does not know for a far slower one.

    blas_core.py --surd PROGRAM
"""
import argparse
import json
import os
import subprocess

KNOWN = ["SkylakeX", "Haswell"]  # with registers of 512 bits, and of 256
MUCH_FASTER = 1.25  # than what it chose: kernels for registers of one width differ by less


def library_speed(surd, core):
    """(the core that the library has, GFLOP/s of its products); None where the processor lacks its instructions."""
    variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **({"OPENBLAS_CORETYPE": core} if core else {})}
    told = subprocess.run([surd, "bench", "products", "--config", "toy-256", "--secs", "0.02", "--json"], env=variables,
                          capture_output=True, text=True)
    if told.returncode != 0:
        return None
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    return lines[0]["core"], max(line["library_gflops"] for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surd", required=True, metavar="PROGRAM")
    surd = parser.parse_args().surd
    own = library_speed(surd, None)
    if own is None:
        raise SystemExit(f"{surd} bench products failed")
    held = [found for core in KNOWN if (found := library_speed(surd, core)) and found[0] == core]
    core, speed = max(held, key=lambda found: found[1], default=own)
    if core != own[0] and speed > MUCH_FASTER * own[1]:
        print(core)


if __name__ == "__main__":
    main()
