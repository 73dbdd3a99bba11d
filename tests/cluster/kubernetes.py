"""Checks the Kubernetes job of docs/cluster.md against the published schema: kubernetes.py [PAGE]

Needs kubernetes-validate of PyPI.
"""
import pathlib
import sys
import textwrap

import kubernetes_validate
import yaml

page = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "docs" / "cluster.md")
text = page.read_text(encoding="utf-8")
begin = text.index("    apiVersion: batch/v1")
end = text.index("\n\n", begin)  # the first paragraph after it
job = yaml.safe_load(textwrap.dedent(text[begin:end]))
version = kubernetes_validate.validate(job, "1.30", strict=True)
print(f"{page.name}: the job is one of Kubernetes {version}")
