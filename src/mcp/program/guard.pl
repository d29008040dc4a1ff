# Stands between the gateway and a program that it runs, and leaves nothing of it behind. Perl, because every Debian has it
# and it can make system calls. Arguments: the numbers of prctl and prlimit64, the user and group to become and how many
# processes and threads that user may have (empty: stay the same), the folder of the program, megabytes of memory, seconds of
# processor time, "--", the program and its arguments.
#
# Handle 3 is a pipe that the gateway holds open for as long as the program is to run. When the gateway closes it or dies,
# however it dies, the program is asked to end (SIGTERM), and after two seconds all processes that have come of it are killed:
# also those that made a session of their own, because what loses its parent becomes a child of this process.
use strict;
use warnings;
use POSIX ();

my ($prctl, $prlimit, $user, $group, $processes, $folder, $megabytes, $seconds) = splice @ARGV, 0, 8;
shift @ARGV;
my ($SET_PDEATHSIG, $SET_CHILD_SUBREAPER, $SET_NO_NEW_PRIVS) = (1, 36, 38);
my $RLIMIT_NPROC = 6;
my $GRACE_SECONDS = 2;
my $LAST_SECONDS = 30;

sub must {
    my ($what, $is_well) = @_;
    return if $is_well;
    print STDERR "guard: $what: $!\n";
    POSIX::_exit(126);
}
sub call { return syscall($prctl + 0, $_[0], $_[1], 0, 0, 0) != -1 }

# Signals that a terminal sends to the gateway are for the gateway.
POSIX::setsid();
$SIG{$_} = 'IGNORE' for qw(INT TERM HUP PIPE QUIT);
must('reaping', call($SET_CHILD_SUBREAPER, 1));
open(my $life, '<&=', 3) or must('handle 3', 0);
fcntl($life, 2, 1);
chdir($folder) or must($folder, 0);

my $child = fork();
must('fork', defined $child);
if ($child == 0) {
    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE QUIT);
    setpgrp(0, 0);
    # The gateway comes first.
    setpriority(0, 0, 10);
    if ($user ne '') {
        my $most = pack('QQ', $processes, $processes);
        must('number of processes', syscall($prlimit + 0, 0, $RLIMIT_NPROC, $most, 0) != -1);
        $! = 0;
        $( = $group + 0;
        $) = "$group $group";
        ($<, $>) = ($user + 0, $user + 0);
        must("become user $user of group $group", $< == $user && $> == $user && $( =~ /^$group( $group)*$/ && $) =~ /^$group( $group)*$/);
    }
    must('no new privileges', call($SET_NO_NEW_PRIVS, 1));
    must('ending with its guard', call($SET_PDEATHSIG, 9));
    # A shell sets the limits: Perl has no words for them of its own.
    my $limits = 'ulimit -c 0 && ulimit -n 1024 && ulimit -d "$1" && ulimit -t "$2" && shift 2 && unset PWD OLDPWD && exec "$@"';
    exec('/bin/sh', '-c', $limits, 'program', $megabytes * 1024, $seconds, @ARGV) or must('/bin/sh', 0);
}
POSIX::close($_) for 0 .. 2;

# All that have come of the program, children before their own.
sub family {
    my @found = ($$);
    for (my $at = 0; $at < @found; $at++) {
        for my $tasks (glob "/proc/$found[$at]/task/*/children") {
            open(my $file, '<', $tasks) or next;
            push @found, split ' ', (<$file> // '');
        }
    }
    shift @found;
    return @found;
}
sub reap {
    my $ended = 0;
    while ((my $pid = waitpid(-1, POSIX::WNOHANG())) > 0) {
        next if $pid != $child;
        $ended = 1;
        our $status = $?;
    }
    return $ended;
}
sub end_all {
    # Stopped processes make no others while the rest is looked for.
    my %stopped;
    for (1 .. 50) {
        my @new = grep { !$stopped{$_}++ } family();
        last if !@new;
        kill 'STOP', @new;
    }
    for (my $until = time + $LAST_SECONDS; time < $until;) {
        my @left = family();
        kill 'KILL', @left if @left;
        my $ended;
        do { $ended = waitpid(-1, POSIX::WNOHANG()) } while $ended > 0;
        # There is no child any more, and so nothing that could become one.
        last if $ended == -1;
        select(undef, undef, undef, 0.01);
    }
    system('/bin/rm', '-rf', '--', $folder);
}

our $status = 0;
my $asked_at = 0;
while (1) {
    last if reap();
    if ($asked_at) {
        last if time - $asked_at >= $GRACE_SECONDS;
        select(undef, undef, undef, 0.05);
        next;
    }
    my $bits = '';
    vec($bits, fileno($life), 1) = 1;
    # An end of the program is looked for, not signalled: Perl dies of more than 120 signals at once, as many as processes
    # of a program may end at once.
    next if select($bits, undef, undef, 0.1) <= 0;
    next if (sysread($life, my $heard, 64) // 0) > 0;
    $asked_at = time;
    kill 'TERM', -$child;
}
chdir '/';
end_all();
POSIX::_exit($status & 127 ? 128 + ($status & 127) : $status >> 8);
