-- The start of the install script. The Makefile joins the files of this directory, in the order of their names, into
-- minhash_lsh--<version>.sql, so none of these files contains the version. Each object is followed by its COMMENT ON.
-- For a function that users call, the COMMENT ON ends with an example. The test sql/catalog.sql fails if an object has
-- no comment, or if an example does not run.

\echo Use "CREATE EXTENSION minhash_lsh" to load this file. \quit
