# Prints texts of this machine as rows (id, text) for COPY. `pages` prints all manual pages as they are. `plain` prints
# English ones without most of their markup, and only a few from each family that shares boilerplate. `sentences` prints
# the distinct sentences of these in a random order that is the same every time. `doc_sentences` takes sentences from
# the documentation in /usr/share/doc, which has less boilerplate.
# man_texts.pl pages | plain | sentences | doc_sentences
use strict;
use warnings;

use File::Find;
use IO::Uncompress::Gunzip qw(gunzip);

my $what = shift // '';
die "usage: $0 pages | plain | sentences | doc_sentences\n" unless $what =~ /\A(pages|plain|(doc_)?sentences)\z/;
my @paths;
my $documentation = $what eq 'doc_sentences';
find(
    {   no_chdir => 1,
        wanted => sub { push @paths, $_ if -f && !-l && ($documentation ? -s _ < 1_000_000 : /\.gz\z/) }
    },
    $documentation ? '/usr/share/doc' : '/usr/share/man');

my ($id, %family, %seen, @sentences);
sub print_row
{
    my ($text) = @_;
    $text =~ s/\\/\\\\/g;
    $text =~ s/\n/\\n/g;
    $text =~ s/\r/\\r/g;
    $text =~ s/\t/\\t/g;
    print ++$id, "\t$text\n";
}

for my $path (sort @paths)
{
    my $text;
    gunzip($path => \$text) or next; # which also reads files that are not compressed
    next if index($text, "\0") >= 0;
    my $copy = $text;
    next unless utf8::decode($copy);
    if ($what eq 'pages')
    {
        print_row($text);
        next;
    }
    if ($documentation)
    {
        $text =~ s/<[^>]*>/ /g;
    }
    else
    {
        next unless $path =~ m{^/usr/share/man/man};
        $text =~ s/^[.'].*$//mg;
        $text =~ s/\\f.|\\[&|]//g;
    }
    if ($what eq 'plain')
    {
        next if $path !~ m{/([[:alnum:]]*)[^/]*\z} || $family{$1}++ >= 20;
        $text =~ s/\s+/ /g;
        print_row($text);
        next;
    }
    for my $sentence (split /(?<=[.!?])\s+|\n\s*\n/, $text)
    {
        $sentence =~ s/\s+/ /g;
        push @sentences, $sentence
          if length($sentence) >= 40 && length($sentence) <= 400 && !$seen{$sentence}++;
    }
}
srand 1;
for my $left (reverse 1 .. @sentences)
{
    my $chosen = int rand $left;
    print_row($sentences[$chosen]);
    $sentences[$chosen] = $sentences[ $left - 1 ];
}
