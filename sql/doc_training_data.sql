-- The SQL of doc/training-data.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE corpus (id bigint PRIMARY KEY, language text NOT NULL, body text NOT NULL);
COPY corpus FROM STDIN (FORMAT csv);
1,en,"Home | News | Contact
A train leaves Leeds at nine and travels at sixty miles an hour. When does it reach York, which is thirty miles away?
Readers sent us hundreds of answers."
2,en,"Home | News | Contact
The council has approved the new bridge over the river Ouse. Work begins in the spring."
3,en,"Home | News | Contact
The council has approved the new bridge over the river Ouse. Work begins in the spring."
4,en,"Home | News | Contact
The council has approved the new bridge over the river Ouse. Work begins in the spring, says the mayor."
5,de,"Start | Kontakt
Der Stadtrat hat den neuen Hafen am Fluss genehmigt. Die Arbeiten beginnen im Sommer."
\.
CREATE TABLE questions (id bigint PRIMARY KEY, question text NOT NULL);
INSERT INTO questions VALUES
    (1, 'A train leaves Leeds at 9 and travels at sixty miles an hour. When does it reach York, thirty miles away?'),
    (2, 'Which river flows through the city of Lima, and where does it rise?');
CREATE TABLE removed (id bigint PRIMARY KEY, rule text NOT NULL, because_of bigint NOT NULL);
CREATE VIEW kept AS SELECT * FROM corpus WHERE NOT EXISTS (SELECT FROM removed WHERE removed.id = corpus.id);

CREATE TABLE leaks AS SELECT contained_id AS question, container_id AS document, containment
FROM lsh_contained('SELECT id, question FROM questions', threshold => 0.8, other_query => 'SELECT id, body FROM kept');
SELECT question, document, round(containment::numeric, 2) AS containment FROM leaks ORDER BY 1, 2;

INSERT INTO removed SELECT document, 'benchmark', min(question) FROM leaks GROUP BY document;

INSERT INTO removed
    SELECT id, 'exact copy', stays FROM (SELECT id, min(id) OVER (PARTITION BY md5(body)) AS stays FROM kept) AS copies
    WHERE id <> stays;
SELECT id, because_of FROM removed WHERE rule = 'exact copy';

INSERT INTO removed
    SELECT id, 'near-duplicate', representative
    FROM lsh_clusters('SELECT id, body, language AS scope, -length(body) AS rank FROM kept', threshold => 0.8,
                      near_representative => true)
    WHERE id <> representative;
SELECT id, because_of FROM removed WHERE rule = 'near-duplicate';

CREATE TABLE common_lines AS
    SELECT line, count(DISTINCT id) AS documents FROM corpus, string_to_table(body, E'\n') AS line
    WHERE line <> '' GROUP BY line HAVING count(DISTINCT id) > 2;
CREATE TABLE cleaned AS
    SELECT id, language, string_agg(line, E'\n' ORDER BY place) AS body
    FROM kept, string_to_table(body, E'\n') WITH ORDINALITY AS l (line, place)
    WHERE line NOT IN (SELECT line FROM common_lines) GROUP BY id, language;
SELECT * FROM common_lines;

SELECT rule, count(*) AS documents, sum(length(body)) AS characters FROM removed JOIN corpus USING (id) GROUP BY rule
UNION ALL
SELECT 'common lines', count(*), sum(length(kept.body) - coalesce(length(cleaned.body), 0))
FROM kept LEFT JOIN cleaned USING (id) WHERE kept.body IS DISTINCT FROM cleaned.body
UNION ALL
SELECT 'stays', count(*), sum(length(body)) FROM cleaned ORDER BY rule;

COPY (SELECT id, language, body FROM cleaned ORDER BY id) TO STDOUT (FORMAT csv, HEADER);

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
