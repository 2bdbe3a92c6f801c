#!/usr/bin/perl
# Writes unicode_tables.inc: simple case folding and word separators of every code point.
#
#     perl unicode_tables.pl /usr/share/unicode > unicode_tables.inc
#
# The tables are part of the signature scheme: they were made once, from Unicode 15.0.0
# (Debian 12's package unicode-data), and never change within scheme version 1. A lint makes
# them again and compares.
use strict;
use warnings;

my $dir = shift // '/usr/share/unicode';
my ($white, $punctuation) = (1, 2);    # enum class separator in unicode.h
my (@fold, @class);

sub rows
{
    my ($file, $code) = @_;
    open my $in, '<', "$dir/$file" or die "$dir/$file: $!\n";
    while (<$in>)
    {
        die "$file is not of Unicode 15.0.0\n" if $. == 1 && /^# / && !/-15\.0\.0\.txt/;
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
    @class[$first .. $last] = ($punctuation) x ($last - $first + 1) if $category =~ /^P/;
});
$class[ord] = $punctuation for split //, '$+<=>^`|~';    # ASCII symbols: punctuation to C's ispunct
rows('PropList.txt', sub {
    my ($first, $last, $property) = @_;
    @class[$first .. $last] = ($white) x ($last - $first + 1) if $property eq 'White_Space';
});

# Two stages: code point >> 7 -> block, block and low bits -> record.
my (@block_of, %block_number, @blocks, %record_number, @records);
for my $high (0 .. 0x10FFFF >> 7)
{
    my @block = map {
        my $record = sprintf '{%d, %d}', $fold[$_] // 0, $class[$_] // 0;
        $record_number{$record} //= push(@records, $record) - 1;
    } $high << 7 .. ($high << 7) + 127;
    push @block_of, $block_number{"@block"} //= push(@blocks, \@block) - 1;
}
die "too many records or blocks\n" if @records > 256 || @blocks > 256;

# This table is for vector code, which folds ASCII and copies most other characters unchanged. It says which pairs of a
# lead byte and a second byte can start a character that folding changes or that is a separator. Bit n is for second
# bytes from 0x80 + 16 n on. There are three kinds: characters folded, words folded (punctuation separates), and words
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
    lead_flags(sub { $_[0] || $_[1] == $white }),
    lead_flags(sub { $_[0] || $_[1] }),
    lead_flags(sub { $_[1] == $white }));
