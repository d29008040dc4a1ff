/** The numbers of system calls on a kind of machine. */
interface Calls {
  /** As the kernel names this kind to filters. */
  readonly audit: number;
  readonly prctl: number;
  readonly capset: number;
  readonly clone: number;
  readonly clone3: number;
  /** Those that a sandbox has no use for, and an escape would have. */
  readonly denied: readonly number[];
  /** Memory that no limit counts: shmget, shmat, shmctl, memfd_create. */
  readonly uncounted: readonly number[];
}

const CALLS: Readonly<Partial<Record<string, Calls>>> = {
  x64: {
    audit: 0xc000003e,
    prctl: 157,
    capset: 126,
    clone: 56,
    clone3: 435,
    denied: [
      ...[41, 42, 43, 49, 50, 288], // socket, connect, accept, bind, listen, accept4
      ...[57, 58], // fork, vfork
      ...[62, 129, 297, 101, 310, 311, 312], // kill, rt_sigqueueinfo, rt_tgsigqueueinfo, ptrace, process_vm_*, kcmp
      ...[161, 155, 165, 166, 272, 308], // chroot, pivot_root, mount, umount2, unshare, setns
      ...[248, 249, 250, 321, 298, 323], // keys, bpf, perf_event_open, userfaultfd
      ...[246, 320, 175, 313, 176, 169, 163, 167, 168], // kernel and modules, reboot, acct, swap
      ...[303, 304, 153, 172, 173, 134, 154], // file handles, vhangup, ports, uselib, modify_ldt
    ],
    uncounted: [29, 30, 31, 319],
  },
  arm64: {
    audit: 0xc00000b7,
    prctl: 167,
    capset: 91,
    clone: 220,
    clone3: 435,
    denied: [
      ...[198, 203, 202, 200, 201, 242],
      ...[129, 138, 240, 117, 270, 271, 272],
      ...[51, 41, 40, 39, 97, 268],
      ...[217, 218, 219, 280, 241, 282],
      ...[104, 294, 105, 273, 106, 142, 89, 224, 225],
      ...[264, 265, 58],
    ],
    uncounted: [194, 196, 195, 279],
  },
};

/** On every kind of machine: io_uring, pidfds, mounts of the newer kind. */
const DENIED_EVERYWHERE = [425, 426, 427, 424, 434, 438, 428, 429, 430, 431, 432, 433, 442];

const MEMFD_SECRET = 447;
const PR_SET_PDEATHSIG = 1;

const EPERM = 1;
const ENOSYS = 38;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const failWith = (error: number) => 0x00050000 | error;
/** clone with it makes a thread, without it a process. */
const CLONE_THREAD = 0x10000;
/** The other numbering that a machine of 64 bits understands. */
const X32 = 0x40000000;

/** Where the kernel shows a filter the number of a call, the kind of machine and the lower half of the first argument. */
const NUMBER = 0;
const MACHINE = 4;
const FIRST_ARGUMENT = 16;

const load = (at: number) => [0x20, 0, 0, at] as const;
const answer = (value: number) => [0x06, 0, 0, value] as const;
const ifEqual = (value: number, skipElse: number) => [0x15, 0, skipElse, value] as const;
const ifAtLeast = (value: number, skipElse: number) => [0x35, 0, skipElse, value] as const;
const ifAnyBit = (value: number, skipElse: number) => [0x45, 0, skipElse, value] as const;

export interface SystemCalls extends Pick<Calls, 'prctl' | 'capset'> {
  /** A program for the kernel (classic BPF), in hexadecimal. */
  readonly filter: string;
}

/** In a jail code is a program of the machine: it might keep its end from coming with the end of what has started it. */
const jailRules = ({ uncounted, prctl }: Calls) => [
  ...[...uncounted, MEMFD_SECRET].flatMap((call) => [ifEqual(call, 1), answer(failWith(EPERM))]),
  ...[ifEqual(prctl, 4), load(FIRST_ARGUMENT), ifEqual(PR_SET_PDEATHSIG, 1), answer(failWith(EPERM))],
  answer(ALLOW),
];

/** What a sandbox may not ask of the kernel; null where we do not know the numbers of this kind of machine. */
export function systemCalls(arch: string = process.arch, kind: 'deno' | 'jail' = 'deno'): SystemCalls | null {
  const calls = CALLS[arch];
  if (!calls) return null;
  const { audit, prctl, capset, clone, clone3, denied } = calls;
  const program = [
    load(MACHINE),
    ...[ifEqual(audit, 1), [0x05, 0, 0, 1] as const, answer(KILL)],
    load(NUMBER),
    ...[ifAtLeast(X32, 1), answer(KILL)],
    // Its arguments lie in memory, where no filter looks. Programs then take the older call.
    ...[ifEqual(clone3, 1), answer(failWith(ENOSYS))],
    ...[...denied, ...DENIED_EVERYWHERE].flatMap((call) => [ifEqual(call, 1), answer(failWith(EPERM))]),
    ...(kind === 'jail' ? jailRules(calls) : []),
    // Threads, and no processes.
    ...[ifEqual(clone, 3), load(FIRST_ARGUMENT), ifAnyBit(CLONE_THREAD, 2), answer(ALLOW)],
    ...[answer(ALLOW), answer(failWith(EPERM))],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jumpTrue, jumpFalse, value], at) => {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(jumpTrue, at * 8 + 2);
    bytes.writeUInt8(jumpFalse, at * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4);
  });
  return { prctl, capset, filter: bytes.toString('hex') };
}
