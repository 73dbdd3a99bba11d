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
ROUNDS = 3  # in turn, as the speed of a machine changes


def library_speed(surd, core):
    """The core that the library has, and GFLOP/s of its fastest product; none where the processor lacks its instructions."""
    variables = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    variables.update({"OPENBLAS_NUM_THREADS": "1"}, **({"OPENBLAS_CORETYPE": core} if core else {}))
    told = subprocess.run([surd, "bench", "products", "--config", "toy-256", "--secs", "0.02", "--json"], env=variables,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if core else None, text=True)
    if told.returncode != 0:
        if core is None:
            raise SystemExit(f"{surd} bench products failed")
        return "", 0.0
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    return lines[0]["core"], max(line["library_gflops"] for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surd", required=True, metavar="PROGRAM")
    surd = parser.parse_args().surd
    fastest = {}
    for _ in range(ROUNDS):
        for core in (None, *KNOWN):
            name, speed = library_speed(surd, core)
            if core in (None, name):
                fastest[core] = max(speed, fastest.get(core, 0))
    core = max(fastest, key=fastest.get)
    if fastest[core] > MUCH_FASTER * fastest[None]:
        print(core)


if __name__ == "__main__":
    main()
