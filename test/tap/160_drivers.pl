# Runs the Python of doc/drivers.md with psycopg 2 and 3, and tries what the page says of SQLAlchemy. Skips drivers that
# the session cannot use; test/check.sh installs them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $python = '/usr/bin/python3';
my $drivers = 'import psycopg, psycopg2, sqlalchemy';
plan skip_all => "$python cannot import psycopg, psycopg2 and sqlalchemy"
    if system("$python -c '$drivers' 2>/dev/null") != 0;

my $page = slurp_file("$ENV{TESTDIR}/drivers.md");
my ($first, $operator, $table, $expressions, $list, $sketch) = $page =~ /^```python\n(.*?)^```/msg;
my ($built) = $page =~ /`(format\('… site = %%L', %s::text\))`/;
my ($first_result) = $first =~ /^print\(.*  # (.*)/m;
ok($first_result && $operator && $table && $expressions && $list && $sketch && $built, 'the page has what is tried here');
$built =~ s/…/SELECT id, body FROM articles WHERE/;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION minhash_lsh;
CREATE TABLE articles (id bigint PRIMARY KEY, site text, body text NOT NULL,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO articles VALUES (1, 'O''Reilly', 'The quick brown fox jumps over the lazy dog near the river.'),
                            (2, 'O''Reilly', 'The quick brown fox jumps over the lazy dog near the river!'),
                            (3, 'mirror', 'Colourless green ideas sleep furiously.');
CREATE TABLE sketches (id bigint PRIMARY KEY, sig minhash_signature);
ALTER TABLE articles ADD CONSTRAINT no_copies EXCLUDE USING lsh (minhash(body) WITH %, id WITH <>) WITH (threshold = 0.99);
SQL

# Each line that the program prints is one test.
my $program = <<"PYTHON" . <<'PYTHON2';
import contextlib, io, sys, warnings
$drivers
connection_string, dialect = sys.argv[1:]
first, operator, table, expressions, lists, sketches, built = (text for text in (
    r"""$first""", r"""$operator""", r"""$table""", r"""$expressions""", r"""$list""", r"""$sketch""", r"""$built"""))
text = "the quick brown fox jumps over the lazy dog near the river"

class sketch:
    hashvalues = [297616339, 279951299, 113505080, 311917730, 1735256, 278730948, 249258812, 306660385]

def by_sqlalchemy():
    global articles
    import sqlalchemy.dialects.postgresql
    exec(table, globals())
    exec(expressions, globals())
    warnings.simplefilter("error")
    engine = sqlalchemy.create_engine("postgresql+psycopg2://", creator=lambda: psycopg2.connect(connection_string))
    with engine.begin() as connection:
        articles.create(connection)
        connection.execute(articles.insert(), [{"id": 1, "body": text + "!"}, {"id": 2, "body": "100% of something else"}])
        for condition in (near, same):
            print(dialect, connection.execute(sqlalchemy.select(articles.c.id).where(condition)).all())
        print(dialect, connection.execute(sqlalchemy.select(articles.c.id).order_by(nearest)).all())
        print(dialect, connection.execute(sqlalchemy.select(pairs)).all())
        raw = sqlalchemy.text("SELECT id FROM orm_articles WHERE sig % minhash(:text) ORDER BY sig <%> minhash(:text)")
        print(dialect, connection.execute(raw, {"text": text}).all())
        reflected = sqlalchemy.Table("orm_articles", sqlalchemy.MetaData(), autoload_with=connection)
        print(dialect, type(reflected.c.sig.type).__name__)
    try:
        with engine.begin() as connection:
            connection.execute(articles.insert(), [{"id": 3, "body": text}])
    except sqlalchemy.exc.IntegrityError as error:
        print(dialect, error.orig.diag.constraint_name)
PYTHON

if dialect == "sqlalchemy":
    by_sqlalchemy()
    sys.exit()
driver = psycopg if dialect == "psycopg" else psycopg2
errors = psycopg.errors if dialect == "psycopg" else __import__("psycopg2.errors").errors
with driver.connect(connection_string) as connection, connection.cursor() as cursor:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(first)
    print(dialect, printed.getvalue().strip())
    for line in operator.splitlines():
        exec(line)
        print(dialect, sorted(row[0] for row in cursor.fetchall()))
    exec(lists)
    print(dialect, cursor.fetchone()[0][:40])
    for id in (1, 2):
        exec(sketches)
    cursor.execute("SELECT minhash_similarity(a.sig, b.sig) FROM sketches a, sketches b WHERE a.id = 1 AND b.id = 2")
    print(dialect, cursor.fetchone()[0])
    cursor.execute(f"SELECT left_id, right_id FROM lsh_pairs({built}, threshold => 0.7)", ("O'Reilly",))
    print(dialect, cursor.fetchall())
    try:
        cursor.execute("INSERT INTO articles (id, body) SELECT 4, body FROM articles WHERE id = 1")
    except errors.ExclusionViolation as error:
        print(dialect, error.diag.table_name, error.diag.constraint_name, error.diag.message_detail)
    connection.rollback()
PYTHON2
my $file = PostgreSQL::Test::Utils::tempdir . '/drivers.py';
append_to_file($file, $program);

my @expected = (
    $first_result, '[1, 2]', '[1, 2]', '[1, 2]', 'fss1:128x32:element1:raw', '1.0', '[(1, 2)]',
    'articles no_copies Key (minhash(body), id)=(');
for my $dialect ('psycopg', 'psycopg2')
{
    my ($stdout, $stderr) = run_command([ $python, $file, $node->connstr('postgres'), $dialect ]);
    is($stderr, '', "$dialect: no error");
    my @lines = split /\n/, $stdout;
    is(scalar @lines, scalar @expected, "$dialect: all was run");
    for my $at (0 .. $#expected)
    {
        is(substr($lines[$at] // '', 0, length "$dialect $expected[$at]"), "$dialect $expected[$at]", "$dialect: line $at");
    }
}
my ($stdout, $stderr) = run_command([ $python, $file, $node->connstr('postgres'), 'sqlalchemy' ]);
my @found = ('[(1,)]', '[(1,)]', '[(1,), (2,)]', '[]', '[(1,)]', 'Signature', 'orm_articles_near');
is("$stdout$stderr", join("\n", map { "sqlalchemy $_" } @found), 'SQLAlchemy: the type, expressions, reflection, constraint');
$node->stop;
done_testing();
