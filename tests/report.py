"""Reads CTest's JUnit file; prints how many tests passed, and which were skipped and why."""
import re
import sys
import xml.etree.ElementTree as xml


def reason(case):
    """What the test says of it (GoogleTest: the line after "file:line: Skipped"), else CTest's own word."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines()]
    for line, following in zip(lines, lines[1:] + [""]):
        if line.endswith(": Skipped"):
            return following or line
        if re.search(r"skip", line, re.IGNORECASE) and not line.startswith("["):
            return line
    told = [line for line in lines if line and not re.match(r"\[|Running main|Note:", line)]
    return told[-1] if told else (case.find("skipped").get("message") or "no reason given")


cases = xml.parse(sys.argv[1]).getroot().findall("testcase")
skipped = [case for case in cases if case.find("skipped") is not None]
failed = [case for case in cases if case.find("failure") is not None]
for case in sorted(skipped, key=lambda case: case.get("name")):
    print(f"skipped  {case.get('name')}: {re.sub('^skipped: *', '', reason(case), flags=re.IGNORECASE)}")
for case in failed:
    print(f"FAILED   {case.get('name')}")
print(f"{len(cases) - len(skipped) - len(failed)} tests passed, {len(skipped)} skipped, {len(failed)} failed")
