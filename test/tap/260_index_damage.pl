# Damages pages of lsh indexes: whatever bytes they hold, lookups, insertion, VACUUM and lsh_check must give an error or
# a result, and never crash or go on for ever. MINHASH_ROUNDS=1000 is the long form, with 100,000 damaged pages in
# 20,000 indexes; MINHASH_SEED gives other damage.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{MINHASH_ROUNDS} || 10;
my $indexes = 20;
my $seed = $ENV{MINHASH_SEED} || 20261122;
srand $seed;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', <<'CONF');
allow_in_place_tablespaces = on
autovacuum = off
fsync = off
log_statement = none
statement_timeout = 60s
# Clusters of 18 have checksums by default, which would see the damage first.
ignore_checksum_failure = on
CONF
$node->start;
# When an index moves to another tablespace, it is copied as it is on disk. So damage to the copy shows at once, and is
# gone when the transaction is rolled back.
$node->safe_psql('postgres', 'CREATE EXTENSION minhash_lsh');
$node->safe_psql('postgres', q{CREATE TABLESPACE other LOCATION ''});
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION some_signature(n int) RETURNS minhash_signature IMMUTABLE LANGUAGE sql AS
    $$SELECT minhash(repeat(md5((n % 100)::text), 2) || n, 512)$$;
