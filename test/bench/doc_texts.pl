# Prints the different sentences of the documentation that packages of this machine bring, from
# /usr/share/doc, one in a line, in an order by chance that is the same every time. They have less
# boilerplate than those of manual pages (man_texts.pl).
# doc_texts.pl
use strict;
use warnings;

use File::Find;
use IO::Uncompress::Gunzip qw(gunzip);

my @paths;
find({ no_chdir => 1, wanted => sub { push @paths, $_ if -f && !-l && -s _ < 1_000_000 } }, '/usr/share/doc');

my (%seen, @sentences);
for my $path (sort @paths)
{
    my $text;
    gunzip($path => \$text) or next; # which also reads files that are not compressed
    my $copy = $text;
    next if index($text, "\0") >= 0 || !utf8::decode($copy);
    $text =~ s/<[^>]*>/ /g;
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
    print "$sentences[$chosen]\n";
    $sentences[$chosen] = $sentences[ $left - 1 ];
}
