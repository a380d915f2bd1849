#!/usr/bin/python3
# rtc-test: project/manual ci 120
"""Man pages, completions and --help: the same options, those of options.def; each function of an installed header has its
declaration in a page; pages are formatted without warnings, and bash completes by the generated file.  Sentences of pages are
as short as those of documents: at most 25 words, on average at most 15."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE, BUILD = pathlib.Path(os.environ["RTC_SOURCE"]), pathlib.Path(os.environ["RTC_BUILD"])
SHARE = BUILD / "share"
VERBS = {"report", "show", "pack", "suppress", "list", "events", "stat", "check", "dump", "selftest", "translate", "plans"}
OF_SHOW = {"bytes"}  # options of options.def that only `rtcheck show` has
WORDS, AVERAGE = 25, 15
FISH = "fish/vendor_completions.d/rtcheck.fish"
wrong = []


def same(what, got, want):
    if got != want:
        wrong.append(f"{what}: lacks {sorted(want - got)}, has {sorted(got - want)} too")


def output(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60, **more)
    if done.returncode:
        wrong.append(f"{words}: {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def text_of(page):
    """As a terminal of 80 columns has it."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MAN_KEEP_FORMATTING": "", "GROFF_NO_SGR": "1"}
    text, warnings = output("man", "--warnings=w", "-E", "UTF-8", "-l", "-P", "cat", str(page), env=env)
    if warnings or max(map(len, re.sub(".\b", "", text).splitlines())) > 80:
        wrong.append(f"{page.name}: {warnings or 'lines of more than 80 columns'}")
    return re.sub(".\b", "", text)


def check_sentences(pages):
    """Paragraphs of prose; parts of a sentence after a colon or a semicolon count as sentences."""
    counts = []
    for page in pages:
        body = text_of(page).partition("\nDESCRIPTION\n")[2].rpartition("\nSEE ALSO\n")[0]
        prose = [" ".join(part.split()) for part in re.split(r"\n\s*\n", body)
                 if part.startswith(" " * 7) and not re.search(r"[;{}]$|^ {9}\S.* {2}\S", part, re.M)]
        for sentence in (s for part in prose for s in re.split(r"(?<=[.!?])\)?\s+|[:;]\s+", part)):
            counts.append(len(re.findall(r"[\w'./-]*\w[\w'./-]*", sentence)))
            if counts[-1] > WORDS:
                wrong.append(f"{page.name}: {counts[-1]} words: {sentence}")
    if len(counts) < 500 or sum(counts) > AVERAGE * len(counts):
        wrong.append(f"{len(counts)} sentences, {sum(counts) / max(1, len(counts)):.1f} words each")
    print(f"{len(counts)} sentences, {sum(counts) / max(1, len(counts)):.1f} words each")


def options_of_page(text):
    return set(re.findall(r"^ {7}--([a-z0-9-]+)", text.partition("\nOPTIONS\n")[2], re.M))


def help_of(*verb):
    return set(re.findall(r"^  --([a-z0-9-]+)", output(BUILD / "bin/rtcheck", *verb, "--help=all")[0], re.M)) - {"help"}


def check_options():
    table = set(re.findall(r'^OPTION\("([^"]+)"', (SOURCE / "include/format/options.def").read_text(), re.M)) - {"help"} - OF_SHOW
    same("show --help=all", help_of("show") & OF_SHOW, OF_SHOW)
    same("--help=all", help_of(), table)
    same("rtcheck.1", options_of_page(text_of(SHARE / "man/man1/rtcheck.1")) - {"help"}, table)
    bash = (SHARE / "bash-completion/completions/rtcheck").read_text()
    same("bash", set(re.findall(r"--([a-z0-9-]+)", bash.rpartition("options='")[2].partition("'")[0])) - {"help"}, table)
    zsh = (SHARE / "zsh/site-functions/_rtcheck").read_text()
    same("zsh", set(re.findall(r"'--([a-z0-9-]+)", zsh.rpartition("    *)\n")[2])) - {"help"}, table)
    fish = (SHARE / FISH).read_text()
    same("fish", set(re.findall(r"-n 'true' -l ([a-z0-9-]+)", fish)) - {"help"}, table)
    verbs = re.findall(r"^    (\w+)\) options='(.*)' ;;$", bash, re.M)
    same("verbs of bash", {verb for verb, _ in verbs}, VERBS)
    for verb, words in verbs:
        same(f"bash, {verb}", set(re.findall(r"--([a-z0-9-]+)", words)) - {"help"}, help_of(verb))
    for verb in ("report", "stat"):
        same(f"rtcheck-{verb}.1", options_of_page(text_of(SHARE / f"man/man1/rtcheck-{verb}.1")) - {"help"},
             set(re.findall(r"^  --([a-z0-9-]+)", output(BUILD / "bin/rtcheck", verb, "--help=all")[0], re.M)) - {"help"})


def check_functions():
    """Each function that a header declares, and all text of its first comment."""
    for header in ("check", "cpc", "event", "profile"):
        source = (SOURCE / f"include/rtcheck/{header}.h").read_text()
        text = text_of(SHARE / f"man/man3/rtcheck-{header}.3")
        plain = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
        declared = set(re.findall(r"^(?:RTC_API|RTC_INLINE_) [^;{(]*?\b(rtc_\w+)\(", plain, re.M))
        shown = set(re.findall(r"\b(rtc_\w+)\(", text))
        if len(declared) < 5 or declared - shown:
            wrong.append(f"rtcheck-{header}.3: of {len(declared)} functions it lacks {sorted(declared - shown)}")
        for name in sorted(declared):
            one = rf"\b{name}\([^;{{]*?\)(?=;|\n{{)"
            in_header, in_page = (re.search(one, t) for t in (plain, text))
            if not in_page or re.findall(r"\w+", in_header[0]) != re.findall(r"\w+", in_page[0]):
                wrong.append(f"rtcheck-{header}.3: {name} is declared in other words: {in_page and in_page[0]}")
            if in_page and re.search(r"^ {12}", in_page[0], re.M):
                wrong.append(f"rtcheck-{header}.3: {name} is not broken after 4 columns")
        if "namespace" in text.partition("IGNORED")[2] or "RTC_FIND_" in text or "/*" in text.partition("DESCRIPTION")[2].partition("\n\n")[0]:
            wrong.append(f"rtcheck-{header}.3: has what only the compiler needs")


def completed(*words):
    """What bash completes for the last of `words`."""
    script = (f'source "{SHARE}/bash-completion/completions/rtcheck"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rtcheck; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return set(output("bash", "--norc", "-c", script, "bash", *words)[0].split())


def check_completion():
    same("rtcheck --leak-", completed("rtcheck", "--leak-"), {"--leak-check=", "--leak-resolution="})
    same("rtcheck report --q", completed("rtcheck", "report", "--q"), {"--quiet"})
    same("rtcheck selfte", completed("rtcheck", "selfte"), {"selftest"})
    same("rtcheck prog --", completed("rtcheck", "prog", "x"), set())
    for shell, file in (("zsh", "zsh/site-functions/_rtcheck"), ("fish", FISH)):
        if shutil.which(shell):
            output(shell, "-n", str(SHARE / file))


check_options()
check_functions()
check_completion()
check_sentences([*sorted((SHARE / "man").glob("man[13]/rtcheck*.[13]")), SOURCE / "man/rtcheck-suppressions.5"])
print("\n".join(wrong))
sys.exit(bool(wrong))
