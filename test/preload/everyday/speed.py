"""speed.py - writes SQL for sqlite3 to stdout: so many thousand rows, joins, blobs, VACUUM, a final
check.

    speed.py THOUSANDS
"""

import sys

rows = int(sys.argv[1]) * 1000
blobs = 4 + rows // 25000
print(
    f"""
PRAGMA page_size = 8192;
PRAGMA cache_size = -32768;
PRAGMA journal_mode = WAL;
CREATE TABLE one (id INTEGER PRIMARY KEY, key INTEGER, text TEXT);
CREATE TABLE two (id INTEGER PRIMARY KEY, one INTEGER, value REAL);
CREATE TABLE big (id INTEGER PRIMARY KEY, data BLOB);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
INSERT INTO one SELECT i, i * 7919 % 1000003, printf('%08d %s', i, hex(i * 31337)) FROM n;
INSERT INTO two SELECT id, key % {rows} + 1, key / 7.0 FROM one;
COMMIT;
CREATE INDEX one_key ON one (key);
CREATE INDEX two_one ON two (one);
SELECT count(*), sum(length(text)), max(key) FROM one;
SELECT count(*), printf('%.3f', sum(two.value)) FROM one JOIN two ON two.one = one.id
WHERE one.key % 3 = 1;
SELECT key % 17 AS k, count(*), min(text), max(text) FROM one GROUP BY k ORDER BY k;
SELECT length(group_concat(text)) FROM one;
SELECT text FROM one ORDER BY substr(text, 10) DESC, id LIMIT 5;
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {blobs})
INSERT INTO big SELECT i, CAST(replace(hex(zeroblob(i * 60000)), '00', printf('%06d', i)) AS BLOB)
FROM n;
COMMIT;
SELECT count(*), sum(length(data)), max(length(data)) FROM big;
UPDATE big SET data = data || data WHERE id % 2 = 0;
SELECT id, length(data), hex(substr(data, -6)), instr(data, x'FF') FROM big;
UPDATE one SET text = text || text WHERE id % 5 = 0;
DELETE FROM two WHERE id % 3 = 0;
DELETE FROM big WHERE id % 3 = 0;
VACUUM;
PRAGMA integrity_check;
SELECT count(*), sum(length(text)) FROM one;
SELECT count(*), printf('%.3f', sum(value)) FROM two;
"""
)
