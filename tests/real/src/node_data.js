// Parsing, maps, regular expressions, compression and promises in one thread (and the pool's).
const fs = require("fs");
const zlib = require("zlib");
const crypto = require("crypto");

const records = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const tags = new Map();
for (const r of records) for (const t of r.tags) tags.set(t, (tags.get(t) || 0) + 1);
console.log([...tags].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 8));
const text = records.map((r) => r.name.replace(/([aeiou])/g, "<$1>")).join("\n");
zlib.gzip(text, (err, packed) => {
  if (err) throw err;
  console.log("gzip", text.length, zlib.gunzipSync(packed).toString() === text);
  crypto.pbkdf2("password", "salt", 500, 32, "sha256", (e, key) => {
    console.log("key", e, key.toString("hex"));
  });
});
process.on("exit", (code) => console.log("exit", code));
process.exitCode = 3;
