"""The sqlite3 module: bulk inserts, user functions, aggregates, a dump."""
import hashlib
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT, v REAL)")
db.executemany("INSERT INTO t VALUES(?,?,?,?)",
               ((i, i * 7919 % 1009, "name-%d" % (i * 31 % 503), i / 8) for i in range(8000)))
db.create_function("shout", 1, lambda s: s.upper() + "!")
for row in db.execute("SELECT k % 7, count(*), sum(v), max(shout(name)) FROM t GROUP BY 1"):
    print(row)
db.execute("UPDATE t SET name = shout(name) WHERE k % 11 = 3")
dump = "\n".join(db.iterdump())
print(len(dump), hashlib.sha256(dump.encode()).hexdigest())
