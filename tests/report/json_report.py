#!/usr/bin/env python3
"""The output of `rtcheck report --json` for generated run files, by the schema and in detail."""
# rtc-test: report/json_report ci 60
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from made_runs import BUILD, SOURCE, WHY_NO_SHARE, check, main, make, must, report_of, rtcheck


def codes(row, kind=""):
    table = (SOURCE / "include/format/findings.def").read_text()
    return re.findall(r'^%s\([^"]*%s[^"]*"([^"]+)"' % (row, kind), table, re.MULTILINE)


@check
def json_report():
    report = report_of(rtcheck("report", "--json=run.json", make("run.pool")), "run.json")
    must([p["n"] for p in report["processes"]] == [1, 2, 3, 4])
    none = dict.fromkeys(codes("ERROR", "(?:PROBLEM|WARNING)"), 0)
    must(report["summary"] == {"processes": 3, "allocs": 50, "frees": 39,
                               "errors": none | {"baf": 3, "duf": 2, "maf": 1, "mis": 1, "wua": 1, "oom": 1},
                               "error_places": none | dict.fromkeys(("baf", "duf", "maf", "mis", "wua", "oom"), 1),
                               "errors_unrecorded": 0, "peak_bytes": 123456,
                               "bytes": {"biu": 100113}, "blocks": {"biu": 9},
                               "suppressed": {"errors": 0, "leaks": 0, "blocks": 0, "bytes": 0, "rules": 0}},
         report["summary"])
    root, child, old, new = report["processes"]
    must(root["exit"] == {"how": "exit", "status": 3} and root["complete"] and root["checked"])
    must(child["how"] == "fork" and child["parent"] == 1 and child["bytes"] == 29)
    must(old["exit"] == {"how": "exec"} and old["bytes"] == 50)
    must(new["argv"] == ["ls", '--"q"', "\x1b\ufffd"] and new["argc"] == 3, new["argv"])
    frames = {f["id"]: f for f in report["frames"]}
    modules = {m["id"]: m for m in report["modules"]}
    stacks = {s["id"]: s for s in report["stacks"]}
    largest = report["records"][0]
    inner, outer = (frames[f] for f in stacks[largest["stack"]]["frames"])
    must(largest["bytes"] == 100000 and largest["process"] == [1] and largest["rtc"] == "biu")
    must(modules[inner["module"]]["path"] == "/opt/demo/libé.so" and inner["offset"] == "0x2020")
    must(modules[outer["module"]]["build_id"] == "".join("%02x" % (i * 7) for i in range(20)))
    must(report["records"][1]["process"] == [1, 2, 4], report["records"][1])
    double, bad = report["errors"][:2]
    must(double["rtc"] == "duf" and double["process"] == [1, 2] and double["count"] == 2, double)
    must(double["near"] == {"addr": "0x700000010040", "size": 40, "state": "freed", "family": "malloc", "offset": 0,
                            "thread": {"number": 1, "tid": 101, "main": False, "name": ""}}, double["near"])
    must(double["stack"] == double["free_stack"] != double["alloc_stack"], double)
    must(bad["entry"] == "operator delete" and bad["region"]["what"] == "module", bad)
    must(modules[bad["region"]["module"]]["path"] == "/opt/demo/prog" and bad["region"]["offset"] == "0xc010", bad)
    written = next(e for e in report["errors"] if e["rtc"] == "wua")
    must(written["damage"] == {"where": "behind", "found": "616263"} and written["bytes"] == 3, written)
    must(written["near"]["offset"] == 16 and "stack" not in written, written)
    classes = {e["rtc"]: e["class"] for e in report["errors"]}
    must(classes["oom"] == "warning" and classes["foreign"] == "note" and classes["mis"] == "error", classes)
    must(report["cost"]["processes"] == 3 and report["cost"]["self"] == {"metadata_bytes": 98304, "share": None, "share_why": WHY_NO_SHARE,
                                                                       "blocks_in_use": {"blocks": 9, "record_bytes": 144, "around_bytes": 381}},
         report["cost"])
    must(report["cost"]["counters"]["task_clock_ns"] ==
         {"value": 12345678, "source": "clock_gettime", "processes": 1}, report["cost"])
    must(report["run"]["complete"] and report["run"]["start"] == "2023-11-14T22:13:20.000000000Z")


