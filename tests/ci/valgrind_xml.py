#!/usr/bin/env python3
# rtc-test: ci/valgrind_xml ci 180
"""--xml=yes: the documents of rtcheck-valgrind and of valgrind are valid by one grammar, and have the same findings of one
program: kinds, figures, functions and positions of every stack, headings, suppressions; also after SIGKILL."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as tree

BIN = pathlib.Path(os.environ["RTC_BUILD"]) / "bin"
GRAMMAR = pathlib.Path(os.environ["RTC_SOURCE"]) / "tests/ci/valgrind-protocol4.dtd"
# Documented kinds of memcheck.
KINDS = set("""UninitValue UninitCondition CoreMemError InvalidRead InvalidWrite InvalidJump SyscallParam ClientCheck InvalidFree
MismatchedFree Overlap Leak_DefinitelyLost Leak_IndirectlyLost Leak_PossiblyLost Leak_StillReachable InvalidMemPool
FishyValue""".split())
PROGRAM = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
struct list { struct list *next; char more[24]; };
void *reachable;
char *inside;
void *take(size_t n) { return malloc(n); }
void give(void *p) { free(p); }
void twice(void) { void *p = take(10); give(p); give(p); }
void within(void) { char *p = take(20); give(p + 3); give(p); }
void nowhere(void) { give(&reachable); }
void mixed(void) { void *p = operator new[](9); give(p); }
void overrun(void) { char *volatile p = (char *)take(16); p[16] = 1; give(p); }
void lost(void) { struct list *p = (struct list *)take(sizeof *p); p->next = (struct list *)take(sizeof *p); p->next->next = 0; }
void possible(void) { inside = (char *)take(70) + 5; }
int main(int argc, char **argv)
{
    char spare[4096];
    memset(spare, 0, sizeof spare);
    reachable = take(100);
    twice(); within(); nowhere(); mixed(); overrun(); lost(); possible();
    memset(spare, 0, sizeof spare);
    if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    if (argc > 1 && strcmp(argv[1], "fault") == 0) *(volatile int *)8 = 1;
    return 3;
}
"""


def must(holds, *what):
    if not holds:
        print("\n  ".join(str(w) for w in what))
        sys.exit(1)


