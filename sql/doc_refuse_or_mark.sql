-- The SQL of doc/refuse-or-mark.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE notes (body text, EXCLUDE USING lsh (minhash(body) WITH %));
INSERT INTO notes VALUES ('The printer on the second floor does not print.');
INSERT INTO notes VALUES ('The printer on the second floor does not print!') ON CONFLICT DO NOTHING;
SELECT count(*) AS notes FROM notes;

CREATE TABLE tickets (id bigint PRIMARY KEY, customer int, body text,
    EXCLUDE USING lsh (customer WITH =, minhash(body) WITH %, id WITH <>) WITH (threshold = 0.8));
INSERT INTO tickets VALUES (1, 7, 'The printer on the second floor does not print.'),
                           (2, 8, 'The printer on the second floor does not print.');
INSERT INTO tickets VALUES (3, 7, 'The printer on the second floor does not print?');

CREATE TABLE comments (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO comments VALUES (1, 'Thank you, this is just what I was looking for.'),
                            (2, 'Thank you, this is just what I was looking for!');
ALTER TABLE comments ADD CONSTRAINT comments_near
    EXCLUDE USING lsh (minhash(body) WITH %, id WITH <>) WITH (threshold = 0.8);

ALTER TABLE comments ADD CONSTRAINT comments_near
    EXCLUDE USING lsh (minhash(body) WITH %, id WITH <>) WITH (threshold = 0.8) WHERE (id > 2);
INSERT INTO comments VALUES (3, 'Thank you, this is just what I was looking for.');
INSERT INTO comments VALUES (4, 'Thank you, this is just what I was looking for!'),
                            (5, 'How do I do the same for a whole table?') ON CONFLICT DO NOTHING RETURNING id;

INSERT INTO tickets VALUES (4, 7, 'The printer on the second floor does not print!'),
                           (5, 7, 'The lift does not stop on the second floor.') ON CONFLICT DO NOTHING RETURNING id;

CREATE TABLE questions (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL,
    CONSTRAINT questions_near EXCLUDE USING lsh (minhash(body) WITH %, id WITH <>) WITH (threshold = 0.8));
CREATE FUNCTION insert_question(new_body text, OUT question bigint, OUT similarity float8) LANGUAGE plpgsql AS $$
BEGIN
    FOR attempt IN 1..10 LOOP
        INSERT INTO questions (body) VALUES (new_body)
            ON CONFLICT ON CONSTRAINT questions_near DO NOTHING RETURNING id INTO question;
        EXIT WHEN FOUND;
        SELECT id, minhash_similarity(minhash(body), minhash(new_body)) INTO question, similarity FROM questions
            WHERE minhash_similar(minhash(body), minhash(new_body), 0.5)
                AND minhash_similarity(minhash(body), minhash(new_body)) >= 0.8 ORDER BY 2 DESC, id LIMIT 1;
        EXIT WHEN FOUND;
    END LOOP;
    IF question IS NULL THEN
        INSERT INTO questions (body) VALUES (new_body) RETURNING id INTO question;
    END IF;
END $$;
SELECT * FROM insert_question('How do I find near-duplicate rows in a large table?');

SELECT * FROM insert_question('How do I find near-duplicate rows in a large table');

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL, copy_of bigint);
CREATE INDEX ON articles USING lsh (minhash(body));
CREATE FUNCTION mark_copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.copy_of := (SELECT id FROM articles WHERE minhash_similar(minhash(body), minhash(NEW.body), 0.8)
                    AND copy_of IS NULL AND id <> NEW.id ORDER BY minhash(body) <%> minhash(NEW.body) LIMIT 1);
    RETURN NEW;
END $$;
CREATE TRIGGER mark_copy BEFORE INSERT OR UPDATE OF body ON articles FOR EACH ROW EXECUTE FUNCTION mark_copy();
INSERT INTO articles VALUES
    (1, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (2, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (3, 'Nothing like it has been seen before.');
SELECT id, copy_of FROM articles ORDER BY id;

CREATE TABLE remarks (id bigint PRIMARY KEY, body text NOT NULL);
CREATE INDEX ON remarks USING lsh (minhash(body));
INSERT INTO remarks VALUES (1, 'This answers my question, thank you very much.');
INSERT INTO remarks
    SELECT id, body FROM (VALUES (2, 'This answers my question, thank you very much!'),
                                 (3, 'What does the third argument do?')) AS new (id, body)
    WHERE NOT EXISTS (SELECT FROM remarks r WHERE minhash_similar(minhash(r.body), minhash(new.body), 0.8))
    RETURNING id;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