@check
def schema_names_all_findings():
    schema = json.loads((BUILD / "share/rtcheck/report.schema.json").read_text())["$defs"]
    for row, where in ("ERROR", "error"), ("LEAK", "leak"):
        listed = schema[where]["properties"]["rtc"]["enum"]
        must(codes(row) == listed and listed, where, codes(row), listed)


@check
def json_of_odd_errors():
    report = report_of(rtcheck("report", "--json=run.json", make("run.pool", "odd")), "run.json")
    written = next(e for e in report["errors"] if e["rtc"] == "wua")
    must(written["near"]["before"] == 8 and "offset" not in written["near"], written)
    must(written["damage"]["where"] == "before", written)
    frames = {f["id"]: f for f in report["frames"]}
    stacks = {s["id"]: s for s in report["stacks"]}
    free = [stacks[e["free_stack"]]["frames"] for e in report["errors"] if "free_stack" in e]
    must(["0x3030"] in [[frames[f]["offset"] for f in stack] for stack in free], free)


@check
def json_of_leaks():
    report = report_of(rtcheck("report", "--show-leak-kinds=all", "--json=run.json",
                               make("run.pool", "leaks")), "run.json")
    leaks = report["leaks"]
    must([x["class"] for x in leaks] == ["definite", "definite", "indirect", "register", "interior", "behind"]
         + 3 * ["reachable"], leaks)
    must(leaks[0]["behind"] == {"bytes": 26, "blocks": 2} and leaks[0]["new"] == {"bytes": 20, "blocks": 2}, leaks[0])
    must(leaks[1]["first"]["circle"] and not leaks[0]["first"]["circle"], leaks[:2])
    witness = {x["class"]: x["witness"] for x in leaks}
    must(witness["interior"]["type"] == "mapped" and witness["interior"]["inside"] == 4, witness)
    must(witness["indirect"]["block"]["offset"] == 8 and witness["indirect"]["block"]["size"] == 10, witness)
    must(witness["register"]["register"] == 3 and witness["register"]["thread"]["number"] == 1, witness)
    must(witness["behind"]["type"] == "unknown" and "start" not in witness["behind"], witness)
    held = {x["witness"]["type"]: x for x in leaks if x["class"] == "reachable"}
    must("function" in held["stack"]["witness"] and held["module"]["witness"]["offset"] == "0x2008", held)
    must("stack" not in held["rule"], held)
    must([p["leak_check"] for p in report["processes"][:3]] == ["found", "busy", "not_asked"])
    must(report["processes"][0]["threads_unheard"] == 0)
    must(report["cost"]["self"]["leaks"] ==
         {"processes": 1, "ns": 3100000, "source": "clock_gettime", "root_bytes": 1 << 20, "root_bytes_skipped": 4096}, report["cost"])
    must(report["summary"]["bytes"]["mel"] == 20 + 22 + 26, report["summary"])
    usual = report_of(rtcheck("report", "--json=run.json", "run.pool"), "run.json")["leaks"]
    must(usual == [x for x in leaks if x["class"] != "reachable"], usual)  # blocks in use are in records


@check
def json_of_lost_features():
    report = report_of(rtcheck("report", "--json=run.json", make("run.pool", "lost=0x10000000022")), "run.json")
    root, child = report["processes"][:2]
    must(root["lost_features"] == "0x0" and root["lost_feature_names"] == [], root)
    must(child["lost_features"] == "0x10000000022", child)
    must(child["lost_feature_names"] == ["wipeonfork", "hugepage"], child)


@check
def json_of_damage():
    report = report_of(rtcheck("report", "--json=run.json", make("run.pool", "damaged", "open")), "run.json")
    must(not report["run"]["complete"])
    must([(d["area"], d["process"]) for d in report["run"]["damaged"]] == [(2, 2)], report["run"])
    must(report["processes"][0]["exit"] == {"how": "killed"} and not report["processes"][0]["complete"])


@check
def json_into_a_pipe():
    done = rtcheck("report", "--json=/dev/stdout", "--log-file=/dev/null", make("run.pool"))
    must(json.loads(done.stdout)["schema"] == "rtcheck-report/1")


@check
def json_replaces():
    pathlib.Path("run.json").write_text("old")
    report_of(rtcheck("report", "--json=run.json", make("run.pool")), "run.json")
    before = set(os.listdir("."))
    done = rtcheck("report", "--json=no/such/place", make("run.pool"))
    must(done.returncode == 125 and "no/such/place cannot be written" in done.stderr, done.stderr)
    must(set(os.listdir(".")) == before)


if __name__ == "__main__":
    sys.exit(main())
