# Calls every function and operator of the extension, as the catalogue lists them, with NULLs, extremes, nested arrays
# and whatever else their types allow, wherever SQL can call them. A call may fail with one of our errors, but must
# never crash or fail with an internal error. A new function is called without a change here; a new argument type needs
# values.
use strict;
use warnings;

use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = 30;    # for each function, and as many again for every two optional arguments
my $seed = 20261121;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->append_conf('postgresql.conf', "log_statement = none\nlog_min_error_statement = panic\nmax_stack_depth = 1MB");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
-- A signature of each kind.
CREATE TABLE signatures AS
    SELECT row_number() OVER () AS id, sig
    FROM (VALUES ('The quick brown fox jumps over the lazy dog'), ('The quick brown fox jumps over the lazy cat'),
                 ('')) AS texts (body),
        LATERAL (VALUES (minhash(body)), (minhash(body, 16, method => 'classic')), (minhash(body, 4096)),
                 (minhash(body, 64, 2, 'word', false, true, -1)), (minhash_compress(minhash(body, 129), 1)),
                 (minhash_compress(minhash(body), 8)), (minhash(body, 100, 255, fold => false)),
                 (minhash_from_values('{7,17,0,4294967295,1,2,3,4,5,6,8,9,10,11,12,13}', 1))) AS s (sig);
-- Ids that crash the server if they are taken for pointers.
CREATE TABLE source AS
    SELECT 140000000000000 + id AS id, minhash('the same text, or nearly: ' || id) AS sig FROM generate_series(1, 20) id;
ALTER TABLE source ADD PRIMARY KEY (id);
SELECT lsh_create_band_table('source');
CREATE TABLE empty (id uuid PRIMARY KEY, sig minhash_signature);
SELECT lsh_create_band_table('empty');
CREATE TABLE plain AS SELECT * FROM source;
ALTER TABLE plain ADD PRIMARY KEY (id);
CREATE VIEW source_view AS TABLE source;
SQL

# Values for arguments: usual ones by name or type, so that a call gets far, and unusual ones.
my @integers = qw(0 1 -1 2 5 17 255 256 4096 4097 65536 2147483647 -2147483648);
my %usual = (
    query => [ q('TABLE source'), q('SELECT id, ''the same text, or nearly: '' || id FROM source') ],
    other_query => [ q('TABLE source') ],
    apart => [ q('SELECT id, id + 1 FROM source'), q('SELECT a.id, b.id FROM source a, source b') ],
    unit => [ q('char'), q('word') ],
    method => [ q('fss'), q('classic') ],
    verify => [ q('estimate'), q('exact') ],
    rule => [ q('area'), q('recall') ],
    text => [ map { "'$_'" } 'the same text, or nearly', 'char', 'word', 'fss', 'classic' ],
    integer => [ 1, 2, 4, 16, 64, 128 ],
    smallint => [ 1, 2 ],
    bigint => [ 0, 42 ],
    'double precision' => [ 0.5, 0.8, 0.95 ],
    boolean => [ 'true', 'false' ],
    source => [ q('source'), q('empty') ],
    band_table => [ q('source_bands') ],
    regclass => [ q('source'), q('empty'), q('source_bands') ],
    regtype => [ q('bigint'), q('uuid') ],
    name => [ q('id'), q('sig') ],
    _lsh_kept => [ q(NULL::_lsh_kept) ],
    _lsh_kept_row => [ q(NULL::_lsh_kept_row) ],
    'timestamp with time zone' => [ q(now()) ],
    _lsh_column => [ q('body'), q('') ],
    'regprocedure[]' => [ q('{}'), q('{0}') ],
    signature => [ q((SELECT sig FROM source LIMIT 1)) ],
    minhash_signature => [ map { "(SELECT sig FROM signatures WHERE id = $_)" } 1 .. 24 ],
    minhash_abridged => [ map { "(SELECT sig FROM signatures WHERE id = $_)" } 1 .. 24 ],
    minhash_query => [ q(_minhash_query(minhash('a'), 0.5)), q(_minhash_query(minhash(''), 1)) ],
    anyelement => [ q(NULL::bigint) ],
    anycompatible => [ 4, 20, q('5'), q('{4,8}'), q('{13}'::int[]), q('c'::text) ],
    '"any"' => [ q('a'), q('b'), q('c'::text) ],
    anyarray => [ q('{a,b,c}'::text[]), q('{1,2,2}'::int[]), q('{}'::uuid[]), q(ARRAY['\x00'::bytea]) ],
    anycompatiblearray => [ q('{a,b,c}'::text[]), q('{c,b,d}'::text[]) ]);
