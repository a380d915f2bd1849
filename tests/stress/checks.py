"""checks.py - check() compares two values and prints a failure; the script continues, and end() sets its exit status."""
import difflib
import sys

_failed = False


def _difference(got, wanted):
    """What is printed: of lists the first element that differs, of texts the lines."""
    if isinstance(got, list) and isinstance(wanted, list) and len(got) == len(wanted):
        got, wanted = next(pair for pair in zip(got, wanted) if pair[0] != pair[1])
    if isinstance(got, str) and isinstance(wanted, str) and "\n" in got + wanted:
        return "\n" + "\n".join(difflib.unified_diff(wanted.splitlines(), got.splitlines(), "wanted", "got", lineterm=""))
    return f"\n  got    {got}\n  wanted {wanted}"


def check(what, got, wanted):
    global _failed
    if got != wanted:
        _failed = True
        print(f"FAIL {what}:{_difference(got, wanted)}")


def end():
    sys.exit(_failed)
