# A query on a text of 100 MB must end soon after it is cancelled.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $working = 100;    # ms that a query may work before it is cancelled
my $limit = 250;      # ms that it may still take then; the machine may be busy

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', 'log_statement = none');
$node->start;

# 5 MB of hexadecimal digits, stored uncompressed; repeat() makes 100 MB of them.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE seed (body text);
ALTER TABLE seed ALTER body SET STORAGE external;
INSERT INTO seed SELECT string_agg(md5(number::text), ' ') FROM generate_series(1, 152000) number;
ALTER TABLE seed ADD list jsonb;
UPDATE seed SET list = (SELECT jsonb_agg(number) FROM generate_series(1, 300) number);
ALTER TABLE seed ADD words text[];
ALTER TABLE seed ALTER words SET STORAGE external;
UPDATE seed SET words = (SELECT array_agg(md5(number::text)) FROM generate_series(1, 1500000) number);
SQL

# Runs a query three times; returns its SQLSTATE and the milliseconds it took, for each run.
sub run
{
    my ($query, $timeout) = @_;
    my $once = "$query;\n\\echo state :SQLSTATE\n";
    my ($code, $out) = $node->psql('postgres', <<"SQL");
\\set ON_ERROR_STOP off
SELECT length(body) FROM seed;
SET statement_timeout = $timeout;
\\timing on
$once$once$once
SQL
    my @states = $out =~ /^state (\w+)/mg;
    # The first time that psql shows is that of SET.
    my @times = ($out =~ /^Time: ([\d.]+) ms/mg)[ -3 .. -1 ];
    return (\@states, \@times);
}

# The time that a query on a text needs to read it.
sub time_of_text
{
    my ($text) = @_;
    my ($states, $times) = run("SELECT octet_length($text) FROM seed", 0);
    my ($alone) = sort { $a <=> $b } @$times;
    return int $alone;
}

# The fast functions work on the larger text.
my ($large, $larger) = ('repeat(body, 20)', 'repeat(body, 60)');
my @queries = (
    # The default scheme signs 100 MB before it can be cancelled.
    [ $large => 'minhash(TEXT, num_hashes => 4096, method => \'classic\')' ],
    [ $larger => 'minhash(TEXT, num_hashes => 4096, method => \'classic\', unit => \'word\')' ],
    [ $large => 'minhash(TEXT, bag => true)' ],
    [ $large => 'shingle_jaccard(TEXT, TEXT)' ],
    [ $larger => 'shingle_jaccard(TEXT, \'short\', unit => \'word\', bag => true)' ],
    [ $large => '(SELECT count(*) FROM shingle_difference(TEXT, body || \'more\'))' ],
    [ $large => 'length(shingle_headline(TEXT, body || \'more\', \'HighlightAll=true\'))' ],
    [ $large => 'cardinality(shingles(TEXT))' ],
    [ $large => 'cardinality(shingles(TEXT, bag => true))' ],
    # These functions read no text.
    [ q('') => 'minhash_elements(words, num_hashes => 4096, method => \'classic\')' ],
    [ q('') => 'element_jaccard(words, words)' ]);
my ($states, $times, $timeout, $longest);
for my $case (@queries)
{
    my ($text, $query) = @$case;
    $query =~ s/TEXT/$text/g;
    for my $attempt (1 .. 5)
    {
        $timeout = time_of_text($text) + $working;
        ($states, $times) = run("SELECT $query FROM seed", $timeout);
        # A machine that has just become faster may finish before the cancel, and a busy one may be late once; a query
        # that is late by itself is late again.
        ($longest) = sort { $b <=> $a } @$times;
        last if "@$states" !~ /00000/ && $longest - $timeout < $limit;
    }
    is("@$states", '57014 57014 57014', "$query is cancelled");
    cmp_ok($longest - $timeout, '<', $limit, "$query ends in time");
    note("told to end after $timeout ms, ended after @$times ms");
}

# The elements are all equal and slow to compare: sorting them takes about half of the time, and counting them takes the
# other half.
my $equal = "SELECT element_jaccard(array_fill(list, ARRAY[80000]), '{}') FROM seed";
my $whole;
for my $attempt (1 .. 5)
{
    ($states, $times) = run($equal, 0);
    ($whole) = sort { $a <=> $b } @$times;
    $timeout = int $whole * 0.7;
    ($states, $times) = run($equal, $timeout);
    ($longest) = sort { $b <=> $a } @$times;
    last if "@$states" !~ /00000/ && $longest - $timeout < $limit;
}
is("@$states", '57014 57014 57014', 'counting equal elements is cancelled');
cmp_ok($longest - $timeout, '<', $limit, 'counting equal elements ends in time');
note("told to end after $timeout ms of $whole ms, ended after @$times ms");

# Texts are signed, then compared with anchors. The call is cancelled in both parts.
my $evaluate = q{SELECT count(*) FROM lsh_evaluate('SELECT n, body || n FROM seed, generate_series(1, 2) n')};
($states, $times) = run($evaluate, 0);
($whole) = sort { $a <=> $b } @$times;
for my $share (0.4, 0.6)
{
    $timeout = int $whole * $share;
    for my $attempt (1 .. 5)
    {
        ($states, $times) = run($evaluate, $timeout);
        ($longest) = sort { $b <=> $a } @$times;
        last if $longest - $timeout < $limit;
    }
    unlike("@$states", qr/(?!57014|00000)\b\w{5}/, "lsh_evaluate is cancelled after $share of its time");
    cmp_ok($longest - $timeout, '<', $limit, 'and ends in time');
    note("told to end after $timeout ms of $whole ms, ended after @$times ms");
}
$node->stop;
done_testing();
