# Prints texts whose words follow Zipf's law as rows (id, text) for COPY. One text in ten is a version of an earlier
# one, with one word in 70 replaced, at least one. The texts are the same each time.
# zipf_texts.pl COUNT CHARACTERS
use strict;
use warnings;

my ($count, $characters) = @ARGV;
die "usage: $0 COUNT CHARACTERS\n" unless @ARGV == 2 && $count > 0 && $characters > 0;
srand 5;

# Words of 2 to 12 letters; the frequent ones are short. Frequent letters come first in the list.
my @letters = map { my $letter = $_; ($letter) x (26 - index('etaoinshrdlucmfwypvbgkqjxz', $letter)) } 'a' .. 'z';
my $vocabulary = 50_000;
my (@words, @up_to);
for my $rank (1 .. $vocabulary)
{
    my $length = 2 + int(rand() * (4 + ($rank > 20_000 ? 7 : $rank / 3_000)));
    push @words, join '', map { $letters[ rand @letters ] } 1 .. $length;
    push @up_to, ($rank > 1 ? $up_to[-1] : 0) + 1 / $rank;
}

# Each word as often as it is drawn, so that a draw is one lookup.
my @urn;
for my $rank (0 .. $vocabulary - 1)
{
    push @urn, $words[$rank] while @urn < 1_000_000 * $up_to[$rank] / $up_to[-1];
}

my @earlier;
for my $id (1 .. $count)
{
    my @text;
    if (@earlier && rand() < 0.1)
    {
        @text = @{ $earlier[ rand @earlier ] };
        $text[ rand @text ] = $urn[ rand @urn ] for 0 .. @text / 70;
    }
    else
    {
        my ($wanted, $length) = ($characters * (0.5 + rand), 0);
        while ($length < $wanted)
        {
            push @text, $urn[ rand @urn ];
            $length += 1 + length $text[-1];
        }
    }
    $earlier[ @earlier < 1000 ? scalar @earlier : rand @earlier ] = \@text;
    print "$id\t@text\n";
}
