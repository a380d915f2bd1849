CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT, v REAL);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000)
INSERT INTO t SELECT i, (i * 7919) % 1009, 'name-' || ((i * 31) % 503), i * 0.5 FROM c;
CREATE INDEX tk ON t(k);
SELECT count(*), sum(v) FROM t WHERE k BETWEEN 100 AND 900;
SELECT name, count(*), avg(v) FROM t GROUP BY name ORDER BY 2 DESC, 1 LIMIT 10;
UPDATE t SET name = upper(name) || id WHERE k % 11 = 3;
SELECT length(group_concat(name || v)) FROM t WHERE k % 17 = 1;
CREATE VIRTUAL TABLE docs USING fts5(body);
INSERT INTO docs SELECT name || ' ' || k FROM t WHERE id % 10 = 0;
SELECT count(*) FROM docs WHERE docs MATCH '501 OR 77';
SELECT json_group_array(json_object('id', id, 'v', v)) FROM t WHERE id < 6;
EXPLAIN QUERY PLAN SELECT * FROM t WHERE k = 5 ORDER BY id;
.mode box
SELECT k, count(*) n FROM t WHERE k < 5 GROUP BY k;
PRAGMA integrity_check;