my %unusual = (
    text => [ q(''), q(' '), q(repeat('x', 100000)), q(repeat(E'\t\n ', 3000)), q(chr(1114109) || 'x'), q(repeat(chr(65533), 300)),
        q(E'\u0130\u0131\u1e9e\ufb03'), q((SELECT string_agg(md5(n::text), ' ') FROM generate_series(1, 2000) n)), q('DROP TABLE source'),
        q('SELECT 1/0, 2'), q(';;'), q('VALUES (1, ''a b c d e f'')'), q('SELECT NULL::bigint, NULL::text'), q('SELECT id, sig FROM signatures'), q('SELECT id::text, sig FROM empty'),
        q('SELECT * FROM source, source s'), q('SELECT id, body FROM lsh_pairs(''TABLE source'') p (id, x, body)'), q('SELECT FROM source'),
        q('SELECT ROW(1), ARRAY[''x'']') ],
    integer => [ map { "($_)" } @integers ],
    smallint => [ 0, '(-1)', 32767, '(-32768)' ],
    bigint => [ map { "($_)" } @integers, '9223372036854775807', '-9223372036854775808' ],
    'double precision' => [ map { "'$_'" } qw(0 -0 1 -1 NaN Infinity -Infinity 1e-320 1e308 0.9999999999999999 1.0000000000000002) ],
    boolean => ['NULL'],
    regtype => [ q('text'), q('json'), q('point'), q('anyelement'), q('record'), 0, 4294967295 ],
    regclass => [ q('empty'), q('plain'), q('source_view'), q('source_pkey'), q('signatures'), q('pg_class'), 0, 4294967295 ],
    name => [ q(''), q('missing'), q('xmin'), q('ctid'), q(repeat('n', 70)) ],
    oid => [ 0, 25, 4294967295 ],
    uuid => [ q('00000000-0000-0000-0000-000000000000'), q('ffffffff-ffff-ffff-ffff-ffffffffffff') ],
    bytea => [ q('\x'), q('\x00'), q('\xdeadbeef'), q(decode(repeat('ff', 5000), 'hex')), q(_minhash_signature_send(minhash('abcdefg'))) ],
    jsonb => [ q('{}'), q('[1, null]'), q('"x"') ],
    tsvector => [ q(''), q('a:1,2,3,4A b:16383'), q(to_tsvector('simple', repeat('foo bar ', 300))) ],
    cstring => [ q(''), q('16'), q('fss1:16x1:char5:fold:set:42:0000'), q('fss1:4096x32:element:bag:-1:ff') ],
    minhash_signature => [ map { "minhash($_)" } q(''), q('a'), q(repeat('long ', 10000)) ],
    minhash_query => [ q(_minhash_query(minhash('a'), 0.5)), q(_minhash_query(minhash(''), 1)) ],
    anyelement => [ map { "NULL::$_" } qw(int uuid text point xid record int[] name "char" minhash_signature json numeric source float8 regclass) ],
    anycompatible => [ q(7), q(''), q(2.5), q('{}'::json), q(point(1, 2)), q(ARRAY[1]), q((SELECT s FROM source s LIMIT 1)) ],
    '"any"' => [ q(7), q(''), q(2.5), q('{}'::json), q(point(1, 2)), q(ARRAY[1]), q((SELECT s FROM source s LIMIT 1)) ],
    anyarray => [ q('{}'::text[]), q('{{1,2},{3,4}}'::smallint[]), q('[-3:-1]={1,NULL,1}'::bigint[]), q('{a}'::name[]), q(ARRAY[ROW(1, NULL)]),
        q(ARRAY[point(1, 2)]), q(ARRAY['{}'::json]), q((SELECT array_agg(n) FROM generate_series(1, 30000) n)) ],
    anycompatiblearray => [ q('{}'::text[]), q('{{1,2},{3,4}}'::int[]), q('[-3:-1]={1,NULL,1}'::int[]), q('{NaN,1,1.0,NULL}'::numeric[]), q(ARRAY[ROW(1, NULL)]),
        q((SELECT array_agg(s) FROM source s)), q(ARRAY[point(1, 2)]), q(ARRAY['{}'::json]), q((SELECT array_agg(n) FROM generate_series(1, 30000) n)) ]);

