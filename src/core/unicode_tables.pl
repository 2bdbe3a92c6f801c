#!/usr/bin/perl
# Writes unicode_tables.inc: simple case folding, the part that each code point has in words, and its class for
# extended grapheme clusters.
#
#     perl unicode_tables.pl /usr/share/unicode > unicode_tables.inc
#
# The tables are part of the signature scheme: they were made once, from Unicode 15.0.0
# (Debian 12's package unicode-data), and never change within scheme version 1. A lint makes
# them again and compares.
use strict;
use warnings;

my $dir = shift // '/usr/share/unicode';

# enum class word_part and enum class grapheme_part in graphemes.h
my ($white, $punctuation, $ignorable, $dash, $number) = (1 .. 5);
my %grapheme = (
    Control => 1, CR => 2, LF => 3, Extend => 4, ZWJ => 5, SpacingMark => 6, Prepend => 7, Regional_Indicator => 8,
    L => 9, V => 10, T => 11, LV => 12, LVT => 13, Extended_Pictographic => 14);
my (@fold, @class, @grapheme);

sub rows
{
    my ($file, $code) = @_;
    open my $in, '<', "$dir/$file" or die "$dir/$file: $!\n";
    while (<$in>)
    {
        die "$file is not of Unicode 15.0.0\n"
            if ($. == 1 && /^# \S*-[\d.]+txt/ && !/-15\.0\.0\.txt/) || (/^# Used with Emoji Version/ && !/ 15\.0 /);
        s/\s*#.*//s;
        next unless /\S/;
        my ($range, @fields) = split /\s*;\s*/;
        my ($first, $last) = split /\.\./, $range;
        $code->(hex $first, hex($last // $first), @fields);
    }
}

# Status C and S are the simple folding; F changes lengths, T is for Turkic languages only.
rows('CaseFolding.txt', sub {
    my ($first, undef, $status, $mapping) = @_;
    $fold[$first] = hex($mapping) - $first if $status =~ /^[CS]$/;
});
rows('extracted/DerivedGeneralCategory.txt', sub {
    my ($first, $last, $category) = @_;
    my $part = $category =~ /^P/ ? $punctuation : $category =~ /^(N.|Sc)$/ ? $number : 0;
    @class[$first .. $last] = ($part) x ($last - $first + 1);
});
$class[0x60] = $punctuation;    # a symbol, but written as a quotation mark

# Signs that Unicode counts as punctuation: # % & * @ and their small and full-width forms, the Arabic per cent sign,
# the signs for per mille and for parts of ten thousand, the section sign, and primes.
$class[$_] = 0 for 0x23, 0x25, 0x26, 0x2A, 0x40, 0xFE5F, 0xFE60, 0xFE61, 0xFE6A, 0xFE6B, 0xFF03, 0xFF05, 0xFF06,
    0xFF0A, 0xFF20, 0x609, 0x60A, 0x66A, 0x2030, 0x2031, 0xA7, 0x2032 .. 0x2034;

# Dashes that are written in place of a minus sign: hyphens, the figure dash, the en dash, and the small and full-width
# forms of the hyphen.
$class[$_] = $dash for 0x2D, 0x2010 .. 0x2013, 0xFE63, 0xFF0D;
rows('PropList.txt', sub {
    my ($first, $last, $property) = @_;
    @class[$first .. $last] = ($white) x ($last - $first + 1) if $property eq 'White_Space';
});
rows('DerivedCoreProperties.txt', sub {
    my ($first, $last, $property) = @_;
    @class[$first .. $last] = ($ignorable) x ($last - $first + 1) if $property eq 'Default_Ignorable_Code_Point';
});
for my $file ('emoji/emoji-data.txt', 'auxiliary/GraphemeBreakProperty.txt')
{
    rows($file, sub {
        my ($first, $last, $property) = @_;
        @grapheme[$first .. $last] = ($grapheme{$property}) x ($last - $first + 1) if $grapheme{$property};
    });
}

# Two stages: code point >> 7 -> block, block and low bits -> record.
my (@block_of, %block_number, @blocks, %record_number, @records);
for my $high (0 .. 0x10FFFF >> 7)
{
    my @block = map {
        my $record = sprintf '{%d, %d, %d}', $fold[$_] // 0, $class[$_] // 0, $grapheme[$_] // 0;
        $record_number{$record} //= push(@records, $record) - 1;
    } $high << 7 .. ($high << 7) + 127;
    push @block_of, $block_number{"@block"} //= push(@blocks, \@block) - 1;
}
die "too many records or blocks\n" if @records > 256 || @blocks > 256;

# This table is for vector code, which folds ASCII and copies most other characters unchanged. It says which pairs of a
# lead byte and a second byte can start a character that folding changes or drops, or that is a separator. Bit n is for
# second bytes from 0x80 + 16 n on. There are three kinds: characters folded, words folded (punctuation separates), and words
# as they are.
sub lead_flags
{
    my ($changes) = @_;
    my @flags = (0) x 64;
    for my $code_point (0x80 .. 0x10FFFF)
    {
        next unless $changes->($fold[$code_point], $class[$code_point] // 0);
        my ($lead, $second) =
            $code_point < 0x800   ? (0xC0 | $code_point >> 6, $code_point)
          : $code_point < 0x10000 ? (0xE0 | $code_point >> 12, $code_point >> 6)
          :                         (0xF0 | $code_point >> 18, $code_point >> 12);
        $flags[$lead - 0xC0] |= 1 << (($second >> 4) & 3);
    }
    return '{' . join(', ', @flags) . '}';
}

sub table
{
    my ($declaration, @values) = @_;
    print "constexpr $declaration = {\n";
    print '    ', join(', ', splice @values, 0, 16), ",\n" while @values;
    print "};\n\n";
}

print "// Made by unicode_tables.pl from Unicode 15.0.0. Do not edit.\n\n";
table('std::uint8_t unicode_block_of[8704]', @block_of);
table('std::uint8_t unicode_blocks[][128]', map { '{' . join(', ', @$_) . '}' } @blocks);
table('unicode_record unicode_records[]', @records);
table('std::uint8_t unicode_lead_flags[3][64]',
    lead_flags(sub { $_[0] || $_[1] == $white || $_[1] == $ignorable }),
    lead_flags(sub { $_[0] || ($_[1] && $_[1] != $number) }),
    lead_flags(sub { $_[1] == $white }));
