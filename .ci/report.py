"""Summarises what make and go test -json print, from standard input: prints every line that
is not of go test, one line for each package and for each slow test, and at the end the
slowest tests, the skipped ones, and the output of those that failed."""
import collections
import json
import signal
import sys

SLOW = 10  # seconds from which a test gets a line of its own
SLOWEST = 20  # number of tests in the table
HEAD, TAIL = 100, 200  # lines that are printed of a failed test's output

output = collections.defaultdict(list)  # by package and test; of a package as such, the test is ""
seconds = {}  # by package and test
skipped = []
failed = []  # (name, output)


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def fail(name, lines):
    if len(lines) > HEAD + TAIL:
        lines = [*lines[:HEAD], f"… {len(lines) - HEAD - TAIL} lines omitted …\n", *lines[-TAIL:]]
    failed.append((name, "".join(lines)))


def handle(event):
    action, text = event["Action"], event.get("Output", "")
    package, test = event.get("Package", ""), event.get("Test", "")
    if action == "build-output":
        show(text)
    elif action == "output":
        output[package, test].append(text)
    elif action in ("pass", "fail", "skip"):
        end(action, package, test, event)


def end(action, package, test, event):
    lines, took = output.pop((package, test), []), event.get("Elapsed", 0)
    if action == "fail":
        fail(f"{package} {test}", ["it did not build: see above\n"] if "FailedBuild" in event else lines)
    if test:
        seconds[package, test] = took
        if action == "skip":
            skipped.append(f"{package} {test}")
        if took >= SLOW and "/" not in test:
            show(f"      {package} {test}: {action} after {took:.0f} s\n")
    elif action != "skip":  # it has test files
        show(f"{'ok  ' if action == 'pass' else 'FAIL'}  {package}  {took:.1f} s\n")


def slowest():
    """Returns tests, without subtests that take most of the time of the test around them."""
    for (package, test), took in sorted(seconds.items(), key=lambda item: -item[1]):
        if seconds.get((package, test.rpartition("/")[0]), 0) < 0.8 * took:
            yield took, package, test


for stop in (signal.SIGINT, signal.SIGTERM):
    signal.signal(stop, signal.SIG_IGN)  # the input ends then
for stream in (sys.stdin, sys.stdout):
    stream.reconfigure(encoding="utf-8", errors="replace")

for line in sys.stdin:
    try:
        event = json.loads(line) if line.startswith('{"') else None
    except ValueError:
        event = None
    if isinstance(event, dict) and "Action" in event:
        handle(event)
    else:
        show(line)

for (package, test), lines in output.items():
    if test:
        fail(f"{package} {test}, which did not end", lines)
if seconds:
    show(f"\nThe {SLOWEST} slowest of {len(seconds)} tests:\n")
    for (took, package, test), _ in zip(slowest(), range(SLOWEST)):
        show(f"{took:8.1f} s  {package}  {test}\n")
if skipped:
    show("\nSkipped:\n" + "".join(f"  {name}\n" for name in skipped))
for name, text in failed:
    show(f"\nFailed: {name}\n{text}")
