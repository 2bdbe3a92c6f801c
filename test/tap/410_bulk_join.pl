# On real texts, lsh_pairs() must find what a join of band tables finds. Compared exactly, it must find the true pairs
# that its bands promise, and no others.
use strict;
use warnings;

use Cwd qw(realpath);
use Digest::MD5 qw(md5);
use Encode qw(decode);
use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $threshold = 0.8;
my $most_texts = 700;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "log_statement = none\nclient_min_messages = warning\n");
$node->start;

# The first texts in the order of their names, with copies: licences and copyright files, then Perl's
# modules and PostgreSQL's headers, which every build machine has.
my @paths = (glob('/usr/share/common-licenses/* /usr/share/doc/*/copyright'));
my @folders = grep { -d } glob('/usr/share/perl /usr/share/perl5 /usr/include/postgresql');
find({ no_chdir => 1, wanted => sub { push @paths, $_ if /\.(?:pm|pod|pl|h)\z/ } }, @folders)
  if @folders;
my (%seen, $count);
my $file = $node->basedir . '/texts';
open my $out, '>:raw', $file or die "$file: $!";
for my $path (sort @paths)
{
    last if ($count // 0) == $most_texts;
    my $real = realpath($path);
    next if !defined $real || !-f $real || !-r $real;
    next if -s $real < 200 || -s $real > 50_000;
    my $text = slurp_file($real);
    next if index($text, "\0") >= 0 || $seen{ md5($text) }++ > 1;
    next if !eval { decode('UTF-8', my $copy = $text, Encode::FB_CROAK); 1 };
    $text =~ s/\\/\\\\/g;
    $text =~ s/\n/\\n/g;
    $text =~ s/\r/\\r/g;
    $text =~ s/\t/\\t/g;
    print $out ++$count, "\t$text\n";
}
close $out;
cmp_ok($count, '>=', 150, 'enough texts are there');

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts (
    id bigint PRIMARY KEY,
    body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED
);
COPY texts (id, body) FROM '$file';
CREATE TABLE sizes AS SELECT id, cardinality(shingles(body)) AS size, body FROM texts;
ANALYZE;
-- The similarity of two sets is at most the size of the smaller divided by the size of the larger.
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE truth AS
    SELECT least(a.id, b.id) AS left_id, greatest(a.id, b.id) AS right_id,
           shingle_jaccard(a.body, b.body) AS similarity
    FROM sizes a JOIN sizes b ON (a.size, a.id) < (b.size, b.id) AND a.size >= $threshold * b.size;
DELETE FROM truth WHERE similarity < $threshold;
SQL

# How many rows two queries return, and how many of them only one of the two returns.
sub differences
{
    my ($actual, $expected) = @_;
    return split /\|/, $node->safe_psql('postgres', <<"SQL");
WITH actual AS MATERIALIZED ($actual), expected AS MATERIALIZED ($expected)
SELECT (SELECT count(*) FROM actual),
       (SELECT count(*) FROM (TABLE actual EXCEPT ALL TABLE expected) d),
       (SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE actual) d)
SQL
}

# The join of a band table with itself, verified by signature.
for my $shape ([ 13, 7 ], [ 25, 5 ], [ 64, 2 ])
{
    my ($bands, $rows) = @$shape;
    my $join = <<"SQL";
WITH bands AS MATERIALIZED (SELECT key, id, sig FROM texts, lsh_bands(sig, $bands, $rows))
SELECT DISTINCT a.id AS left_id, b.id AS right_id, minhash_similarity(a.sig, b.sig) AS similarity
FROM bands a JOIN bands b ON a.key = b.key AND a.id < b.id
WHERE minhash_similarity(a.sig, b.sig) >= $threshold
SQL
    for my $query ('SELECT id, sig FROM texts', 'SELECT id, body FROM texts ORDER BY md5(body)')
    {
        my ($found, $surplus, $missing) = differences(
            "SELECT * FROM lsh_pairs('$query', $threshold, bands => $bands, rows => $rows"
              . ($query =~ /body/ ? ", verify => 'estimate')" : ')'), $join);
        cmp_ok($found, '>', 0, "$bands bands of $rows rows: $found pairs of $query");
        is("$surplus and $missing", '0 and 0', 'are those of the join');
    }
}

# With exact comparison, precision is 1, values are exact, and recall is what the bands promise. Pairs of the same text
# are found or missed together, so this uses the largest possible standard error: all pairs of one text count as one.
my ($found, $surplus, $missing) =
  differences("SELECT * FROM lsh_pairs('SELECT id, body FROM texts', $threshold)", 'TABLE truth');
is($surplus, 0, 'all pairs are true, and their similarities exact');
my ($promised, $error) = split /\|/, $node->safe_psql('postgres', <<"SQL");
WITH shape AS (SELECT bands, rows FROM lsh_params($threshold, recall => 0.99))
SELECT sum(p), sqrt(sum(error ^ 2)) FROM (
    SELECT sum(lsh_probability(similarity, bands, rows)) AS p,
           sum(sqrt(lsh_probability(similarity, bands, rows) * (1 - lsh_probability(similarity, bands, rows)))) AS error
    FROM truth, shape GROUP BY left_id) by_text
SQL
cmp_ok($found, '>=', $promised - 3 * $error,
    sprintf '%d of %d found, %.1f +- %.1f promised', $found, $found + $missing, $promised, $error);

# Clusters are the components of the pairs.
my ($clustered, @wrong) = differences(
    "SELECT id, cluster_id FROM lsh_clusters('SELECT id, body FROM texts', $threshold)", <<"SQL");
WITH RECURSIVE pairs AS MATERIALIZED (
    SELECT left_id, right_id FROM lsh_pairs('SELECT id, body FROM texts', $threshold)
), edges AS MATERIALIZED (
    SELECT left_id AS a, right_id AS b FROM pairs UNION ALL SELECT right_id, left_id FROM pairs
), reach AS (
    SELECT a, a AS b FROM edges UNION SELECT reach.a, edges.b FROM reach JOIN edges ON reach.b = edges.a
)
SELECT a, min(b) FROM reach GROUP BY a
SQL
is("@wrong", '0 0', "$clustered texts are clustered as pairs connect them");
$node->stop;
done_testing();