srand($seed);
sub one_of { return $_[ rand @_ ] }

# How often a value of the next call is unusual. A call with many arguments only gets far if few of them are unusual.
my $wild;

# The types that the catalogue names and the lists above lack.
my %unknown;

sub value
{
    my ($type, $name) = @_;
    my $polymorphic = $type =~ /^"?any/;
    if (rand() < $wild / 4)
    {
        return 'NULL' . ($polymorphic ? '' : "::$type");
    }
    if (!$usual{$type} && !$unusual{$type} && $type =~ /^(.*)\[\]$/)
    {
        my $element = $1;
        return one_of("'{}'::$type", "array_fill(" . value($element) . ", ARRAY[3, 2, 2], ARRAY[-5, 0, 7])::$type") if rand() < 0.3;
        return 'ARRAY[' . join(', ', map { value($element) } 0 .. rand 20) . "]::$type";
    }
    my $list = rand() > $wild && ($usual{ $name // '' } || $usual{$type}) || $unusual{$type} || $usual{$type};
    if (!$list)
    {
        $unknown{$type} = 1;
        return "NULL::$type";
    }
    my $value = one_of(@$list);
    return $polymorphic ? $value : "$value\::$type";
}

# Everything that SQL can call.
my $of_extension = q{JOIN pg_depend d ON d.objid = o.oid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minhash_lsh'};
my @functions = map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', <<"SQL");
SELECT o.oid::regproc, o.prokind, o.proretset, o.pronargdefaults, array_to_string(o.proargnames[:o.pronargs], ','),
    (SELECT string_agg(format_type(type, NULL), ',' ORDER BY n) FROM unnest(o.proargtypes) WITH ORDINALITY t (type, n))
FROM pg_proc o $of_extension AND d.classid = 'pg_proc'::regclass
WHERE NOT 'internal'::regtype = ANY (o.proargtypes)
ORDER BY o.oid::regprocedure::text
SQL
my @operators = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', <<"SQL");
SELECT o.oprname, o.oprleft::regtype, o.oprright::regtype
FROM pg_operator o $of_extension AND d.classid = 'pg_operator'::regclass
ORDER BY o.oid::regoperator::text
SQL

# The places where an expression, an aggregate and a function that returns rows may appear.
my @expressions = ('SELECT %s', 'SELECT (%s)::text', 'SELECT count(*) FROM generate_series(1, 3) WHERE (%s) IS NOT NULL',
    'SELECT x, count(*) FROM (SELECT %s AS x OFFSET 0) s GROUP BY x', 'SELECT * FROM generate_series(1, 2) n, LATERAL (SELECT %s AS x OFFSET n - n) s ORDER BY x');
my @aggregations = ('SELECT %s FROM generate_series(1, 3) n', 'SELECT n, %s FROM generate_series(1, 7) n GROUP BY n', 'SELECT %s FROM generate_series(1, 0) n',
    'SELECT %s FILTER (WHERE n > 2) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM generate_series(1, 5) n');
my @row_sources = ('SELECT * FROM %s LIMIT 3', 'SELECT %s', 'SELECT x.* FROM generate_series(1, 2) n, LATERAL %s x', 'SELECT count(*) FROM %s');
# For functions whose columns the caller names: the types of ids, and the columns after them (undef: also an id).
my %columns = (_lsh_kept_clusters => [ 3, 'int8', 'float8', undef ],
    _lsh_kept_hashes => [ 1, 'int8' ], _lsh_kept_rows => [ 1, 'text' ]);
sub named_columns
{
    my ($ids, @others) = @_;
    my $id = one_of(qw(int8 int8 uuid text json));
    my @types = (($id) x $ids, map { $_ // $id } @others);
    return join ', ', map { "c$_ $types[$_]" } 0 .. $#types;
}

my @statements;
for my $function (@functions)
{
    my ($name, $kind, $rows, $defaults, $names, $types) = @$function;
    my @types = split /,/, $types;
    my @names = split /,/, $names;
    for (1 .. $calls * (1 + $defaults / 2))
    {
        $wild = one_of(0.01, 0.1, 0.4);
        my $named = one_of(0.1, 0.3);
        my $needed = @types - $defaults;
        my $given = $needed + int rand $defaults + 1;
        my @arguments = map { value($types[$_], $names[$_]) } 0 .. $#types;
        # Passes some of the optional arguments by name, in any order, or the first ones by position.
        if (@names == @types && !grep({ $_ eq '' } @names) && rand() < 0.4)
        {
            my @named = grep { $_ < $needed || rand() < $named } 0 .. $#types;
            @arguments = shuffle(map { "$names[$_] => $arguments[$_]" } @named);
        }
        else
        {
            splice @arguments, $given;
        }
        my $distinct = $kind eq 'a' && @arguments == 1 && rand() < 0.1 ? 'DISTINCT ' : '';
        my $where = $columns{$name} ? 'SELECT * FROM %s AS x(' . named_columns(@{ $columns{$name} }) . ') LIMIT 3' : one_of($kind eq 'a' ? @aggregations : $rows eq 't' ? @row_sources : @expressions);
        push @statements, [ $name, sprintf $where, "$name($distinct" . join(', ', @arguments) . ')' ];
    }
}
for my $operator (@operators)
{
    my ($name, $left, $right) = @$operator;
    $wild = 0.2;
    push @statements, [ $name, sprintf one_of(@expressions), value($left) . " $name " . value($right) ] for 1 .. $calls;
}
cmp_ok(@functions, '>', 50, 'the functions are found');
cmp_ok(@operators, '>', 5, 'and the operators');
is(join(' ', sort keys %unknown), '', 'each type of argument has values');

# One session runs everything: if it answers to the end, no backend has died.
my $script = <<'SQL';
\set ON_ERROR_STOP off
\set SHOW_ALL_RESULTS off
\o /dev/null
SET client_min_messages = fatal;
SET statement_timeout = '2s';
SET work_mem = '4MB';
SQL
for my $number (0 .. $#statements)
{
    $script .= "BEGIN;\n$statements[$number][1];\n\\warn $number :SQLSTATE :LAST_ERROR_MESSAGE\nROLLBACK;\n";
}
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
my ($code, $out, $error) = $node->psql('postgres', $script);
my (%state, %message);
($state{$1}, $message{$1}) = ($2, $3) while $error =~ /^(\d+) (\w{5}) (.*)$/mg;
is(keys %state, @statements, 'the session lives through all calls');
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server is the same');

my (%count, @inside, @long);
for my $number (sort { $a <=> $b } keys %state)
{
    $count{ $state{$number} }++;
    # The second error means that a function returned another type than the query was planned for.
    push @inside, $number if $state{$number} =~ /^XX/ || $state{$number} eq '42804' && $message{$number} =~ /^attribute \d+ of type/;
    push @long, $number if $state{$number} eq '57014';
}
is(@inside, 0, 'none fails inside');
is(@long, 0, 'none takes longer than its time');
diag("$state{$_}: " . substr $statements[$_][1], 0, 1000) for (@inside, @long)[ 0 .. (@inside + @long < 10 ? @inside + @long : 10) - 1 ];
cmp_ok($count{'00000'} // 0, '>', @statements / 5, 'many calls have a result');
note("seed $seed: ", join ', ', map { "$count{$_} of SQLSTATE $_" } sort { $count{$b} <=> $count{$a} } keys %count);
my %succeeds = map { $statements[$_][0] => 1 } grep { $state{$_} eq '00000' } keys %state;
note('never a result: ', join ' ', grep { !$succeeds{$_} } map { $_->[0] } @functions);
$node->stop;
done_testing();
