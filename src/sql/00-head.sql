-- The install script, unversioned: the Makefile joins its parts, by name, to minhash_lsh--<version>.sql.
-- Every object has its COMMENT ON beside it, which for a function that users call ends with an example; sql/catalog.sql
-- fails on one that has none, or whose example does not run.

\echo Use "CREATE EXTENSION minhash_lsh" to load this file. \quit