def run(tool, *words, file=None, **more):
    file = file or "%s.xml" % pathlib.Path(tool).name
    if os.path.exists(file):
        os.unlink(file)
    done = subprocess.run([tool, "--xml=yes", "--xml-file=" + file, "--leak-check=full", "--show-leak-kinds=all", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **more)
    return done, pathlib.Path(file).read_text()


def checked(text):
    """The document, valid by the grammar and with values of the documented forms."""
    done = subprocess.run(["xmllint", "--noout", "--dtdvalid", GRAMMAR, "-"], input=text, capture_output=True, text=True)
    must(done.returncode == 0, done.stderr[-3000:], text)
    top = tree.fromstring(text)
    must(top.findtext("protocolversion") == "4" and top.findtext("protocoltool") == "memcheck", text)
    must([s.text for s in top.findall("status/state")] == ["RUNNING", "FINISHED"], text)
    must(all(re.fullmatch(r"\d\d:\d\d:\d\d:\d\d\.\d{3} ?", t.text) for t in top.findall("status/time")), text)
    must({k.text for k in top.findall("error/kind")} <= KINDS, text)
    uniques = [u.text for u in top.findall("error/unique")]
    must(len(set(uniques)) == len(uniques) and all(re.fullmatch("0x[0-9a-f]+", u) for u in uniques), uniques)
    must(all(re.fullmatch("0x[0-9A-F]+", ip.text) for ip in top.iter("ip")), text)
    must({p.text for p in top.findall("errorcounts/pair/unique")} <= set(uniques), text)
    return top


def stack_of(element):
    """Frames of the program, and the function that they called."""
    frames = [(f.findtext("fn"), f.findtext("dir"), f.findtext("file"), f.findtext("line")) for f in element]
    calls = [(f[0] or "").partition("(")[0] for f in frames if not f[2]]
    return calls[:1], [f for f in frames if f[2]]


def shape(error):
    """What both tools have of an error.  Of a bad write only the block: its moment is not known to rtcheck."""
    kind = error.findtext("kind")
    items = [error.findtext("what") or (error.findtext("xwhat/leakedbytes"), error.findtext("xwhat/leakedblocks"),
                                        re.sub(r"\d+ of \d+", "N", error.findtext("xwhat/text")))]
    rest = list(error)[[e.tag for e in error].index("stack"):]
    for element in rest[1:] if kind == "InvalidWrite" else rest:
        if element.tag == "stack":
            items.append(stack_of(element))
        elif element.tag == "auxwhat" and not re.match("[a-z]{3}-[0-9a-f]{8}", element.text):
            if element.text == "Write was detected at":
                break
            # rtcheck has the variable in its sentence.
            text = re.sub("is 0 bytes inside data symbol.*", "is not stack'd, malloc'd or (recently) free'd", element.text)
            items.append(re.sub("0x[0-9a-f]+", "ADDRESS", text))
    return kind, str(items)


def jenkins(top):
    """What the parser of Jenkins' valgrind plugin takes of an error: each must be there."""
    for error in top.findall("error"):
        must(error.findtext("kind") and error.findtext("tid") and error.findtext("unique"), "kind, tid, unique")
        must(error.findtext("what") or error.findtext("xwhat/text"), "what or xwhat/text")
        must(error.find("xwhat") is None or error.findtext("xwhat/leakedbytes").isdigit(), "leakedbytes")
        must(all(frame.findtext("ip") for frame in error.findall("stack/frame")), "ip")
        must(all(f.findtext("line").isdigit() and f.findtext("file") and f.findtext("fn") for f in error.iter("frame")
                 if f.find("line") is not None), "fn, file, line")
    must(top.findtext("pid").isdigit() and top.findtext("ppid").isdigit() and top.findtext("args/argv/exe"), "pid, args")


def same_findings(program):
    done, text = run(BIN / "rtcheck-valgrind", program)
    must(done.returncode == 3 and done.stderr == "", "nothing but XML, and the program's status", done)
    own = checked(text)
    jenkins(own)
    done, text = run("valgrind", program)
    must(done.returncode == 3, done)
    memchecks = checked(text)
    must(any(t.text.startswith("baf-") and "reachable" in t.text for t in own.iter("auxwhat")), "the variable")
    a, b = (sorted(shape(e) for e in top.findall("error") if any(stack_of(s)[1] for s in e.findall("stack")))
            for top in (own, memchecks))  # without the pool of libstdc++, which memcheck frees at the end
    must(len(a) >= 9 and {k for k, _ in a} >= {"InvalidFree", "MismatchedFree", "InvalidWrite", "Leak_DefinitelyLost",
                                                "Leak_IndirectlyLost", "Leak_PossiblyLost", "Leak_StillReachable"}, a)
    must(a == b, "rtcheck's", *[x for x in a if x not in b], "memcheck's", *[x for x in b if x not in a])
    must(own.findtext("args/argv/exe") == memchecks.findtext("args/argv/exe") == program, "args/argv")
    ids = [t.text for t in own.findall("error/auxwhat") if re.match("[a-z]{3}-[0-9a-f]{8}", t.text)]
    must(len(ids) == len(own.findall("error")), "each error has its id", ids)


def suppressions(program):
    """Generated rules are complete, and hide the findings of a next run, whose document counts them."""
    _, text = run(BIN / "rtcheck-valgrind", "--gen-suppressions=all", program)
    errors = checked(text).findall("error")
    rules = ""
    for error in errors:
        given = error.find("suppression")
        must(given is not None, "no suppression", error.findtext("kind"))
        lines = given.findtext("rawtext").strip().splitlines()
        frames = [f[0].tag + ":" + f[0].text for f in given.findall("sframe")]
        middle = [given.findtext("sname"), given.findtext("skind"), *filter(None, [given.findtext("skaux")]), *frames]
        must([line.strip() for line in lines] == ["{", *middle, "}"], "rawtext has the same", lines, middle)
        rules += given.findtext("rawtext")
    pathlib.Path("rules").write_text(rules)
    _, text = run(BIN / "rtcheck-valgrind", "--suppressions=rules", program)
    top = checked(text)
    left = {e.findtext("kind") for e in top.findall("error")}
    must(left <= {"InvalidWrite"}, "rules without effect", left)
    pairs = top.findall("suppcounts/pair")
    must(len(pairs) >= 7 and all(int(p.findtext("count")) > 0 and p.findtext("name") for p in pairs), text)


def ends(program):
    """Complete after a signal, with it."""
    done, text = run(BIN / "rtcheck-valgrind", program, "kill")
    must(done.returncode == -signal.SIGKILL, done)
    kinds = [e.findtext("kind") for e in checked(text).findall("error")]
    must(kinds.count("InvalidFree") == 3 and kinds.count("MismatchedFree") == 1, kinds)
    done, text = run(BIN / "rtcheck-valgrind", program, "fault")
    must(done.returncode == -signal.SIGSEGV, done)
    top = checked(text)
    _, text = run("valgrind", program, "fault")
    memchecks = checked(text)
    for name in ("signo", "signame", "sicode", "event", "siaddr"):
        a, b = top.findtext("fatal_signal/" + name), memchecks.findtext("fatal_signal/" + name)
        must(a and a == b, "fatal_signal/" + name, a, b)
    must(stack_of(top.find("fatal_signal/stack")) == stack_of(memchecks.find("fatal_signal/stack")), "fatal_signal/stack")


def places(program):
    """File names with fields, descriptors, comments; rtcheck prints its text, too."""
    comment = "you &amp; me"
    done, text = run(BIN / "rtcheck", "--xml-user-comment=" + comment, program, file="out.xml")
    must("<usercomment>%s</usercomment>" % comment in text and "9 problems" not in text, text)
    must("DOUBLE FREE" in done.stderr, done)
    checked(text)
    subprocess.run([BIN / "rtcheck-valgrind", "--xml=yes", "--xml-file=%e-%q{HOME_OF_XML}-%p.xml", program],
                   env={**os.environ, "HOME_OF_XML": "x"}, check=False, capture_output=True)
    named, = pathlib.Path(".").glob("program-x-*.xml")
    must(named.name == "program-x-%s.xml" % checked(named.read_text()).findtext("pid"), named)
    with open("fd.xml", "w") as out:
        os.dup2(out.fileno(), 9)
        done = subprocess.run([BIN / "rtcheck", "-q", "--xml-fd=9", program, "<&>"], pass_fds=[9], capture_output=True, text=True)
        os.close(9)
    top = checked(pathlib.Path("fd.xml").read_text())
    must(top.findtext("args/argv/arg") == "<&>", "the argument")
    for words, why in ((["--xml=yes"], "option xml: where to? (--xml-file or --xml-fd)"),
                       (["--xml-fd=9"], "option xml-fd: descriptor 9 is not open")):
        done = subprocess.run([BIN / "rtcheck", *words, program], capture_output=True, text=True)
        must(done.returncode == 125 and done.stderr == "rtcheck: %s\n" % why, words, done)
    done = subprocess.run([BIN / "rtcheck", "--xml=no", "--xml-file=no.xml", program], capture_output=True, text=True)
    must(not os.path.exists("no.xml"), "--xml=no")


pathlib.Path("program.cc").write_text(PROGRAM)
subprocess.run(["g++", "-g", "-O0", "-w", "-fno-builtin", "-fpermissive", "program.cc", "-o", "program"], check=True)
same_findings("./program")
suppressions("./program")
ends("./program")
places("./program")
