# Hashes, sorting, regular expressions, closures, sprintf over the generated text.
use strict;
use warnings;
my (%seen, %length, @lines);
open my $in, '<', $ARGV[0] or die "$ARGV[0]: $!";
while (my $line = <$in>) {
    chomp $line;
    my ($n, @words) = split ' ', $line;
    $seen{$_}++ for @words;
    push @{ $length{ length $line } }, $n;
    (my $turned = $line) =~ s/(\w+) (\w+)/$2 $1/g;
    push @lines, $turned if $turned =~ /q[^u]/;
}
my @top = (sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen)[ 0 .. 11 ];
print "$_ $seen{$_}\n" for @top;
printf "%d lines of %d lengths, %d turned\n", $., scalar keys %length, scalar @lines;
my $digest = 0;
$digest = ($digest * 31 + ord) % 1_000_003 for split //, join '', sort @lines;
my @makers = map { my $i = $_; sub { $i * shift } } 1 .. 500;
print "digest $digest, closures ", eval { my $s = 0; $s += $_->(3) for @makers; $s }, "\n";
eval { die { code => 42, text => "x" x 100 } };
print "caught $@->{code}, ", length $@->{text}, "\n";
