# COPY ... BINARY keeps every value; a damaged file gives an error or values that can be used, and
# never harms the server.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $mutations = 2000;
my $seed = 20240229;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "log_min_messages = fatal\nlog_statement = none");
$node->start;
my $dir = $node->basedir;
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION minhash_lsh;
CREATE TABLE original (id int, sig minhash_signature);
INSERT INTO original VALUES
    (1, minhash('The quick brown fox jumps over the lazy dog.')),
    (2, minhash('The quick brown fox jumps over the lazy dog.', 16, method => 'classic')),
    (3, minhash('The quick brown fox', 64, 2, 'word', false, true, -1)),
    (4, minhash('')),
    (5, NULL),
    (6, minhash('the largest', 4096));
CREATE TABLE loaded (LIKE original);
CREATE TABLE typed (id int, sig minhash_signature(128));
COPY original TO '$dir/all' (FORMAT binary);
COPY loaded FROM '$dir/all' (FORMAT binary);
-- The file to be damaged is small, so that most of its bytes mean something.
COPY (SELECT * FROM original WHERE id < 6) TO '$dir/small' (FORMAT binary);
SQL
is($node->safe_psql('postgres',
        'SELECT count(*) FROM original JOIN loaded USING (id)
         WHERE original.sig IS NOT DISTINCT FROM loaded.sig'),
    6, 'COPY BINARY and back: the same values');
my ($code, $out, $error) =
  $node->psql('postgres', "\\set VERBOSITY verbose\nCOPY typed FROM '$dir/all' (FORMAT binary)");
like($error, qr/ERROR:  22000: /, 'a binary value of another size than the type modifier says');

# Damages the file in one of several ways.
my $whole = slurp_file("$dir/small");
my $length = length $whole;
my @lengths = (0, 1, 4, 15, 16, 17, 24, 528, 16408, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF);
srand($seed);
my %ways = (
    bit => sub {
        my $bytes = $whole;
        for (0 .. int rand 3)
        {
            my $bit = int rand 8 * $length;
            vec($bytes, $bit, 1) ^= 1;
        }
        return $bytes;
    },
    byte => sub {
        my $bytes = $whole;
        substr($bytes, int rand $length, 1) = chr int rand 256;
        return $bytes;
    },
    truncated => sub { return substr $whole, 0, int rand $length },
    length => sub {
        my $bytes = $whole;
        substr($bytes, int rand $length - 4, 4) = pack 'N', $lengths[ rand @lengths ];
        return $bytes;
    },
    cut => sub {
        my $bytes = $whole;
        substr($bytes, int rand $length, 1 + int rand 8) = '';
        return $bytes;
    },
    # Damages the values but keeps the fields' lengths right, so that only our own code can notice.
    value => sub {
        my $bytes = $whole;
        my $at = 19;
        my @values;
        while ($at + 2 <= $length && unpack('n', substr $bytes, $at, 2) == 2)
        {
            $at += 2 + 4 + 4;
            my $size = unpack 'N', substr $bytes, $at, 4;
            $at += 4;
            next if $size == 0xFFFFFFFF;
            push @values, [ $at, $size ];
            $at += $size;
        }
        my ($start, $size) = @{ $values[ rand @values ] };
        my $header = $size < 24 ? $size : 24;
        substr($bytes, $start + int rand $header, 1) = chr int rand 256;
        return $bytes;
    },
    # Makes a value shorter or longer, with a matching length word.
    resized => sub {
        my $bytes = $whole;
        my $size = unpack 'N', substr $bytes, 29, 4;
        my $new = (int rand 2) ? int rand $size : $size + 1 + int rand 20;
        my $value = substr($bytes, 33, $size) . "\0" x 20;
        substr($bytes, 29, 4 + $size) = pack('N', $new) . substr $value, 0, $new;
        return $bytes;
    });
my @names = sort keys %ways;

# One session runs everything: if it answers to the end, no backend has died.
my $script = "\\set ON_ERROR_STOP off\nSET client_min_messages = fatal;\n";
for my $number (1 .. $mutations)
{
    my $way = $names[ $number % @names ];
    open my $mutated, '>:raw', "$dir/m$number" or die "$dir/m$number: $!";
    print $mutated $ways{$way}->();
    close $mutated;
    $script .= <<"SQL";
BEGIN;
COPY loaded FROM '$dir/m$number' (FORMAT binary);
\\set copied :SQLSTATE
\\if :ERROR
ROLLBACK;
\\echo $number $way :copied - -
\\else
SELECT count(*) AS bad FROM loaded
WHERE sig IS NOT NULL AND (
    sig::text::minhash_signature IS DISTINCT FROM sig
    OR cardinality(sig::bigint[]) NOT IN (0, (minhash_scheme(sig)).num_hashes)
    OR (minhash_scheme(sig)).version IS DISTINCT FROM 1
    OR (minhash_similarity(sig, sig) = 1) IS DISTINCT FROM (cardinality(sig::bigint[]) > 0)
    OR cardinality(lsh_band_keys(sig, 2, 4)) NOT IN (0, 2)
    OR _minhash_hash(sig) IS NULL) \\gset
\\echo $number $way :copied :SQLSTATE :bad
ROLLBACK;
\\endif
SQL
}
$node->safe_psql('postgres', 'TRUNCATE loaded');
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
($code, $out, $error) = $node->psql('postgres', $script);
my @results = map { [ split ' ' ] } grep { /^\d+ / } split /\n/, $out;
is(@results, $mutations, 'the session lives through all of them');

# These are a bad binary value, a bad COPY file, and a field that is too large; 08P01 is the error of the other column's
# type for a number that is too short.
my %clean = map { $_ => 1 } qw(22P03 22P04 54000 08P01);
my @dirty;
for my $result (@results)
{
    my ($number, $way, $copied, $used, $bad) = @$result;
    my $valid = $copied eq '00000' && $used eq '00000' && $bad eq '0';
    push @dirty, $result unless $valid || $clean{$copied};
}
is(@dirty, 0, 'each gives a clean error or valid values');
diag("mutation @{$_}: not clean") for @dirty[ 0 .. ($#dirty < 9 ? $#dirty : 9) ];
my %count;
$count{ $_->[2] }++ for @results;
note("seed $seed: ", join ', ', map { "$count{$_} of SQLSTATE $_" } sort keys %count);
cmp_ok($count{'22P03'} // 0, '>', $mutations / 10, 'many reach the input of the type');
cmp_ok($count{'00000'} // 0, '>', $mutations / 20, 'some are still valid');
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'),
    $started, 'the server is the same');
$node->stop;
done_testing();
