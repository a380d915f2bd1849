"""workloads.py - the programs for every column: allocator loads, and real programs with their inputs."""
import collections
import json
import random
import shutil
import subprocess

from columns import BUILD

LOAD = BUILD / "tests/bench/load"

# name, variables and command, the number of operations it counts (0: none), runs per figure; real: is it a
# real program?
Row = collections.namedtuple("Row", "name variables command count times real")


def loads(scale):
    def load(name, kind, count, live, times=1):
        count = max(1, count // scale)
        live = max(1, live // scale) if live > 1000 else live
        return Row(name, [], [str(LOAD), kind, str(count), str(live)], count, times, False)

    return [load("malloc + free of 64 B", "pair", 20_000_000, 64),
            load("replace, 4,000 live", "replace", 8_000_000, 4_000),
            load("replace, 1,000,000 live", "replace", 3_000_000, 1_000_000),
            load("replace, 32 to 544 KiB", "large", 50_000, 64),
            load("replace, 8 threads", "threads", 8_000_000, 32_000),
            load("producer, consumer", "handover", 4_000_000, 0),
            load("fork, 64 MiB live", "forks", 300, 64),
            load("hello, start and exit", "hello", 1, 0, times=max(1, 50 // scale))]


PYTHON = """
import json, re, sys
words = [w for line in open(sys.argv[1]) for w in line.split()]
seen = {}
for n, w in enumerate(words):
    seen.setdefault(w, []).append(n)
rows = [{"word": w, "at": at[:5], "n": len(at)} for w, at in sorted(seen.items())]
again = json.loads(json.dumps(rows))
found = re.findall("[aeiou]{2,}[^ ]*", " ".join(words))
print(len(again), sum(r["n"] for r in again), len(found), sorted(set(found))[:3])
"""
PERL = """
my (%seen, @long);
while (<>) {
    for my $w (split) { push @{$seen{$w}}, $.; push @long, lc($w) . "-$." if length $w > 8; }
}
my @most = sort { @{$seen{$b}} <=> @{$seen{$a}} || $a cmp $b } keys %seen;
print scalar(@most), " ", scalar(@long), " ", join(",", @most[0 .. 2]), "\\n";
"""
SQL = """
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {rows})
INSERT INTO t SELECT i, i * 7919 % 10007, 'name-' || i * 31 % 5003 FROM c;
CREATE INDEX tk ON t(k);
SELECT name, count(*) FROM t GROUP BY name ORDER BY 2 DESC, 1 LIMIT 3;
UPDATE t SET name = upper(name) || id WHERE k % 11 = 3;
SELECT length(group_concat(name)) FROM t WHERE k % 17 = 1;
"""
JQ = "map(select(.on) | {name, n: (.tags | length)}) | group_by(.n) | map({n: .[0].n, c: length})"


def c_source(chance, functions):
    lines = ["int printf(const char *, ...);"]
    for n in range(functions):
        a, b, c = (chance.randint(3, 9999) for _ in range(3))
        lines.append(f"struct s{n} {{ int a, b; double d; char name[{8 + n % 56}]; }};\n"
                     f"int f{n}(struct s{n} *p, int n) {{\n  int r = n * {a};\n"
                     f"  for (int i = 0; i < n; i++) {{ r += p->name[i % 8] * {b}; p->d *= 1.0 + i; }}\n"
                     f"  switch (r % 5) {{ case 0: r += {c}; break; case 1: r ^= p->a; break;\n"
                     f"  case 2: printf(\"%d\", r); break; default: r -= p->b; }}")
        if n:
            callee = chance.randrange(n)
            lines.append(f"  {{ struct s{callee} t = {{ n, r, 0.5, \"x\" }}; r += f{callee}(&t, n / 2); }}")
        lines.append("  return r;\n}")
    return "\n".join(lines) + "\n"


def inputs(place, scale):
    """The same every time, for one scale."""
    chance = random.Random(20010909)
    words = ["".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(chance.randint(2, 11)))
             for _ in range(4000)]
    some = lambda n: " ".join(chance.choice(words) for _ in range(n))
    (place / "text").write_text("".join(some(12) + "\n" for _ in range(40_000 // scale)))
    (place / "data.json").write_text(json.dumps([
        {"name": some(2), "on": chance.random() < .5, "tags": some(chance.randint(0, 8)).split(),
         "values": [chance.randrange(10 ** 9) for _ in range(6)]} for _ in range(60_000 // scale)]))
    (place / "rows.sql").write_text(SQL.format(rows=400_000 // scale))
    (place / "big.c").write_text(c_source(chance, max(2, 400 // scale)))
    (place / "work.py").write_text(PYTHON)
    (place / "work.pl").write_text(PERL)


def programs(place, scale):
    inputs(place, scale)
    gcc = shutil.which("gcc")
    cc1 = gcc and subprocess.check_output([gcc, "-print-prog-name=cc1"], text=True).strip()
    at = lambda name: str(place / name)
    rows = [("python3", "/usr/bin/python3", ["PYTHONMALLOC=malloc"], [at("work.py"), at("text")]),
            ("perl", "/usr/bin/perl", [], [at("work.pl"), at("text")]),
            ("cc1 -O1", cc1 or "cc1", [], ["-quiet", "-O1", at("big.c"), "-o", at("big.s")]),
            ("sqlite3", "/usr/bin/sqlite3", [], [":memory:", ".read " + at("rows.sql")]),
            ("jq", "/usr/bin/jq", [], ["-c", JQ, at("data.json")])]
    for name, program, variables, arguments in rows:
        if shutil.which(program):
            yield Row(name, variables, [program] + arguments, 0, 1, True)
        else:
            print(f"skip: bench/{name.split()[0]}: {program} is not installed")
