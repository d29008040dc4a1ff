# Puts fences of the kernel around the program that it then becomes. Perl, because every Debian has it and it can make
# system calls. Arguments: the numbers of prctl and capset, the filter of system calls in hexadecimal (may be empty),
# the version of Landlock (0: none), the paths that may be read, "--", the program and its arguments.
# Whatever cannot be put up ends it: a program with fewer fences than were promised is not started.
use strict;
use warnings;

my ($prctl, $capset, $filter, $landlock) = splice @ARGV, 0, 4;
my @readable;
push @readable, shift @ARGV while @ARGV && $ARGV[0] ne '--';
shift @ARGV;

sub must {
    my ($what, $result) = @_;
    die "fence: $what: $!\n" if $result == -1;
    return $result;
}

# No privileges: not now, and not through a file that would give some.
for my $capability (0 .. 63) { last if syscall($prctl + 0, 24, $capability, 0, 0, 0) == -1 }
my ($version, $none) = (pack('LL', 0x20080522, 0), pack('L6', (0) x 6));
syscall($capset + 0, $version, $none);
must('no new privileges', syscall($prctl + 0, 38, 1, 0, 0, 0));

if ($landlock > 0) {
    # Bits 0 to 12 came first, then moving, cutting and asking devices: all of them are handled, few are granted.
    my $handled = 0x1fff;
    $handled |= 1 << 13 if $landlock >= 2;
    $handled |= 1 << 14 if $landlock >= 3;
    $handled |= 1 << 15 if $landlock >= 5;
    my $attributes = pack('Q', $handled);
    # TCP, both directions; sockets without a path and signals to processes outside.
    $attributes .= pack('Q', 3) if $landlock >= 4;
    $attributes .= pack('Q', 3) if $landlock >= 6;
    my $rules = must('landlock', syscall(444, $attributes, length $attributes, 0));
    # The engine looks up the bounds of its stack in its own entry of /proc. The handle stays open, because the rule is for
    # this very entry, which the kernel might otherwise make anew.
    $^F = 255;
    sysopen(our $own, '/proc/self', 0);
    $^F = 2;
    for my $path (@readable, '/proc/self') {
        sysopen(my $file, $path, 0) or next;
        # To execute and to read; of folders also their lists.
        my $rule = pack('Ql', -d $file ? 0xd : 0x5, fileno $file);
        must("landlock for $path", syscall(445, $rules, 1, $rule, 0));
    }
    must('landlock', syscall(446, $rules, 0));
}
if ($filter ne '') {
    my $code = pack('H*', $filter);
    my $program = pack('Sx6Q', length($code) / 8, unpack('Q', pack('P', $code)));
    must('filter of system calls', syscall($prctl + 0, 22, 2, $program, 0, 0));
}
exec { $ARGV[0] } @ARGV or die "fence: $ARGV[0]: $!\n";
