"""The text of a report, word for word, with placeholders for values that differ between runs; and the
expected text for the cells of a table: NAME.wording, for builds by gcc.

NAME.wording has templates.  A line "@TITLE PATTERN" begins a template, the lines up to the next are its text.
Of templates with one title the first is used that has a pattern (or several, with | between) that matches the
cell: its name and the function at which it was found, as in "free, baf, small, free".  {finding} is the whole
text for a cell.  In a text {TITLE} is another template, or a value of the cell (words_of); {@TAG} is the
number of the line with that tag.
"""
import collections
import fnmatch
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("RTC_BUILD") or os.path.dirname(os.path.dirname(HERE)) + "/build"
HOLES = [(r"(\S+ +)?(\S+ +)?libc\.so\.6\S* +\(signal\)", "libc  (signal)"), (r" *(\S.* )?libc\.so\.6.*\n", ""),
         (r"0x[0-9a-f]{5,}", "<hex>"), (r"\(pid \d+\)", "(pid <n>)"),
         (r"\d+ allocations, \d+ frees", "<n> allocations, <n> frees"), (re.escape(BUILD), "<build>"),
         (r"mapped at <hex>-<hex> \([^)]*\)", "mapped at <hex>-<hex>")]
TITLES = [("DOUBLE FREE of", "double free of"), ("INVALID FREE of", "free of"), ("BAD WRITE to", "write to"),
          ("CRASH SIG", "SIG"), ("REALLOC WITH SIZE 0 of", "realloc with size 0 of")]
FREES = "free cfree free_sized free_aligned_sized realloc reallocarray".split()
INDENT = 18 * " "


def report_of(pool, *options, columns="1000"):
    """The report of a run file; columns "": as in a log."""
    done = subprocess.run([BUILD + "/bin/rtcheck", "report", "--all", *options, pool], capture_output=True,
                          text=True, check=False, timeout=60, env=dict(os.environ, COLUMNS=columns))
    printed = done.stdout + done.stderr
    for what, hole in HOLES:
        printed = re.sub(what, hole, printed)
    return printed


def sentence_of(head):
    """The sentence of a finding without the title in capitals."""
    for title, sentence in TITLES:
        if head.startswith(title):
            return sentence + head[len(title):]
    return re.sub(r"^[A-Z0 ]+: ", "", head)


def label_of(label, kind, before):
    """second free() -> freed again; malloc() -> allocated: the part that the function has in the finding."""
    name = label.rstrip("()")
    if label.startswith(("second ", "first ")):
        return {"second": "freed again", "first": "first freed"}[label.split()[0]]
    if label in ("bytes found", "detected at", "queried", "crashed", "allocated", "freed"):
        return label
    if name == "malloc_usable_size":
        return "queried"
    if not before and kind != "wua":
        return "freed" if kind == "mis" and not name.startswith("realloc") else "called from"
    if name in FREES or name.startswith("operator delete"):
        return "first freed" if kind == "duf" else "freed"
    return "allocated"


def with_callers(rows):
    """The rows with the lines that "(callers as above)" stands for: those after the last function before it."""
    result, before, stack = [], [], []
    for label, line in rows:
        if label:
            before, stack = stack, []
        lines = [line]
        if line == "(callers as above)":
            same = [i for i, other in enumerate(before) if other.split("  ")[0] == stack[-1].split("  ")[0]]
            lines = before[same[0] + 1 if same else 1:]
        stack += lines
        result += [(label if i == 0 else "", line) for i, line in enumerate(lines)]
    return result


def all_findings(printed):
    """The findings of a report in the layout of the templates: a line with id and sentence, then the rows."""
    found = []
    for head, name, rows in re.findall(r"^\d+ +([A-Z].*?) +([a-z]{3}-[0-9a-f]{8}(?:\.\d+)?)\n((?:   .*\n)*)", printed, re.M):
        rows = [re.match(r"   (\S.*?)?(?:  +|$)(\S.*)?$", row).groups("") for row in rows.splitlines()]
        lines, labels = [], 0
        for label, line in with_callers(rows):
            text = label_of(label, name[:3], labels) if label else ""
            labels += bool(label) and label != "bytes found"
            lines.append("     %-13s%s" % (text, re.sub(r"  +", "  ", line)))
        found.append("\n".join([" %s  %s" % (name, sentence_of(head)), *lines]))
    return found


def findings_of(printed):
    """Number of a cell -> its finding.  The id of a finding is the hash of names that are all compared."""
    found = {}
    for finding in all_findings(printed):
        cell = re.search(r"commit<(\d+)u>", finding)
        if cell:
            found[int(cell[1])] = re.sub(r"^ (...)-[0-9a-f]{8}", r" \1-<id>", finding)
    return found


def tags_of(text):
    """Tag -> numbers of the lines with the tag: "@maf.call", or for the lines of a function for one kind of
    entry or maker: end.FREE."""
    tags, function = collections.defaultdict(set), ""
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"template <.*> INLINE .*?(\w+)\(", line)
        function = head[1] if head else function
        for tag in re.findall(r"@([a-z]+\.[a-z]+)", line):
            tags[tag].add(number)
        for kind in re.findall(r"\b[EM] == (\w+)", line) if "if constexpr" in line else ():
            tags[function + "." + kind].add(number)
    return tags


def templates_of(text):
    """Title -> [(patterns, body)], without headings."""
    templates = collections.defaultdict(list)
    parts = re.split(r"^@([a-z ]+?) ([*\d].*)\n", re.sub(r"\n*^----.*\n", "", text, flags=re.M), flags=re.M)
    for title, patterns, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        templates[title].append((patterns.replace("[", "[[]").split("|"), body.rstrip("\n")))
    return templates


def read(name):
    with open(HERE + "/" + name, encoding="utf-8") as text:
        return text.read()


class Book:
    """The expected texts of one table."""

    def __init__(self, name):
        source = read(name + ".cc")
        self.templates = templates_of(read(name + ".wording"))
        self.tags = dict(tags_of(source), **tags_of(read("cells.cc")), **tags_of(read("cells.h")))
        self.entries = re.findall(r'^    X\((\w+), "(.*?)"', source, re.M)
        lists = [re.search(r"(?s)%s \{\s*(.*?)\s*\};" % head, source)
                 for head in ("enum place", "enum maker", r"families\[\] =")]
        self.places, self.makers, self.families = (re.split(r",\s+", found[1].replace('"', "")) if found else []
                                                   for found in lists)

    def words_of(self, cell):
        """The cell's values.  The compiler writes its entry, place and maker as numbers."""
        words = dict(cell._asdict(), **dict(zip(("about", "which", "what"), cell.name.split(", "))))
        if self.entries:
            ids, names = zip(*self.entries)
            entry, maker = names.index(words["about"]), self.families.index(cell.family)
            words.update(E=entry, ENTRY=ids[entry], M=maker, MAKER=self.makers[maker],
                         P=cell.number % self.places.index("PLACE_COUNT"))
        return words

    def look_up(self, title, key, words):
        if title.startswith("@"):
            return "/".join(map(str, sorted(self.tags.get(title[1:], ["no line"]))))
        for patterns, body in self.templates[title]:
            if any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns):
                return body
        return str(words.get(title, "nothing about " + title))

    def expected(self, cell, entry):
        """The expected text for a cell that was found at this entry."""
        key, words, text = cell.name + ", " + entry, self.words_of(cell), "{finding}"
        while "{" in text:
            text = re.sub(r"\{([^{}]*)\}", lambda m: self.look_up(m[1], key, words), text)
        return text
