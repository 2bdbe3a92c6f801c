# Through an index, % must find the share of similar texts that its bands and rows promise.
#
# The test answers two questions, on pairs of a text and its edited copy. Each pair has its own words, so pairs are
# found or missed independently:
#
# 1. How many pairs of known Jaccard similarity J (exact, by shingle_jaccard) become candidates? Each should with
#    lsh_probability(J). Pairs are chosen by J and queried with a threshold of almost 0: at a higher threshold, % keeps
#    the pairs whose signatures happen to agree more than their texts do, and such pairs are found more often than J
#    says.
# 2. How many of the pairs that % finds by a sequential scan does it find through the index? Here a pair is chosen by
#    its m equal slots of k, and any m slots are equally likely to be the equal ones. So it is found with the
#    probability that m of k random slots fill a band, which is counted exactly.
#
# Both results must lie within three standard errors of what is expected. Everything is fixed, so the test gives the
# same result each time.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hashes = 128;
my $pairs = 3000;
my @thresholds = (0.5, 0.7, 0.8, 0.9);
my @shapes = ([ 13, 7 ], [ 25, 5 ], [ 10, 6 ], [ 8, 10 ], [ 42, 3 ]);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "log_statement = none\njit = off");
$node->start;

# Up to a third of 80 words is replaced, which gives similarities from 1 to 0.2.
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION minhash_lsh;
CREATE TABLE texts AS
    SELECT id, string_agg(word, ' ' ORDER BY place) AS body,
           string_agg(CASE WHEN ('x' || left(md5(id || 'edit' || place), 6))::bit(24)::int
                                < 2 ^ 24 * id / $pairs / 3
                           THEN md5(id || 'new' || place) ELSE word END, ' ' ORDER BY place) AS copy
    FROM generate_series(1, $pairs) id, generate_series(1, 80) place,
         left(md5(id || 'word' || place), 3 + place % 10) word
    GROUP BY id;
CREATE TABLE originals AS SELECT id, minhash(body, $hashes) AS sig FROM texts;
CREATE TABLE copies AS SELECT id, minhash(copy, $hashes) AS sig FROM texts;
CREATE TABLE pairs AS SELECT id, shingle_jaccard(body, copy) AS jaccard,
       minhash_similarity(o.sig, c.sig) AS estimate
    FROM texts JOIN originals o USING (id) JOIN copies c USING (id);
ANALYZE;
SQL
note('pairs by similarity: ', $node->safe_psql('postgres', <<'SQL'));
SELECT string_agg(format('%s: %s', tenth, pairs), ', ' ORDER BY tenth)
FROM (SELECT floor(jaccard * 10) / 10 AS tenth, count(*) AS pairs FROM pairs GROUP BY 1) tenths
SQL

# For each m, the probability that m of k random slots fill at least one of the bands. It is one minus the share of sets
# of m slots that fill no band. The number of such sets is a coefficient in a product of polynomials.
sub fill_probabilities
{
    my ($bands, $rows, $k) = @_;
    my $times = sub {
        my ($a, $b) = @_;
        my @product = (0) x (@$a + @$b - 1);
        for my $i (0 .. $#$a)
        {
            $product[ $i + $_ ] += $a->[$i] * $b->[$_] for 0 .. $#$b;
        }
        return \@product;
    };
    my $choices = sub {
        my ($n) = @_;
        my @row = (1);
        push @row, $row[-1] * ($n - $_) / ($_ + 1) for 0 .. $n - 1;
        return @row;
    };
    my @some = $choices->($rows);
    pop @some;
    my $none = [ $choices->($k - $bands * $rows) ];
    $none = $times->($none, \@some) for 1 .. $bands;
    my @all = $choices->($k);
    return map { 1 - ($none->[$_] // 0) / $all[$_] } 0 .. $k;
}

# The pairs that % finds; the plan is also checked.
sub similar
{
    my ($threshold, $by_index) = @_;
    my $settings = join ' ', "SET minhash_lsh.similarity_threshold = $threshold;",
      'SET minhash_lsh.recall_notice = 0;',
      $by_index ? 'SET enable_seqscan = off;' : 'SET enable_bitmapscan = off;';
    my $query = 'SELECT o.id, c.id FROM originals o JOIN copies c ON c.sig % o.sig';
    my $plan = $node->safe_psql('postgres', "$settings EXPLAIN $query");
    $plan =~ /Index Cond: \(sig % o\.sig\)/ ? $by_index : !$by_index or die "not this: $plan";
    my @all = split /\n/, $node->safe_psql('postgres', "$settings $query");
    my @pairs = map { /^(\d+)\|\1$/ } @all;
    # By chance, other pairs have a slot or two in common.
    die 'a pair that is not similar' if $threshold >= 0.5 && @pairs < @all;
    return @pairs;
}

# Whether independent trials with these probabilities can plausibly give this count.
sub is_likely
{
    my ($name, $count, @probabilities) = @_;
    my ($expected, $variance) = (0, 0);
    for my $p (@probabilities)
    {
        $expected += $p;
        $variance += $p * (1 - $p);
    }
    my $error = sqrt $variance;
    # Adds half a pair, because pairs are counted in whole numbers and hardly any is missed here.
    cmp_ok(abs($count - $expected), '<=', 3 * $error + 0.5, $name);
    note(sprintf '%d of %d, expected %.1f +- %.1f', $count, scalar @probabilities, $expected, $error);
}

my %equal;
for (split /\n/, $node->safe_psql('postgres', "SELECT id, estimate * $hashes FROM pairs"))
{
    my ($id, $slots) = split /\|/;
    $equal{$id} = $slots;
}
my %by_scan = map { $_ => [ similar($_, 0) ] } @thresholds;
for my $threshold (@thresholds)
{
    my @true = grep { $equal{$_} / $hashes >= $threshold } keys %equal;
    is("@{[ sort @{ $by_scan{$threshold} } ]}", "@{[ sort @true ]}",
        "a scan finds all pairs from $threshold on");
}

for my $shape (@shapes)
{
    my ($bands, $rows) = @$shape;
    my $name = "$bands bands of $rows rows";
    $node->safe_psql('postgres', <<"SQL");
DROP INDEX IF EXISTS copies_sig;
CREATE INDEX copies_sig ON copies USING gin (sig gin_minhash_ops (bands = $bands, rows = $rows));
SQL

    my %candidate = map { $_ => 1 } similar(0.001, 1);
    for my $threshold (@thresholds)
    {
        my (@candidates, @probabilities);
        for (split /\n/, $node->safe_psql('postgres', <<"SQL"))
SELECT id, lsh_probability(jaccard, $bands, $rows) FROM pairs
WHERE jaccard >= $threshold AND jaccard < $threshold + 0.1
SQL
        {
            my ($id, $probability) = split /\|/;
            push @candidates, $id if $candidate{$id};
            push @probabilities, $probability;
        }
        is_likely("$name: candidates of Jaccard similarity $threshold and 0.1 more",
            scalar @candidates, @probabilities);
    }

    my @fills = fill_probabilities($bands, $rows, $hashes);
    for my $threshold (@thresholds)
    {
        my @scan = @{ $by_scan{$threshold} };
        my %scan = map { $_ => 1 } @scan;
        my @index = similar($threshold, 1);
        is(scalar(grep { !$scan{$_} } @index), 0, "$name: nothing more at $threshold");
        is_likely("$name: found at $threshold", scalar @index, map { $fills[ $equal{$_} ] } @scan);
    }
}
$node->stop;
done_testing();
