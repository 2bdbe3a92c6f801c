# Writes four files of texts for recall_bench, one text per line, into a folder: sentences and whole manual pages of
# this machine, Chinese texts, and random words. Two of three texts are copies of an earlier one with some words
# replaced, so that there are pairs of every similarity.
# recall_texts.pl FOLDER [TEXTS]: TEXTS is the number of texts of each kind, besides their copies
use strict;
use warnings;

use IO::Uncompress::Gunzip qw(gunzip);

my $folder = shift // die "usage: $0 FOLDER [TEXTS]\n";
my $texts = shift // 600;
srand 1;

# The text of a manual page without most of its markup.
sub read_page
{
    my ($path) = @_;
    my $text;
    gunzip($path => \$text) or return '';
    $text =~ s/^[.'].*$//mg;
    $text =~ s/\\f.|\\[&|]//g;
    $text =~ s/\\-/-/g;
    return $text;
}

sub flat
{
    my ($text) = @_;
    $text =~ s/\s+/ /g;
    return $text;
}

# Copies a text and replaces each of its words with the same probability, up to 0.3.
sub edit
{
    my ($text, $words) = @_;
    my $share = 0.3 * rand() ** 2;
    return join ' ', map { rand() < $share ? $words->[rand @$words] : $_ } split / /, $text;
}

sub write_texts
{
    my ($name, @kind) = @_;
    @kind = @kind[0 .. $texts - 1] if @kind > $texts;
    my @words = map { split / / } @kind;
    my @all = @kind;
    push @all, edit($all[rand @all], \@words) for 1 .. 2 * @kind;
    open my $out, '>', "$folder/$name" or die "$folder/$name: $!";
    print $out "$_\n" for @all;
    close $out;
}

my @pages = sort glob '/usr/share/man/man[1-8]/*.gz';
my (@sentences, @whole);
for my $i (0 .. 3 * $texts)
{
    my $text = read_page($pages[ $i * @pages / (3 * $texts + 1) ]);
    my @own = grep { length($_) > 60 && length($_) < 400 } map { flat($_) } split /(?<=[.!?])\s+|\n\s*\n/, $text;
    push @sentences, $own[ rand @own ] if @own;
    push @whole, flat($text) if length($text) > 500 && length($text) < 4000;
}
write_texts('sentences', @sentences);
write_texts('pages', @whole);

# Chinese has few spaces, so words are taken to be the parts between punctuation marks.
my @chinese;
for my $path (sort glob '/usr/share/man/{zh_CN,zh_TW,ja}/man*/*.gz')
{
    my $text = flat(read_page($path));
    $text =~ s/(?=\xE3\x80\x82|\xEF\xBC\x8C)/ /g;
    push @chinese, $1 while $text =~ /\G(.{600,3000})/gs;
}
write_texts('chinese_and_japanese', @chinese);

my @letters = ('a' .. 'z');
my @vocabulary = map { join '', map { $letters[ rand 26 ] } 1 .. 2 + rand 8 } 1 .. 5000;
write_texts('by_chance', map { join ' ', map { $vocabulary[ 5000 * rand() ** 3 ] } 1 .. 150 } 1 .. $texts);
