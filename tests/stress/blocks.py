#!/usr/bin/env python3
"""blocks.py - code blocks of the documents and man pages, for tests that run them.

    blocks.py DOCUMENT WORDS        prints the block of DOCUMENT that has WORDS in it, or in the paragraph before it

A test that runs a block calls block("DOCUMENT", "WORDS") with literal arguments, or this program if it is a shell
script.  project/code_blocks finds these calls, and handles the blocks that no test takes.
"""
import difflib
import os
import re
import sys

SOURCE = os.environ.get("RTC_SOURCE") or os.path.abspath(__file__ + "/../../..")


class Block:
    """Code of a document: `kind` is the word behind the fence, `before` the text since the block or heading before."""

    def __init__(self, document, line, kind, text, before):
        self.document, self.line, self.kind, self.text, self.before = document, line, kind, text, before

    def __str__(self):
        return f"{self.document}:{self.line}"


def read(document):
    """The text of a file of the checkout, or of any file by its absolute path."""
    with open(os.path.join(SOURCE, document)) as f:
        return f.read()


def blocks(document):
    """Fenced and indented blocks of Markdown."""
    found, code, before, fence, empty, listed = [], [], [], None, True, False
    for number, line in enumerate(read(document).split("\n") + [""], 1):
        mark = re.match(r"( *)(```+|~~~+) *(\S*)", line)
        indented = fence is None and re.match(r"    +\S", line) and (empty or fence == "") and not listed
        if fence and mark and mark[2].startswith(fence) and not mark[3]:
            found.append(Block(document, start, kind, "".join(code), "\n".join(before)))
            code, before, fence = [], [], None
        elif fence:
            code.append(line.removeprefix(indent) + "\n")
        elif mark:
            indent, fence, kind, start = mark[1], mark[2], mark[3], number
        elif indented or code and line.startswith("    "):
            start, code = (number if not code else start), code + [line[4:] + "\n"]
        else:
            if code:
                found.append(Block(document, start, "", "".join(code), "\n".join(before)))
                code, before = [], []
            before = [] if line.startswith("#") else before + [line]
            listed = bool(re.match(r" *([-*]|\d+\.) ", line)) or listed and (not line or line.startswith(" "))
        empty = not line.strip()
    if fence:
        raise ValueError(f"{document}:{start}: a block without an end")
    return found


def block(document, words):
    """The text of the one block that has these words in it, or in the paragraph before it."""
    found = [b for b in blocks(document) if words in b.text or words in b.before.strip().rpartition("\n\n")[2]]
    if len(found) != 1:
        raise ValueError(f"{document}: {len(found)} blocks have {words!r}")
    return found[0].text


def spans(document):
    """Code within sentences, each with its line."""
    text = re.sub(r"^( *)(```+|~~~+).*?^\1\2", lambda m: re.sub(r"[^\n]", "", m[0]), read(document), flags=re.M | re.S)
    return [(text.count("\n", 0, m.start()) + 1, " ".join(m[1].split())) for m in re.finditer(r"`([^`]+)`", text)]


def plain(roff):
    """The text of a line of roff."""
    return re.sub(r"\\f[A-Z]|\\&", "", roff).replace("\\-", "-").replace("\\e", "\\")


def page_blocks(page):
    """.nf and .EX of a man page; `before` is the heading."""
    found, code, heading = [], None, ""
    for number, line in enumerate(read(page).split("\n"), 1):
        if line in (".fi", ".EE"):
            found.append(Block(page, start, "", "".join(code), heading))
            code = None
        elif code is not None:
            code.append(plain(line) + "\n")
        elif line in (".nf", ".EX"):
            start, code = number, []
        elif line.startswith((".SH ", ".SS ")):
            heading = line[4:].strip('"')
    if code is not None:
        raise ValueError(f"{page}:{start}: a block without an end")
    return found


def commands(text):
    """The commands of a block, one each, with continued lines."""
    return [c for c in re.sub(r"\\\n\s*", " ", text).splitlines() if c.strip() and not c.lstrip().startswith("#")]


def session(text):
    """[command, output] of a block that shows `$ command` and its output."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.M)
    return parts[0], list(zip(parts[1::2], parts[2::2]))


def differences(shown, output, normal=lambda line: line):
    """The differences of the output shown from the program's, without lines for which `...` is shown; '' if none."""
    shown, lines = ([normal(line.rstrip()) for line in text.rstrip("\n").split("\n")] for text in (shown, output))
    pattern = "".join("(?:.*\n)*" if line.strip() == "..." else re.escape(line) + "\n" for line in shown)
    if re.fullmatch(pattern, "".join(line + "\n" for line in lines)):
        return ""
    return "\n".join(difflib.unified_diff(shown, lines, "shown", "printed", lineterm=""))


if __name__ == "__main__":
    sys.stdout.write(block(*sys.argv[1:]))
