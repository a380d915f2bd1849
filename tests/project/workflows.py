#!/usr/bin/python3
# rtc-test: project/workflows ci 60
"""The files for build servers are valid, and run .ci/run, which exists, on the Debian that README names.  .ci/run runs
tools/test, which README names for all tests."""
import os
import pathlib
import sys

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from blocks import block, commands

SOURCE = pathlib.Path(os.environ["RTC_SOURCE"])
wrong = []


def load(path):
    return yaml.safe_load((SOURCE / path).read_text())


def check(where, image, commands):
    if image != "debian:12" or ".ci/run" not in commands:
        wrong.append(f"{where}: {commands} in {image}")


job = load(".github/workflows/ci.yml")["jobs"]["debian12"]
check("GitHub", job["container"]["image"], [step.get("run") for step in job["steps"]])
if [step.get("uses", "").split("@")[0] for step in job["steps"]].index("actions/checkout") >= len(job["steps"]) - 1:
    wrong.append("GitHub: .ci/run comes before the checkout")
gitlab = load(".gitlab-ci.yml")
check("GitLab", gitlab["ci"]["image"], gitlab["ci"]["script"])
check("GitLab --full", gitlab["full"]["image"], [line.removesuffix(" --full") for line in gitlab["full"]["script"]])
if "exec" not in (SOURCE / ".ci/run").read_text() or "/../tools/test" not in (SOURCE / ".ci/run").read_text():
    wrong.append(".ci/run does not run tools/test")
if commands(block("README.md", "all tests that every"))[-1].split()[0] != "tools/test":
    wrong.append("README.md: the command for all tests is another than that of .ci/run")
if not os.access(SOURCE / ".ci/run", os.X_OK):
    wrong.append(".ci/run is not executable")
print("\n".join(wrong))
sys.exit(bool(wrong))
