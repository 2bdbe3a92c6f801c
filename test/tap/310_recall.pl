# On real texts, a join of bands must find the share of near-duplicates that the S-curve predicts. The texts are those
# of a Debian with our build packages; the true pairs are exact and complete.
use strict;
use warnings;

use Cwd qw(realpath);
use Digest::MD5 qw(md5);
use Encode qw(decode);
use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $threshold = 0.9;
my $most_texts = 1000;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', 'log_statement = none');
$node->start;

# The first distinct texts (a copy is too easily found) in the order of their names: licences and copyright files, then
# Perl's modules and PostgreSQL's headers, which every build machine has.
my @paths = (glob('/usr/share/common-licenses/* /usr/share/doc/*/copyright'));
my @folders = grep { -d } glob('/usr/share/perl /usr/share/perl5 /usr/include/postgresql');
find({ no_chdir => 1, wanted => sub { push @paths, $_ if /\.(?:pm|pod|pl|h)\z/ } }, @folders)
  if @folders;
my (%seen, $count, $bytes);
my $file = $node->basedir . '/texts';
open my $out, '>:raw', $file or die "$file: $!";
for my $path (sort @paths)
{
    last if ($count // 0) == $most_texts;
    my $real = realpath($path);
    next if !defined $real || $seen{$real}++ || !-f $real || !-r $real;
    next if -s $real < 200 || -s $real > 50_000;
    my $text = slurp_file($real);
    next if index($text, "\0") >= 0 || $seen{ md5($text) }++;
    next if !eval { decode('UTF-8', my $copy = $text, Encode::FB_CROAK); 1 };
    $bytes += length $text;
    $text =~ s/\\/\\\\/g;
    $text =~ s/\n/\\n/g;
    $text =~ s/\r/\\r/g;
    $text =~ s/\t/\\t/g;
    print $out ++$count, "\t$text\n";
}
close $out;
cmp_ok($count, '>=', 200, 'enough texts are there');
note("$count texts, $bytes bytes");

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts (
    id int PRIMARY KEY,
    body text,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED
);
COPY texts (id, body) FROM '$file';

CREATE TABLE shape AS SELECT bands, rows FROM lsh_params($threshold);
CREATE TABLE bands (key bigint, id int, PRIMARY KEY (key, id));
INSERT INTO bands SELECT key, id FROM texts, shape, lsh_bands(sig, bands, rows);
CREATE TABLE candidates AS
    SELECT DISTINCT a.id AS left_id, b.id AS right_id
    FROM bands a JOIN bands b ON a.key = b.key AND a.id < b.id;

-- The truth. The similarity of two sets is at most the size of the smaller divided by the size of the larger, so few
-- pairs have to be compared.
CREATE TABLE sizes AS SELECT id, cardinality(shingles(body)) AS size, body FROM texts;
ANALYZE;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE compared AS
    SELECT least(a.id, b.id) AS left_id, greatest(a.id, b.id) AS right_id,
           shingle_jaccard(a.body, b.body) AS similarity
    FROM sizes a JOIN sizes b
        ON (a.size, a.id) < (b.size, b.id) AND a.size >= $threshold * b.size;
SQL

# Pairs of the same texts are found or missed together. How strongly is not known, so this assumes the worst case, which
# has the largest standard error: all pairs of one family are found or missed together.
my ($true, $found, $predicted, $error, $candidates, $compared, $shape) =
  split /\|/, $node->safe_psql('postgres', <<"SQL");
WITH RECURSIVE pairs AS MATERIALIZED (
    SELECT left_id, right_id, lsh_probability(similarity, bands, rows) AS p
    FROM compared, shape WHERE similarity >= $threshold
), reach(id, other) AS (
    SELECT left_id, left_id FROM pairs UNION SELECT right_id, right_id FROM pairs
    UNION
    SELECT id, CASE other WHEN left_id THEN right_id ELSE left_id END
    FROM reach JOIN pairs ON other IN (left_id, right_id)
), families AS (
    SELECT id, min(other) AS family FROM reach GROUP BY id
), sums AS (
    SELECT count(*) AS pairs, count(c.left_id) AS found, sum(p) AS predicted,
           sum(sqrt(p * (1 - p))) AS error
    FROM pairs JOIN families ON id = left_id LEFT JOIN candidates c USING (left_id, right_id)
    GROUP BY family
)
SELECT sum(pairs), sum(found), sum(predicted), sqrt(sum(error ^ 2)),
       (SELECT count(*) FROM candidates), (SELECT count(*) FROM compared),
       (SELECT format('%s bands of %s rows', bands, rows) FROM shape)
FROM sums
SQL
my $vain = $candidates - $found;
cmp_ok($true, '>', 0, 'there are near-duplicates to be found');
cmp_ok($found, '>=', $predicted - 3 * $error, 'as many are found as the S-curve predicts');
diag(sprintf '%d texts, %s: found %d of the %d pairs with J >= %.1f, '
      . 'predicted %.1f +- %.1f; %d of %d candidates false; %d pairs compared exactly',
    $count, $shape, $found, $true, $threshold, $predicted, $error, $vain, $candidates,
    $compared);

# Makes the same comparison on the whole curve, for all pairs whose similarity is known.
diag('of these, ', $node->safe_psql('postgres', <<'SQL'));
SELECT format('%s are candidates, predicted %s', count(c.left_id),
              sum(lsh_probability(similarity, bands, rows))::numeric(9,1))
FROM compared CROSS JOIN shape LEFT JOIN candidates c USING (left_id, right_id)
SQL

# Most pairs are not candidates, so the join does not look at them.
cmp_ok($candidates, '<', $count * ($count - 1) / 2 / 5, 'few pairs become candidates');
$node->stop;
done_testing();
