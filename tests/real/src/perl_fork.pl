# fork, pipe, backticks, system, exec, wait; END blocks; a child that allocates and _exits.
use strict;
use warnings;
use POSIX ();
$| = 1;
my @sums;
for my $i (1 .. 6) {
    pipe my $read, my $write or die;
    my $pid = fork // die;
    if (!$pid) {
        my %h = map { $_ => "v" x $_ } 1 .. 300 * $i;
        print $write length join '', values %h;
        close $write;
        POSIX::_exit($i);
    }
    close $write;
    push @sums, scalar <$read>;
    waitpid $pid, 0;
    push @sums, $? >> 8;
}
print "sums @sums\n";
print "backticks ", `printf %s-%s one two`, "\n";
print "system ", system('exit 3; true') >> 8, "\n";
my $pid = fork // die;
exec '/bin/sh', '-c', 'echo from exec; kill -TERM $$' if !$pid;
waitpid $pid, 0;
print "signal ", $? & 127, "\n";
open my $sort, '-|', 'printf "c\nb\na\n" | sort' or die;
print "sorted ", join(',', map { chomp; $_ } <$sort>), "\n";
close $sort;
END { print "end block\n" }
exit 9;
