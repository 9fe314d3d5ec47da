"""Medians and ratios of what `ci/bench/run` gathered in the folder given."""

import json
import pathlib
import statistics
import sys

PHASES = "booted metadata described configured kubelet-started authenticated registered certified ready".split()


def events(folder, pattern="*.ndjson"):
    for file in sorted(folder.glob(pattern)):
        yield [json.loads(line) for line in file.read_text().splitlines() if line.startswith("{")]


def passed(event):
    verdict = event["verdict"]
    if verdict["outcome"]["outcome"] != "passed":
        sys.exit(f"{event['scenario']} did not pass: {verdict}")
    return verdict["phases"]


def imported(folder):
    """The trivial script on an imported root file system, compared with the built-in image of the same files."""
    ready = {}
    for run in events(folder, "*.pair"):
        for event in run:
            if event["event"] == "scenario-finished":
                ready.setdefault(event["name"].split(",")[0], []).append(passed(event)["ready"])
    ratio = statistics.median(ready["imported"]) / statistics.median(ready["trivial"])
    print(f"imported root file system to built-in image, ready: {ratio:.2f} (wanted: at most 1.10)")


def main(folder):
    joins, starts, first, added = {}, [], [], []
    for run in events(folder):
        finished = [event for event in run if event["event"] == "scenario-finished"]
        for event in finished:
            joins.setdefault(event["name"].split(",")[0], []).append(passed(event))
        starts += [event for event in run if event["event"] == "control-plane-ready"]
        first.append(finished[0]["seconds"])
        added.append(finished[1]["seconds"])
    for name, phases in joins.items():
        print(f"{name}: seconds after the start of the node, medians of {len(phases)}")
        for phase in PHASES:
            times = [row[phase] / 1000 for row in phases if phase in row]
            if times:
                print(f"  {phase:<17}{statistics.median(times):6.2f}")
    for phase in ("kubelet-started", "registered", "ready"):
        medians = {name: statistics.median(row[phase] for row in rows) for name, rows in joins.items()}
        print(f"trivial script to floor, {phase}: {medians['trivial'] / medians['floor']:.2f}")
    parts = {name: statistics.median(start["parts"][name] for start in starts) for name in starts[0]["parts"]}
    total = statistics.median(start["seconds"] for start in starts)
    programs = sum(seconds for name, seconds in parts.items() if "kube-" in name)
    print(f"control plane to its programs' own time: {total / programs:.2f} ({total:.2f} s)")
    for name, seconds in parts.items():
        print(f"  {name:<36}{seconds:6.2f}")
    print(f"first scenario of a run {statistics.median(first):.1f} s, the second adds {statistics.median(added):.1f} s")
    imported(folder)
    images = [float(file.read_text().split()[-1]) for file in folder.glob("images.*")]
    print(f"images with unchanged inputs {statistics.median(images):.2f} s")


main(pathlib.Path(sys.argv[1]))
