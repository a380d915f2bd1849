#!/usr/bin/env python3
"""validate_json.py FILE...: are these reports valid by build/share/rtcheck/report.schema.json and json.md?

Beyond the schema: ids lead somewhere, numbers add up.  Importable: complaints(report) -> list.
"""
import json
import os
import pathlib
import sys

import jsonschema

BUILD = pathlib.Path(os.environ.get("RTC_BUILD", pathlib.Path(__file__).parents[2] / "build"))
SCHEMA = BUILD / "share/rtcheck/report.schema.json"


def schema_complaints(report):
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    return [f"/{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(report)]


def dangling(report):
    """References that lead nowhere, and things that nothing refers to."""
    ids = {what: [x["id"] for x in report[what]]
           for what in ("modules", "frames", "stacks", "records", "errors", "leaks")}
    regions = [e["region"] for e in report["errors"] if "region" in e]
    holders = [x["witness"] for x in report["leaks"]]
    blocks = [w["block"] for w in holders if "block" in w]
    numbers = [p["n"] for p in report["processes"]]
    used = {
        "modules": {f["module"] for f in report["frames"] + regions + holders if "module" in f},
        "frames": {f for s in report["stacks"] for f in s["frames"]},
        "stacks": {x[stack] for x in report["records"] + report["errors"] + report["leaks"] + holders + blocks
                   for stack in ("stack", "alloc_stack", "free_stack", "other_alloc_stack", "function") if stack in x},
    }
    printed = [f"two {what} have one id" for what in ids if len(set(ids[what])) != len(ids[what])]
    printed += [f"{what}: {sorted(used[what] ^ set(ids[what]))} lead nowhere or are led to by nothing"
             for what in used if used[what] != set(ids[what])]
    printed += [f"process {n} of {r['id']} is not there"
             for r in report["records"] + report["errors"] + report["leaks"] for n in r["process"] if n not in numbers]
    if numbers != sorted(set(numbers)):
        printed.append("processes are not in ascending order")
    return printed


def shown(findings):
    return [x for x in findings if x["status"] == "new"]


def suppressions(report):
    printed = []
    hidden = {"errors": 0, "leaks": 0, "blocks": 0, "bytes": 0}
    findings = [0] * len(report["suppressions"])
    for what in ("errors", "leaks"):
        for x in report[what]:
            if ("suppressed_by" in x) != (x["status"] == "suppressed"):
                printed.append(f"{x['id']} is {x['status']}")
            if "suppressed_by" not in x:
                continue
            findings[x["suppressed_by"]] += 1
            hidden[what] += 1
            hidden["blocks"] += x.get("blocks", 0)
            hidden["bytes"] += x["bytes"] if what == "leaks" else 0
    hidden["rules"] = sum(n > 0 for n in findings)
    if hidden != report["summary"]["suppressed"]:
        printed.append(f"what is suppressed adds up to {hidden}")
    away = [(what, x) for what in ("errors", "leaks") for x in report[what] if x["status"] == "filtered"]
    filtered = {"errors": 0, "leaks": 0, "blocks": 0, "bytes": 0}
    for what, x in away:
        filtered[what] += 1
        filtered["blocks"] += x.get("blocks", 0)
        filtered["bytes"] += x["bytes"] if what == "leaks" else 0
    if filtered != report["summary"].get("filtered", filtered if not away else None):
        printed.append(f"what is filtered adds up to {filtered}")
    for rule, n in zip(report["suppressions"], findings):
        if n and rule["findings"] != n:
            printed.append(f"{rule['name']} hides {n} findings, not {rule['findings']}")
    return printed


def sums(report):
    printed = []
    lasting = [p for p in report["processes"] if p["exit"]["how"] != "exec"]
    for what in ("bytes", "blocks"):
        whole = report["summary"][what]["biu"]
        for name, parts in (("records", report["records"]), ("processes", lasting)):
            if sum(x[what] for x in parts) != whole:
                printed.append(f"{what} of {name} do not add up to {whole}")
    for what in ("allocs", "frees"):
        if sum(p[what] for p in report["processes"]) != report["summary"][what]:
            printed.append(f"{what} of processes do not add up")
    for code, places in report["summary"]["error_places"].items():
        reported = [e["count"] for e in shown(report["errors"]) if e["rtc"] == code]
        if len(reported) != places:
            printed.append(f"{len(reported)} errors are {code}, not {places}")
        if sum(reported) > report["summary"]["errors"][code]:
            printed.append(f"errors of {code} add up to more than {report['summary']['errors'][code]}")
    if [e["time"] for e in report["errors"]] != sorted(e["time"] for e in report["errors"]):
        printed.append("errors are not in the order of time")
    for what in ("bytes", "blocks"):
        for code in ("mel", "aib", "air"):
            leaked = sum(x[what] for x in shown(report["leaks"]) if x["rtc"] == code)
            if leaked != report["summary"][what].get(code, 0):
                printed.append(f"{what} of leaks do not add up to those of {code}")
    known = any(p["leak_check"] == "found" for p in report["processes"])
    if known != ("mel" in report["summary"]["bytes"]) or known != ("leaks" in report["cost"]["self"]):
        printed.append("leaks are said to be known, or not")
    sizes = [(-r["bytes"], -r["blocks"]) for r in report["records"]]
    if sizes != sorted(sizes):
        printed.append("records are not sorted")
    return printed


def complaints(report):
    return schema_complaints(report) or dangling(report) + sums(report) + suppressions(report)


def main(paths):
    bad = 0
    for path in paths:
        with open(path, encoding="utf-8") as f:
            printed = complaints(json.load(f))
        bad += bool(printed)
        for line in printed:
            print(f"{path}: {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