-- A tail of 500 rows becomes a run with the next ones. If `scoped`, the index has a scope, and rows with NULL came first.
CREATE PROCEDURE make(name text, first_rows int, later_rows int, scoped boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %1$I (id serial, part int DEFAULT 1, sig minhash_signature) WITH (autovacuum_enabled = off)',
        name);
    IF scoped THEN
        EXECUTE format('CREATE INDEX %1$s_sig ON %1$I USING lsh (part, sig);
            INSERT INTO %1$I (sig) SELECT NULL FROM generate_series(1, 50)', name);
    END IF;
    EXECUTE format('INSERT INTO %1$I (sig) SELECT some_signature(n) FROM generate_series(1, %2$s) n', name, first_rows);
    IF NOT scoped THEN
        EXECUTE format('CREATE INDEX %1$s_sig ON %1$I USING lsh (sig)', name);
    END IF;
    EXECUTE format('INSERT INTO %1$I (sig) SELECT some_signature(n) FROM generate_series(1001, 1000 + %2$s) n', name, later_rows);
END $$;
CREATE TABLE more AS SELECT some_signature(n) AS sig FROM generate_series(2001, 2040) n;
-- Returns the outcome of the actions: ok, or the SQLSTATE of the first error.
CREATE FUNCTION try(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    actions text[] := ARRAY[
        'ALTER INDEX %1$s_sig SET TABLESPACE other',
        'SELECT count(*) FROM %1$I WHERE sig %% some_signature(7)',
        'SELECT count(*) FROM %1$I WHERE sig %% some_signature(1300)',
        'SET LOCAL minhash_lsh.similarity_threshold = 0.5; SELECT count(*) FROM %1$I WHERE sig %% some_signature(50)',
        'SELECT count(*) FROM (SELECT FROM %1$I ORDER BY sig <%%> some_signature(7) LIMIT 5) s',
        'SELECT count(*) FROM (SELECT FROM %1$I ORDER BY sig <%%> some_signature(7)) s',
        'SELECT count(*) FROM (SELECT FROM %1$I WHERE part = 1 ORDER BY sig <%%> some_signature(7)) s',
        'SELECT count(*) FROM %1$I WHERE part = 1 AND minhash_similar(sig, some_signature(50), 0.1)',
        'SELECT lsh_check(''%1$s_sig'', heap => true)',
        'INSERT INTO %1$I (sig) SELECT sig FROM more'];
    action text;
    result text := '';
BEGIN
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_sort = off;
    FOREACH action IN ARRAY actions LOOP
        BEGIN
            EXECUTE format(action, name);
            result := result || ' ok';
        EXCEPTION WHEN OTHERS THEN
            -- PostgreSQL's own errors, without a specific code. Damaged copies of signatures lead to wrong distances.
            -- Damaged TIDs name blocks far behind the table's end, or places that pages do not have.
            result := result || ' ' || CASE WHEN SQLERRM = 'index returned tuples in wrong order' THEN 'disorder'
                WHEN SQLERRM ~ '^could not open file .* previous segment|^tuple offset out of range' THEN 'no_row' ELSE SQLSTATE END;
        END;
        EXIT WHEN result !~ '^ ok';
    END LOOP;
    RETURN result;
END $$;
SQL
my (@files, @whole);

# Where the meta page has its runs, merges and dead trees. Its contents begin at byte 24 of the file, with counts; 64
# runs begin 96 bytes later.
my ($runs_at, $merges_at, $dead_trees_at) = (24 + 96, 24 + 96 + 64 * 56, 24 + 96 + 64 * 56 + 8 * 56);

# The last leaf of the merge in progress; none if there is no merge, or it has no leaf yet.
sub last_leaf
{
    my ($bytes) = @_;
    return if unpack('L', substr $bytes, 24 + 56) == 0;
    my (undef, $entries, $last_leaf) = unpack 'Q Q L', substr $bytes, $merges_at;
    return $entries > 0 ? $last_leaf : undef;
}

# Makes an index whose runs have one or two levels. It has two runs, or one run and a tail that is about to become the
# second. In every fifth index, a merge is in progress, which the next insertions continue. Some indexes have a scope.
sub make_index
{
    my ($at) = @_;
    my $rows = $at % 5 == 0 ? 1100 : $at == 4 ? 3000 : 250;
    $node->safe_psql('postgres', "CALL make('t$at', $rows, " . ($at % 2 ? 600 : 500) . ', ' . ($at % 5 == 3 ? 'true' : 'false') . ')');
    $files[$at] = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t${at}_sig')");
    for (1 .. 100)
    {
        $node->safe_psql('postgres', 'CHECKPOINT');
        $whole[$at] = slurp_file($files[$at]);
        return if $at % 5 || last_leaf($whole[$at]);
        $node->safe_psql('postgres', "INSERT INTO t$at (sig) SELECT some_signature(n) FROM generate_series(3001, 3015) n");
    }
    die 'no merge is under way';
}
make_index($_) for 1 .. $indexes;
my $try = 'BEGIN; ' . join('', map { "SELECT try('t$_');" } 1 .. $indexes) . ' ROLLBACK;';
my $sound = $node->safe_psql('postgres', $try);
unlike($sound, qr/[0-9A-Z]{5}/, 'all is well before');

# Changes a page in one to three places: a bit, a byte, or a number of 2, 4 or 8 bytes, often near the start or the end,
# where the counts are.
sub damage_page
{
    my ($bytes, $block) = @_;
    my $blocks = length($$bytes) / 8192;
    for (0 .. int rand 3)
    {
        my $where = rand;
        my $at = $block == 0 && $where < 0.15 ? $merges_at + int rand 56 : $block == 0 && $where < 0.2 ? $dead_trees_at + int rand 64
            : $where < 0.4 ? 24 + int rand 160 : $where < 0.6 ? 8176 + int rand 16 : $where < 0.65 ? 12 + int rand 6 : int rand 8184;
        my @values = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE, int rand 256, int rand 65536, int rand $blocks);
        my $value = $values[ int rand @values ];
        my $kind = int rand 5;
        my $from = $block * 8192 + $at;
        my $new = $kind == 0 ? chr(ord(substr $$bytes, $from, 1) ^ 1 << int rand 8)
            : $kind == 1 ? chr($value & 255) : $kind == 2 ? pack('v', $value & 65535)
            : $kind == 3 ? pack('V', $value) : pack('VV', $value, rand() < 0.5 ? 0 : $value);
        $new = substr $new, 0, 8192 * ($block + 1) - $from;
        substr($$bytes, $from, length $new) = $new;
    }
    return;
}

# Damages one to nine pages, and the meta page in one index of seven.
my $damaged = 0;
sub damage
{
    my ($bytes) = @_;
    my $blocks = length($bytes) / 8192;
    my $pages = 1 + int rand 9;
    damage_page(\$bytes, $_ == 1 && rand() < 0.15 ? 0 : 1 + int rand($blocks - 1)) for 1 .. $pages;
    $damaged += $pages;
    return $bytes;
}

sub write_file
{
    my ($file, $bytes) = @_;
    open my $out, '+<:raw', $file or die "$file: $!";
    print $out $bytes;
    close $out or die "$file: $!";
    return;
}

# Makes records point to a block that no table has: PostgreSQL takes its number as a request for a new page of the
# table.
my $without_rows = $whole[1];
for my $block (1 .. length($without_rows) / 8192 - 1)
{
    next unless unpack('v', substr $without_rows, 8192 * $block + 8188, 2) == 2; # a page of records
    substr($without_rows, 8192 * $block + 24 + 518 * $_ + 512, 4) = "\xFF" x 4 for 0 .. 14;
}
write_file($files[1], $without_rows);
my $size = $node->safe_psql('postgres', q{SELECT pg_relation_size('t1')});
is($node->safe_psql('postgres', q{BEGIN; SELECT try('t1'); ROLLBACK}), ' ok' . ' XX002' x 8 . ' ok', 'records of no possible row are seen');
is($node->safe_psql('postgres', q{SELECT pg_relation_size('t1')}), $size, 'the table does not grow by them');

my %seen;
for my $round (1 .. $rounds)
{
    write_file($files[$_], damage($whole[$_])) for 1 .. $indexes;
    my ($status, $out, $error) = $node->psql('postgres', $try);
    if ($status != 0)
    {
        fail("round $round of seed $seed: status $status");
        diag($error);
        last;
    }
    $seen{$_}++ for split ' ', $out;
    note("$round rounds, $damaged pages: ", join ', ', map { "$_: $seen{$_}" } sort keys %seen) if $round % 100 == 0;
    if ($round % 5 == 0)
    {
        # Does the same without rolling back: VACUUM meets the damage, and REINDEX repairs it.
        my $at = 1 + int rand $indexes;
        $node->psql('postgres', "ALTER INDEX t${at}_sig SET TABLESPACE other");
        ($status, $out, $error) = $node->psql('postgres', "DELETE FROM t$at WHERE id % 3 = 0");
        ($status, $out, $error) = $node->psql('postgres', "VACUUM (INDEX_CLEANUP ON) t$at");
        $seen{"vacuum " . ($error =~ /ERROR/ ? 'error' : 'ok')}++;
        like($error, qr/^(?!.*(?:server closed|terminated|timeout))/s, "VACUUM of a damaged index: $error") if $status == 2;
        $node->safe_psql('postgres', "DROP TABLE t$at");
        make_index($at);
    }
}
note("$damaged pages: ", join ', ', map { "$_: $seen{$_}" } sort keys %seen);
# 22...: the scheme in the meta page differs from that of the signatures; 55000: the version differs.
is_deeply([ grep { !/^(?:ok|disorder|no_row|XX001|XX002|22000|22023|55000|54000|vacuum .*)$/ } keys %seen ], [], 'errors that say so, and no others');
cmp_ok($seen{XX002} // 0, '>', $rounds, 'damage is seen');
write_file($files[$_], $whole[$_]) for 1 .. $indexes;
unlike($node->safe_psql('postgres', $try), qr/[0-9A-Z]{5}/, 'all is well again');

# If the state of a merge makes no sense, the call that would continue it fails; so does one that finds an open page
# without room.
my $merging = $whole[5];
my $records = (grep { unpack('v', substr $merging, 8192 * $_ + 8188, 2) == 2 } 1 .. length($merging) / 8192 - 1)[0];
my $part = (grep { unpack 'Q', substr $merging, $runs_at + 56 * $_ + 16, 8 } 0 .. unpack('L', substr $merging, 24 + 28, 4) - 1)[0];
my $open = unpack 'L', substr $merging, 24 + 68, 4;
for my $case ([ 'a merge without a number', $merges_at, pack 'Q', 0 ], [ 'a merge of the future', $merges_at, pack 'Q', 1 << 40 ],
    [ 'a merge of 200 levels', $merges_at + 20, pack 'L', 200 ],
    [ 'a merge of nine levels', $merges_at + 20, pack 'L', 9 ],
    [ 'a run of no merge', $runs_at + 56 * $part + 16, pack 'Q', 0 ], [ 'a run of another merge', $runs_at + 56 * $part + 16, pack 'Q', 1 ],
    [ 'a merge without a last leaf', $merges_at + 16, pack 'L', 0xFFFFFFFF ],
    [ 'a last leaf behind the end', $merges_at + 16, pack 'L', 0xFFFFFF ],
    [ 'a last leaf that is a page of records', $merges_at + 16, pack 'L', $records ],
    [ 'a dead tree of nine levels', 24 + 60, pack('L', 1), $dead_trees_at, pack 'QLL', 1, 1, 9 ],
    [ 'an inner page with other room', 8192 * unpack('L', substr $merging, $merges_at + 24, 4) + 24 + 20, pack 'L', 677 ],
    [ 'an open page without room', 8192 * $open + 14, substr $merging, 8192 * $open + 12, 2 ])
{
    my ($what, @changes) = @$case;
    my $changed = $merging;
    while (my ($at, $value) = splice @changes, 0, 2)
    {
        substr($changed, $at, length $value) = $value;
    }
    isnt($changed, $merging, "$what: changes something");
    write_file($files[5], $changed);
    my (undef, undef, $error) = $node->psql('postgres', "BEGIN; ALTER INDEX t5_sig SET TABLESPACE other; "
          . "INSERT INTO t5 (sig) SELECT some_signature(n) FROM generate_series(4001, 4100) n; ROLLBACK", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
    like($error, qr/ERROR:  XX00[12]:/, "$what: insertion says so");
}
write_file($files[5], $merging);

# Makes a row with two records, and a record without a row, as VACUUM would leave it if it missed one: the record of the
# third row, which is deleted, gets another TID. Records take 512 hashes and 6 bytes, and start at byte 24 of the first
# page after the meta page.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE places AS SELECT n AS id, some_signature(n) AS sig FROM generate_series(1, 10) n;
ALTER TABLE places SET (autovacuum_enabled = off);
CREATE INDEX places_sig ON places USING lsh (sig);
DELETE FROM places WHERE id = 3;
CHECKPOINT;
SQL
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('places_sig')});
my $undamaged = slurp_file($file);
for my $case ([ 3, qr/^10\|$/ ], [ 5, qr/row \(0,5\) has two records in index "places_sig"/ ],
    [ 100, qr/row \(0,100\) is not in the table, but has a record in index "places_sig"/ ])
{
    my ($place, $expected) = @$case;
    my $changed = $undamaged;
    substr($changed, 8192 + 24 + 2 * 518 + 512, 6) = pack 'S3', 0, 0, $place;
    write_file($file, $changed);
    my (undef, $out, $error) = $node->psql('postgres', "BEGIN; ALTER INDEX places_sig SET TABLESPACE other; "
          . "SELECT records FROM lsh_check('places_sig'); SELECT lsh_check('places_sig', heap => true); ROLLBACK");
    like("$out|$error" =~ s/\n.*?(?=\|)//sr, $expected, "a record of place $place");
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|was terminated by signal/, 'the server lives');
$node->stop;
done_testing();
