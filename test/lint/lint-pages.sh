#!/usr/bin/env bash
# What users read is tested: the SQL of README.md and of doc/ is the same as in sql/readme.sql and sql/doc_*.sql, the
# results that a page shows (```text) appear in the expected output, and every link has a target. README.md stays short.
# A page of doc/ begins with a statement and its result, and ends with the three things that go wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0

for page in README.md doc/*.md doc/distributed/*.md; do
    test=$(test/tools/page_sql.sh --name "$page")
    # test/tap/610 runs the SQL of this page.
    [[ $page != doc/distributed/more-than-one-server.md ]] || continue
    if grep -q '^```sql$' "$page" && [[ ! -e $test || ! -e expected/$(basename "$test" .sql).out ]]; then
        echo "$page has no $test, or no expected output"
        status=1
    elif [[ -e $test ]] && ! test/tools/page_sql.sh "$page" | diff --label "$page" --label "$test" -u - "$test"; then
        echo "to cure: test/tools/page_sql.sh --all (and look at expected/)"
        status=1
    fi
done
# For other versions of PostgreSQL, the expected output differs only within lines, and has the same number of lines.
for other in expected/doc_*_1.out; do
    if (($(wc -l <"$other") != $(wc -l <"${other%_1.out}.out"))); then
        echo "$other does not have the lines of ${other%_1.out}.out"
        status=1
    fi
done
for test in sql/doc_*.sql; do
    page=doc/$(basename "${test#sql/doc_}" .sql | tr _ -).md
    if [[ -e $test && ! -e $page ]]; then
        echo "$test has no $page"
        status=1
    fi
done

# shellcheck disable=SC2016  # Perl's variables
perl -CSD -e '
    my $failed = 0;
    sub complain { print @_, "\n"; $failed = 1 }
    sub text_of { local $/; open my $file, "<:utf8", $_[0] or die "$_[0]: $!"; scalar <$file> }
    # The anchors of GitHub: lower case, no punctuation, hyphens for spaces.
    sub anchors { map { lc =~ s/[^\w\- ]//gr =~ s/ /-/gr } text_of($_[0]) =~ /^#+ (.*)/gm }
    for my $page (@ARGV) {
        my $text = text_of($page);
        (my $name = lc $page =~ s/\.md$//r) =~ s/[\/-]/_/g;
        my $shown = -e "expected/$name.out" ? text_of("expected/$name.out") =~ s/ +$//gmr =~ s/\bpage\./public./gr : "";
        for my $result ($text =~ /^```text\n(.*?)^```$/gms) {
            complain("$page: not in expected/$name.out:\n$result") if index($shown, $result =~ s/ +$//gmr) < 0;
        }
        my ($folder) = $page =~ m{^(.*/)};
        (my $prose = $text) =~ s/^```.*?^```$//gms;
        for my $link ($prose =~ /\]\(([^)\s]+)\)/g) {
            next if $link =~ /^https?:/;
            my ($file, $anchor) = $link =~ /^([^#]*)#?(.*)/;
            my $path = $file eq "" ? $page : ($folder // "") . $file;
            $path =~ s{[^/]+/\.\./}{};
            if (!-e $path) { complain("$page: no such file: $link") }
            elsif ($anchor ne "" && !grep { $_ eq $anchor } anchors($path)) { complain("$page: no such heading: $link") }
        }
        my $lines = () = $text =~ /\n/g;
        complain("$page has $lines lines, more than 150") if $page eq "README.md" && $lines > 150;
        next if $page !~ /^doc/ || $page =~ /reference/;
        my ($start) = $text =~ /^(.*?)^## /ms;
        complain("$page does not begin with a statement and its result")
            if $page !~ /compared|how-it-is-checked|distributed/ && $start !~ /^```(sql|python)\n.*(^```text\n|  # .*\n```\n)/ms;
        my ($wrong) = $text =~ /^## What can go wrong$(?!.*^## (?!Details$))(.*?)(?:^---$|\z)/ms;
        my $things = () = ($wrong // "") =~ /^- \*\*/gm;
        complain("$page ends with $things things under \"What can go wrong\", not three") if $things != 3 && $page !~ /distributed/;
    }
    exit $failed;
' README.md doc/*.md doc/distributed/*.md || status=1
exit $status
