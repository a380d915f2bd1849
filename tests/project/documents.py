#!/usr/bin/python3
# rtc-test: project/documents ci 60
"""README.md is short, links between the documents lead to files and headings, and sentences are short and in the field's words.

Options in commands of rtcheck, and alone in code (`--json`), exist.  Sentences of README.md, docs/ and the other documents: at
most 25 words, on average at most 15.  Code is left out; the parts of a sentence after a colon or a semicolon count as sentences.
Cells of tables may be longer, but have the field's words, too.  json.md has every field of the schema; accesses.md has every function that is checked, and a real report.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["RTC_SOURCE"])
JSON = SOURCE / "report/formats/json.md"
OTHERS = [SOURCE / name for name in ("CHANGELOG.md", "SECURITY.md", "tests/README.md")]
DOCUMENTS = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md")), JSON, *OTHERS]
LINES, WORDS, AVERAGE = 150, 25, 15
PERSON = re.compile(r"\b(tells?|told|says?|said|speaks?|spoken?|go(es)? on|going on|went on|stands?|stood|nobody|whoever|"
                    r"knew|hears?|heard|minds?|asks?|asked|wants|believes?|wishes)\b", re.IGNORECASE)
LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")
QUESTIONS, QUESTIONS_LEAST = SOURCE / "docs/questions.md", 30
VERBS = ("run", "report", "show", "suppress add", "list", "pack", "events", "stat", "check", "dump", "selftest", "translate", "plans")
COMMAND = re.compile(r"^(?:\$ |- run: | *- )?(rtcheck(?:-valgrind)? .*)$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
wrong = []


def options():
    """All options that a help text of rtcheck lists."""
    command = pathlib.Path(os.environ["RTC_BUILD"]) / "bin/rtcheck"
    words = [[*verb.split(), "--help=all"] for verb in VERBS] + [["--help=valgrind"]]
    texts = [subprocess.run([command, *w], capture_output=True, text=True, check=True, timeout=60).stdout for w in words]
    return {name for text in texts for name in re.findall(r"^  --([a-z][a-z0-9-]+)", text, re.MULTILINE)}


def options_used(text):
    used = {name for command in COMMAND.findall(text) for name in OPTION.findall(command.split(" -- ")[0])}
    return used | {name for code in re.findall(r"`(--[^`\n]*)`", text) for name in OPTION.findall(code)}


def sentences(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for part in re.split(r"\n\s*\n|\n(?=- |\d+\. |\||#)", text):
        part = part.strip()
        if not part or part[0] in "#|":
            continue
        part = re.sub(r"`[^`]*`", "X", part.removeprefix("- "))
        part = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part).split())
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z*(])|[:;]\s+", part)


def rows(text):
    """Rows of tables, without code and links."""
    for row in re.findall(r"^\|.*", text, re.MULTILINE):
        yield re.sub(r"`[^`]*`", "X", re.sub(r"\]\([^)]*\)", "]", row))


def words(sentence):
    return len(re.findall(r"[\w'./-]*\w[\w'./-]*", sentence))


def anchors(path):
    """The headings of a document, as links name them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def fields(schema):
    """The names of all fields of a schema."""
    if isinstance(schema, dict):
        yield from [*schema.get("properties", {}), *schema.get("required", [])]
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from fields(part)


def unanswered(text):
    """Questions without a link to the document that answers them."""
    rows = [row.split("|") for row in text.splitlines() if row.startswith("| ") and "?" in row.split("|")[1]]
    if len(rows) < QUESTIONS_LEAST:
        yield f"{len(rows)} questions"
    yield from (row[1].strip() for row in rows if len(row) != 5 or not row[2].strip() or not LINK.search(row[3]))


KNOWN = options()
counts = []
for path in DOCUMENTS:
    name, text = path.relative_to(SOURCE), path.read_text()
    for target, anchor in LINK.findall(text):
        to = path.parent / target if target else path
        if re.match(r"\w+://", target):
            continue
        if not to.exists():
            wrong.append(f"{name}: no file {target}")
        elif anchor and anchor not in anchors(to):
            wrong.append(f"{name}: no heading #{anchor} in {target}")
    if path not in OTHERS: # these name options of earlier versions and of other programs, too
        wrong += [f"{name}: no option --{option}" for option in sorted(options_used(text) - KNOWN)]
    for sentence in sentences(text):
        counts.append(words(sentence))
        if counts[-1] > WORDS:
            wrong.append(f"{name}: {counts[-1]} words: {sentence}")
        if PERSON.search(sentence):
            wrong.append(f"{name}: {PERSON.search(sentence)[0]!r}: {sentence}")
    wrong += [f"{name}: {PERSON.search(row)[0]!r}: {row}" for row in rows(text) if PERSON.search(row)]
if len(DOCUMENTS) < 10 or len(counts) < 300 or sum(counts) > AVERAGE * len(counts):
    wrong.append(f"{len(DOCUMENTS)} documents, {len(counts)} sentences, {sum(counts) / len(counts):.1f} words each")
wrong += [f"docs/questions.md: {question}" for question in unanswered(QUESTIONS.read_text())]
questions = len(re.findall(r"^\| [^|]*\?", QUESTIONS.read_text(), re.MULTILINE))
if f"{questions} questions" not in (SOURCE / "README.md").read_text():
    wrong.append(f"README.md has another number of questions than {questions}")
schema = json.loads((pathlib.Path(os.environ["RTC_BUILD"]) / "share/rtcheck/report.schema.json").read_text())
named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]*)`", JSON.read_text()))))
wrong += [f"json.md: no field {field}" for field in sorted(set(fields(schema)) - named)]
checked = set(re.findall(r"^FUNCTION\((\w+)\)", (SOURCE / "src/boundary/functions.def").read_text(), re.MULTILINE))
checked |= set(re.findall(r"^(?:CALL|INTERCEPTED)\((\w+),", (SOURCE / "src/boundary/system_calls.def").read_text(), re.MULTILINE))
checked |= {name.removeprefix("v") for name in checked if re.fullmatch(r"v\w*(printf|scanf)", name)}
checked = {name for name in checked if not re.search(r"^__|_unlocked$|(?<!getdents)64(v2)?$", name)}
table = (SOURCE / "docs/accesses.md").read_text().partition("## Functions")[2].partition("\n## ")[0]
listed = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|.*", table, re.MULTILINE))))
if checked != listed or len(checked) < 30:
    wrong.append(f"docs/accesses.md lacks {sorted(checked - listed)}, and lists {sorted(listed - checked)}")
report = (SOURCE / "examples/findings/rua.txt").read_text().strip()
if report not in (SOURCE / "docs/accesses.md").read_text():
    wrong.append("docs/accesses.md has another report than examples/findings/rua.txt")
lines = (SOURCE / "README.md").read_text().count("\n")
if lines > LINES:
    wrong.append(f"README.md has {lines} lines, more than {LINES}")
print("\n".join(wrong) or f"{len(counts)} sentences, {sum(counts) / len(counts):.1f} words each; README.md: {lines} lines")
sys.exit(bool(wrong))
