"""json, re, collections, decimal, zlib and friends over the generated records."""
import collections
import decimal
import hashlib
import json
import re
import sys
import zlib

with open(sys.argv[1]) as f:
    records = json.load(f)
words = collections.Counter(w for r in records for w in re.findall(r"[a-z]+", r["name"]))
by_tag = collections.defaultdict(list)
for r in records:
    for tag in r["tags"]:
        by_tag[tag].append(r["id"])
total = sum(decimal.Decimal(repr(r["score"])) for r in records)
text = json.dumps(records, sort_keys=True, indent=1)
packed = zlib.compress(text.encode(), 6)
assert zlib.decompress(packed).decode() == text
print("records", len(records), "total", total)
print("words", words.most_common(12))
print("tags", sorted((len(v), k) for k, v in by_tag.items())[-8:])
print("packed", len(packed), hashlib.sha256(packed).hexdigest())
print("active", re.sub(r"(\d)(?=(\d{3})+$)", r"\1,", str(sum(r["active"] for r in records) * 1000)))
