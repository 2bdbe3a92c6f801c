-- The table "paragraphs" of the pictures: the texts of -v source=, in the columns -v id= and -v text= ("id" and "body"
-- unless said otherwise), or 234 paragraphs of licences.
\if :{?source}
\if :{?id}
\else
\set id id
\endif
\if :{?text}
\else
\set text body
\endif
-- Names in double quotes are meant without them.
SELECT trim('"' FROM :'id') AS id, trim('"' FROM :'text') AS text \gset
CREATE TEMP TABLE paragraphs AS
SELECT row_number() OVER (ORDER BY :"id") AS id, :"text" AS body FROM :source WHERE :"text" IS NOT NULL;
\set texts texts
\else
\ir licence_paragraphs.sql
\set texts 'paragraphs of licences'
\endif
