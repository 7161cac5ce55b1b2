"""Reads what make and go test -json print, from standard input, and prints what a reader
needs: every line that is not of go test, one line for each package, the output of the tests
that fail and, at the end, a table of the slowest tests and a list of the failed ones."""
import collections
import json
import sys

slowest_shown = 20
lines_of_a_failure = 100
output = collections.defaultdict(list)  # by package and test; of a package as such, the test is ""
seconds = []  # (seconds, package, test)
failed = []  # (package, test, the end of its output)


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def handle(event):
    action = event.get("Action")
    if action == "build-output":
        show(event["Output"])
        return
    package, test = event.get("Package", ""), event.get("Test", "")
    key = package, test
    if action == "output":
        output[key].append(event["Output"])
    elif action in ("pass", "fail", "skip"):
        took = event.get("Elapsed", 0)
        if action == "fail":
            failed.append((package, test, "".join(output[key][-lines_of_a_failure:])))
        if test:
            seconds.append((took, package, test))
        elif "[no test files]" not in "".join(output[key]):
            show(f"{'ok  ' if action != 'fail' else 'FAIL'}  {package}  {took:.1f} s\n")
        output.pop(key, None)


for line in sys.stdin:
    try:
        event = json.loads(line) if line.startswith("{") else None
    except ValueError:
        event = None
    if isinstance(event, dict) and "Action" in event:
        handle(event)
    else:
        show(line)

for (package, test), lines in output.items():  # of processes that ended within a test
    failed.append((package, f"{test or 'the package'}, which did not finish", "".join(lines[-lines_of_a_failure:])))
if seconds:
    show(f"\nThe {slowest_shown} slowest of {len(seconds)} tests:\n")
    for took, package, test in sorted(seconds, reverse=True)[:slowest_shown]:
        show(f"{took:8.1f} s  {package}  {test}\n")
for package, test, text in failed:
    show(f"\nFailed: {package} {test or 'as a package'}\n{text}")
