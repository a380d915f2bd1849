"""checks.py - shared by the drivers of this folder."""


def must(condition, *printed):
    if not condition:
        raise AssertionError(" ".join(map(str, printed)))


def write(name, text):
    with open(name, "w") as f:
        f.write(text)
    return name
