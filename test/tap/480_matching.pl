# Matches public sets of products and of persons, whose true matches are known, with settings that were fixed before.
# The sets are not part of the project; test/tools/tap.sh copies them to `matching` if it finds them.
use strict;
use warnings;

use Cwd qw(realpath);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $data = 'matching';
plan skip_all => 'no labelled sets: MINHASH_MATCHING=/their/folder' unless -e "$data/products_matches.csv";

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "log_statement = none\nclient_min_messages = warning\n");
$node->start;

my @fields = qw(given_name surname street_number address_1 address_2 suburb postcode state date_of_birth soc_sec_id);
my $fields = join(', ', @fields);
my $persons = 'id bigint PRIMARY KEY, person bigint, ' . join(', ', map { "$_ text" } @fields);
my $products = 'id bigint, name text, description text, price text';
my %columns = (persons_one => $persons, persons_left => $persons, persons_right => $persons,
    products_left => $products, products_right => $products, products_matches => 'left_id bigint, right_id bigint');
$node->safe_psql('postgres', 'CREATE EXTENSION minhash_lsh');
for my $table (sort keys %columns)
{
    my $file = realpath("$data/$table.csv");
    $node->safe_psql('postgres', "CREATE TABLE $table ($columns{$table});
        COPY $table FROM '$file' (FORMAT csv, HEADER)");
}

# The harmonic mean of precision and recall of a query for pairs (left_id, right_id), given a condition that is true of
# `wanted` pairs.
sub f1_of
{
    my ($pairs, $is_true, $wanted) = @_;
    return $node->safe_psql('postgres',
        "SELECT 2.0 * count(*) FILTER (WHERE $is_true) / (count(*) + $wanted) FROM ($pairs) AS p");
}

# The pairs of a call in which each row is the other's best match.
sub one_to_one
{
    my ($call) = @_;
    return "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY left_id ORDER BY similarity DESC, right_id) AS l,
        row_number() OVER (PARTITION BY right_id ORDER BY similarity DESC, left_id) AS r FROM $call) AS ranked
        WHERE l = 1 AND r = 1";
}

sub same_person
{
    my ($left, $right) = @_;
    return "(SELECT person FROM $left WHERE id = left_id) = (SELECT person FROM $right WHERE id = right_id)";
}

my $match = '(left_id, right_id) IN (SELECT * FROM products_matches)';
my $of_names = "lsh_pairs('SELECT id, name FROM products_left', threshold => %s, shingle_size => 3,
    other_query => 'SELECT id, name FROM products_right'%s)";
my $weighted = f1_of(one_to_one(sprintf $of_names, 0.25, ", weight => 'idf'"), $match, 1076);
my $plain = f1_of(one_to_one(sprintf $of_names, 0.35, ''), $match, 1076);
cmp_ok($weighted, '>=', 0.85, "products by weight: $weighted, without weights $plain");

sub query_for { return "\$\$SELECT id, concat_ws(' ', $fields) FROM $_[0]\$\$" }
my $pairs = 'lsh_pairs(' . query_for('persons_one') . ', threshold => 0.3, shingle_size => 3)';
my $in_one = f1_of("SELECT * FROM $pairs", same_person('persons_one', 'persons_one'), 6538);
cmp_ok($in_one, '>=', 0.995, "persons in one table: $in_one");
$pairs = 'lsh_pairs(' . query_for('persons_left') . ', threshold => 0.3, shingle_size => 3, other_query => '
  . query_for('persons_right') . ')';
my $in_two = f1_of(one_to_one($pairs), same_person('persons_left', 'persons_right'), 5000);
cmp_ok($in_two, '>=', 0.995, "persons in two tables: $in_two");

# Field by field, as doc/match-fields.md does it.
for my $tables ([ 'persons_one' ], [ 'persons_left', 'persons_right' ])
{
    my ($left, $right) = @$tables;
    my %given = (left => $left, $right ? (right => $right) : ());
    my @given = map { ('-v', "$_=(SELECT id, $fields FROM $given{$_}) AS p") } sort keys %given;
    command_ok([ 'psql', '-Xq', '-d', $node->connstr('postgres'), @given, '-f', 'examples/match_fields.sql' ],
        'fields are compared');
    my $f1 = f1_of('SELECT * FROM field_matches WHERE bits > 0' . ($right ? ' AND best' : ''),
        same_person($left, $right // $left), $right ? 5000 : 6538);
    cmp_ok($f1, '>=', 0.999, "persons by fields in @$tables: $f1");
    $node->safe_psql('postgres', 'DROP TABLE field_matches, field_weights');
}
$node->stop;
done_testing();
