"""What compare_speed.py has measured, in a file that further pieces join."""
import json
import os
import pathlib
import sys


class RawResults:
    """`identity` says what was measured: of another one, nothing joins. Written after each piece, whole or not at all."""

    def __init__(self, file, identity, anew):
        self.file = pathlib.Path(file)
        self.data = dict(identity)
        if anew or not self.file.exists():
            return
        before = json.loads(self.file.read_text())
        other = [key for key, value in identity.items() if before.get(key) != value]
        if other:
            sys.exit(f"{self.file} is of another {', '.join(other)}; --anew discards it, --raw names another file")
        self.data = before

    def keep(self, part, results):
        """`results` take the place of those of the same shape; without shapes, of all. What is empty takes no place."""
        if isinstance(results, dict):
            results = {**self.data.get(part, {}), **{shape: found for shape, found in results.items() if found}}
            order = [shape["name"] for shape in self.data["shapes"]]
            results = {shape: results[shape] for shape in order if shape in results}
        if results:
            self.data[part] = results
        self.file.parent.mkdir(parents=True, exist_ok=True)
        beside = self.file.with_suffix(".tmp")
        beside.write_text(json.dumps(self.data, indent=1) + "\n")
        os.replace(beside, self.file)
