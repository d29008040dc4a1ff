import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureJail, JAIL_MS, openTestJail, PYTHON } from '../../../test/assistants/jail.ts';
import { cell, type Ran, threadOf } from '../../../test/assistants/sandbox.ts';
import { eventually } from '../../../test/process.ts';
import { pythonIn } from './execute.ts';
import { openJail } from './jail.ts';
import { LIMITS } from './limits.ts';
import type { SandboxPool } from './sandbox.ts';
import { systemCalls } from './seccomp.ts';

/** The second kind of sandbox: a Python of the machine, in which code is a program like any other, in a jail. */
let sandbox: SandboxPool;
let thread: ReturnType<typeof threadOf>;
const folder = mkdtempSync(join(tmpdir(), 'gateway-jailed-'));
const SECRET = `secret-${crypto.randomUUID()}`;
const secretFile = join(folder, 'secret.txt');
let connections = 0;
const listener = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { open: () => void connections++, data: () => {} },
});

beforeAll(async () => {
  await ensureJail();
  sandbox = await openTestJail();
  thread = threadOf(sandbox);
  writeFileSync(secretFile, SECRET);
  process.env.SANDBOX_TEST_SECRET = SECRET;
}, JAIL_MS);
afterAll(async () => {
  await sandbox.stop();
  listener.stop(true);
  delete process.env.SANDBOX_TEST_SECRET;
  rmSync(folder, { recursive: true, force: true });
});

const isThere = (pid: number) => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

describe('what code finds', () => {
  test('answers what was printed, the last value, and tracebacks of the code alone', async () => {
    const { run } = threadOf(sandbox);
    const out = 'print("a")\nimport sys, os\nprint("b", file=sys.stderr)\nos.write(1, b"c\\n")\n[1, "x"]';

    expect((await run(out)).logs).toBe("a\nb\nc\n[1, 'x']\n");
    expect((await run('x = 3')).logs).toBe('');
    expect((await run('x; # quiet')).logs).toBe('');
    const failed = await run('def f():\n  raise KeyError("k")\nf()');
    expect(failed.logs).toMatch(
      /^Traceback \(most recent call last\):\n {2}File "<cell 4>", line 3, in <module>\n {4}f\(\)\n[^"]*File "<cell 4>", line 2, in f\n {4}raise KeyError\("k"\)\nKeyError: 'k'\n$/,
    );
    expect(failed.isFailed).toBe(true);
    expect((await run('if True print(1)')).logs).toContain('SyntaxError');
    expect((await run('import asyncio\nawait asyncio.sleep(0.01)\n"awaited"')).logs).toBe("'awaited'\n");
    expect((await run('input()')).logs).toContain('EOFError');
    expect((await run('exit()')).logs).toBe('');
    expect((await run('x')).logs).toBe('3\n');
  });

  test('numpy, pandas and matplotlib work, and plots are shown as they are drawn', async () => {
    const { run } = threadOf(sandbox);
    const code = `import numpy as np, pandas as pd
import matplotlib.pyplot as plt
frame = pd.read_csv("sales.csv").groupby("who").sum()
frame.to_csv("sums.csv")
plt.plot(np.arange(10))
plt.show()
frame.plot(kind="bar")
int(np.linalg.det(np.eye(3)))`;
    const { logs, images, files } = await run(cell(code, { 'sales.csv': 'who,sum\na,1\nb,2\na,3\n' }));

    expect([logs, files]).toEqual(['1\n', { 'sums.csv': 'who,sum\na,4\nb,2\n' }]);
    expect(images.map((image) => image.slice(0, 8))).toEqual(Array(2).fill('\x89PNG\r\n\x1a\n'));
    expect(Math.min(...images.map(({ length }) => length))).toBeGreaterThan(2_000);
    const next = await run('plt.plot([1, 2])\nplt.show()\nframe["sum"].sum()');
    expect([next.logs, next.images.length]).toEqual(['6\n', 1]);
  });

  test('the packages that models are told of are those that can be imported', async () => {
    const about = await sandbox.about();
    const { logs } = await thread.run('import numpy, sys\nnumpy.__version__, sys.version.split()[0]');

    expect(logs).toBe(`('${about!.packages.numpy}', '${about!.version}')\n`);
    const told = `with its standard library and these packages: numpy ${about!.packages.numpy}, pandas ${about!.packages.pandas}, matplotlib `;
    expect(pythonIn(about)).toStartWith(`It is Python ${about!.version} ${told}`);
  });

  test('hands out what was written and nothing else', async () => {
    const { run } = threadOf(sandbox);
    const first = await run(cell('open("out.bin", "wb").write(bytes(range(256)))', { 'in.txt': 'in' }));
    expect([Object.keys(first.files), first.files['out.bin']!.length]).toEqual([['out.bin'], 256]);
    const code = `import os
os.makedirs("a/b")
open("a/b/c.txt", "w").write("x")
os.symlink("/etc/alternatives", "link")
os.symlink("/usr/lib/os-release", "file")
os.symlink("/", "root")
os.symlink("../a", "a/loop")
os.mkfifo("pipe")
open(b"bad\\xff", "w").write("x")
os.remove(b"bad\\xff")
os.rename("out.bin", "moved.bin")`;
    expect(Object.keys((await run(code)).files).sort()).toEqual(['a/b/c.txt', 'moved.bin']);
    expect((await run('open("in.txt", "a").write(" and more")')).files).toEqual({ 'in.txt': 'in and more' });
    expect((await run('open("/tmp/elsewhere", "w").write("x")\nopen("in.txt").read()')).files).toEqual({});
  });

  test('state is rebuilt elsewhere by repeating the cells, with the same numbers', async () => {
    const name = crypto.randomUUID();
    const { run, past } = threadOf(sandbox, { thread: name });
    await run(
      cell(
        'import random, numpy\nn = int(open("n.txt").read())\nfirst = random.random(), numpy.random.rand(), list({"a", "b"})',
        {
          'n.txt': '1',
        },
      ),
    );
    await run('n += 1\nopen("n.txt", "w").write(str(n))\nraise ValueError()');
    const before = await run('n, open("n.txt").read(), first');
    const elsewhere = await openTestJail();
    const again = threadOf(elsewhere, { thread: name });
    again.past.push(...past);
    const after = await again.run('n, open("n.txt").read(), first');
    await elsewhere.stop();

    expect(before.logs).toStartWith("(2, '2', (0.");
    expect([after.logs, after.isStateLost, after.files]).toEqual([before.logs, false, {}]);
  });
});

/** Code that may not print what it wants to. */
const libc = 'import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n';
const answered = (call: string) =>
  `${libc}got = ${call}\nprint("GOT" if got >= 0 else "FAILED", got, ctypes.get_errno())`;
const attempts: Readonly<Record<string, string>> = {
  'reads /etc/passwd': 'print("GOT", open("/etc/passwd").read())',
  'reads a file of the gateway': `print("GOT", open(${JSON.stringify(secretFile)}).read())`,
  'lists the folders of the machine':
    'import os\nseen = [name for name in ("/home", "/root", "/var", "/etc/ssl", "/run", "/opt", "/usr/bin/env", "/sys", "/boot") if os.path.exists(name)]\nprint("GOT" if seen else "FAILED", seen)',
  'asks for the environment':
    'import os\nprint("GOT" if "SANDBOX_TEST_SECRET" in os.environ else "FAILED", dict(os.environ))',
  'reads the environment of another process': 'print("GOT", open("/proc/1/environ").read())',
  'lists the processes of the machine': 'import os\nprint("GOT", os.listdir("/proc"))',
  'mounts /proc': answered('libc.mount(b"proc", b"/tmp", b"proc", 0, None)'),
  'mounts what it was given as writable': answered('libc.mount(None, b"/usr/lib", None, 32 | 4096, None)'),
  'unmounts a folder': answered('libc.umount2(b"/mnt/data", 2)'),
  'makes namespaces of its own': answered('libc.unshare(0x10000000)'),
  'changes its root': answered('libc.chroot(b"/tmp")'),
  'writes to the system': 'open("/usr/lib/written", "w")\nprint("GOT")',
  'writes beside its folders': 'open("/written", "w")\nprint("GOT")',
  'writes to devices': 'open("/dev/written", "w")\nprint("GOT")',
  'makes a device': 'import os, stat\nos.mknod("/tmp/sda", stat.S_IFBLK | 0o600, os.makedev(8, 0))\nprint("GOT")',
  'starts a process':
    'import subprocess, sys\nprint("GOT", subprocess.run([sys.executable, "-c", "1"], capture_output=True))',
  'starts a shell': 'import os\nprint("GOT" if os.system("id") == 0 else "FAILED")',
  forks: 'import os\nprint("GOT", os.fork())',
  'forks past the library': answered('libc.syscall(56, 17, 0, 0, 0, 0)'),
  'forks in the other numbering': `${libc}print("GOT" if libc.syscall(0x40000000 + 57) >= 0 else "FAILED")`,
  'becomes a shell': 'import os\nos.execv("/bin/sh", ["sh"])\nprint("GOT")',
  'starts processes with multiprocessing':
    'import multiprocessing\nmultiprocessing.Process(target=print).start()\nprint("GOT")',
  'opens a socket': `import socket\nsocket.create_connection(("127.0.0.1", ${listener.port}), timeout=2)\nprint("GOT")`,
  'opens a socket of the machine':
    'import socket\nsocket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")\nprint("GOT")',
  'fetches with urllib': `import urllib.request\nprint("GOT", urllib.request.urlopen("http://127.0.0.1:${listener.port}/", timeout=2).read())`,
  'asks for names': 'import socket\nprint("GOT", socket.getaddrinfo("example.com", 80))',
  'looks at the networks': 'import socket\nprint("GOT", socket.if_nameindex())',
  "asks for the machine's name": 'import os\nprint("FAILED" if os.uname().nodename == "sandbox" else "GOT")',
  'kills what has started it': 'import os, signal\nos.kill(os.getppid() or 1, signal.SIGKILL)\nprint("GOT")',
  'kills everything': 'import os, signal\nos.kill(-1, signal.SIGKILL)\nprint("GOT")',
  'signals itself as another': answered('libc.syscall(129, 1, 9, 0)'),
  'traces a process': answered('libc.ptrace(16, 1, 0, 0)'),
  'reads the memory of a process': answered('libc.process_vm_readv(1, None, 0, None, 0, 0)'),
  'outlives what has started it': answered('libc.prctl(1, 0, 0, 0, 0)'),
  'gets privileges back': answered('libc.setresuid(0, 0, 0)'),
  'has any privileges': answered('-1 if libc.prctl(23, 21, 0, 0, 0) == 0 and os.getuid() == 1000 else 0'),
  'may get new privileges': answered('-1 if libc.prctl(39, 0, 0, 0, 0) == 1 else 0'),
  'raises its limits': 'import resource\nresource.setrlimit(resource.RLIMIT_DATA, (-1, -1))\nprint("GOT")',
  'takes memory that is not counted': answered('libc.memfd_create(b"x", 0)'),
  'shares memory that is not counted': answered('libc.shmget(0, 1 << 30, 0o1600)'),
  'loads a program into the kernel': answered('libc.syscall(321, 5, 0, 0)'),
  'uses io_uring': answered('libc.syscall(425, 1, ctypes.create_string_buffer(256))'),
  'opens a file by its handle': answered('libc.open_by_handle_at(3, ctypes.create_string_buffer(64), 0)'),
  'finds files of the gateway open': `import os, fcntl
links = []
for number in range(64):
    try: os.fstat(number)
    except OSError: continue
    try: links.append(os.readlink(f"/proc/self/fd/{number}"))
    except OSError: pass
    if os.path.stat.S_ISREG(os.fstat(number).st_mode) or os.path.stat.S_ISDIR(os.fstat(number).st_mode): links.append(number)
print("GOT" if links else "FAILED", links)`,
};

/** Nothing came out, nothing was let in, and the next cell finds a Python that works. */
async function expectFailure({ logs, files, stopped }: Ran) {
  expect(logs).not.toMatch(/^GOT/m);
  // What asks for too much may take its own sandbox with it.
  if (stopped === null) expect(logs).toMatch(/^FAILED|error|exception/im);
  else thread.past.length = 0;
  expect(stopped).not.toBe('time');
  expect(logs + JSON.stringify(files)).not.toContain(SECRET);
  expect(connections).toBe(0);
  expect(readdirSync(folder)).toEqual(['secret.txt']);
  expect((await thread.run('6 * 7')).logs).toBe('42\n');
}

describe('code that', () => {
  for (const [name, code] of Object.entries(attempts))
    test(`${name} fails`, async () => expectFailure(await thread.run(code)));
});

describe('code that does not get out', () => {
  test('cannot take more memory than it may have', async () => {
    const { run } = threadOf(sandbox);
    const hogs = [
      'bytearray(1 << 30)',
      'kept = []\nwhile True: kept.append(bytearray(1 << 20))',
      'import mmap\nkept = []\nwhile True:\n  kept.append(mmap.mmap(-1, 64 << 20))\n  kept[-1].write(b"x" * (1 << 20))',
    ];
    for (const hog of hogs) {
      const { logs, stopped } = await run(hog);
      if (stopped === null) expect(logs).toMatch(/MemoryError|OSError/);
      else expect(stopped).toBe('crash');
    }
  });

  test('cannot fill the disk, which is its own and in memory', async () => {
    const { run } = threadOf(sandbox);
    const fill = (path: string) => `with open(${JSON.stringify(path)}, "wb") as file:
  try:
    while True: file.write(bytes(1 << 20))
  except OSError as error: print(error.strerror, file.tell() >> 20)`;
    const { logs } = await run(`${fill('/tmp/a')}\n${fill('/tmp/b')}`);
    expect(logs).toMatch(/No space left on device \d+\nNo space left on device 0\n/);
    expect((await run('import os\nos.remove("/tmp/a"); os.remove("/tmp/b")')).stopped).toBeNull();
    const large = await run('f = open("large", "wb")\nf.truncate(1 << 40)');
    expect(large.logs).toContain('File too large');
  });

  test('is ended when it makes more files or threads than code that means well', async () => {
    const files = 'import os\nn = 0\nwhile True:\n  os.mkdir(f"/tmp/{n}"); n += 1';
    const threads = `import threading, time
threading.stack_size(32768)
while True:
  try: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
  except RuntimeError: time.sleep(0.1)`;
    for (const code of [files, threads]) expect((await threadOf(sandbox).run(code)).stopped).toBe('crash');
    expect((await thread.run('6 * 7')).logs).toBe('42\n');
  });

  test('prints more than fits, also past Python, and has it cut in the middle', async () => {
    const { run } = threadOf(sandbox);
    const { logs } = await run(
      'import os\nprint("first")\nfor _ in range(2000): print("x" * 10_000)\nos.write(2, b"y" * 1000)\nprint("\\nlast")',
    );

    expect(logs.length).toBeLessThan(LIMITS.logBytes + 1_000);
    expect(logs).toStartWith('first\nxxx');
    expect(logs).toEndWith('yyy\nlast\n');
    expect(logs).toMatch(/\[… \d{8} bytes of output left out …\]/);
  });

  test('is left out of what is handed out when it makes too much', async () => {
    const { run } = threadOf(sandbox);
    const many = await run('for n in range(3000): open(f"{n:04}.txt", "w").write("x")');
    expect(Object.keys(many.files)).toHaveLength(LIMITS.files);
    expect(many.logs).toContain(`[sandbox] ${3_000 - LIMITS.files} files were not handed out`);
    const code = `open("big.bin", "wb").truncate(${LIMITS.fileBytes + 1})\nopen("small.txt", "w").write("x")`;
    const large = await run(code);
    expect([large.files, large.logs]).toEqual([
      { 'small.txt': 'x' },
      expect.stringContaining('big.bin was not handed'),
    ]);
  });

  /** A frame as the sandbox sends them, written past it to whatever it has open. */
  const spoofed = (header: object, ...bodies: string[]) => `import os, json
text = ${JSON.stringify(JSON.stringify({ ...header, sizes: bodies.map((body) => body.length) }))}.encode()
frame = len(text).to_bytes(4, "big") + text + ${JSON.stringify(bodies.join(''))}.encode()
for number in range(3, 12):
    try: os.write(number, frame)
    except OSError: pass
`;

  test('speaks in the name of its sandbox for its own cell alone', async () => {
    const { run } = threadOf(sandbox);
    const forged = await run(spoofed({ type: 'result', images: 0, paths: ['../../evil'] }, 'forged', 'x'));

    expect([forged.logs, forged.files]).toEqual(['forged', { '../../evil': 'x' }]);
    expect((await threadOf(sandbox).run('6 * 7')).logs).toBe('42\n');
  });

  const forged = {
    'too many files': spoofed({ type: 'result', images: 0, paths: Array(LIMITS.files + 1).fill('x') }),
    'sizes that do not add up': spoofed({ type: 'result', images: 3, paths: [] }, 'logs'),
    'an unknown type': spoofed({ type: 'ready' }),
    'a call that nobody has offered': spoofed({ type: 'call', id: 1 }, 'tool', '{}'),
    prose:
      'import os\nfor number in range(3, 12):\n  try: os.write(number, b"Hello, gateway!")\n  except OSError: pass',
  };
  for (const [name, code] of Object.entries(forged))
    test(`says a frame with ${name} and ends its sandbox, and nothing else`, async () => {
      const { stopped, logs, files } = await threadOf(sandbox).run(code);

      expect([stopped, logs, files]).toEqual(['crash', '', {}]);
    });

  test('is stopped after its time, with what it has begun, and what was there before is there again', async () => {
    const quick = await openTestJail({ cellSeconds: 10 });
    const { run } = threadOf(quick);
    await run('x = 1');
    const [pid] = quick.pids;
    const stopped = await run(
      'import signal, threading, time\nfor n in range(1, 32):\n  try: signal.signal(n, signal.SIG_IGN)\n  except OSError: pass\ndef goes_on():\n  while True: time.sleep(0.01)\nthreading.Thread(target=goes_on).start()\nx = 2\ngoes_on()',
    );
    await eventually('its process is gone', () => !isThere(pid!));
    const after = await run('x');
    await quick.stop();

    expect([stopped.stopped, after.logs, after.isStateLost]).toEqual(['time', '1\n', false]);
  });
});

test('the process has nothing to give away and is limited', async () => {
  const own = threadOf(sandbox);
  await own.run('1');
  for (const pid of sandbox.pids) {
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain(SECRET);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(/CapEff:\s+0{16}/);
    expect(status).toMatch(/CapBnd:\s+0{16}/);
    expect(status).toMatch(/NoNewPrivs:\s+1/);
    expect(status).toMatch(/Seccomp:\s+2/);
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    for (const name of ['core file size', 'open files', 'data size', 'address space', 'cpu time', 'file size'])
      expect(limits).not.toMatch(new RegExp(`Max ${name} +unlimited`));
  }
});

test('whoever gives up ends the sandbox, and closing ends every one of them, with the one that waits', async () => {
  const own = await openTestJail();
  const { run } = threadOf(own);
  await run('1');
  const controller = new AbortController();
  const running = run('while True: pass', controller.signal);
  const [pid] = own.pids;
  controller.abort(new Error('cancelled'));
  await expect(running).rejects.toThrow('cancelled');
  await eventually('the process is gone', () => !isThere(pid!));
  await run('1');
  const last = own.pids;
  await own.stop();
  await eventually('all are gone', () => last.every((each) => !isThere(each)));
});

test('the filter of a jail denies more than that of Deno, on each kind of machine', () => {
  for (const arch of ['x64', 'arm64'])
    expect(systemCalls(arch, 'jail')!.filter.length).toBeGreaterThan(systemCalls(arch)!.filter.length);
  expect(systemCalls('riscv64', 'jail')).toBeNull();
});

test('programs call tools from a jail, several at once, and hear what became of them', async () => {
  const calls: string[] = [];
  const both = Promise.withResolvers<void>();
  const tools = {
    functions: { weather__now: 'weather-now' },
    ...{ mostCalls: 3, mostParallel: 2, mostBytes: 1_000 },
    call: async (name: string, given: Uint8Array) => {
      const { city } = JSON.parse(Buffer.from(given).toString()) as { city: string };
      if (calls.push(`${name} ${city}`) === 2) both.resolve();
      await both.promise;
      const answer = city === 'Ys' ? { error: { message: 'it sank' } } : { result: { structuredContent: { city } } };
      return Buffer.from(JSON.stringify(answer));
    },
  };
  const code = `import asyncio
print(await asyncio.gather(weather__now(city="Bern"), weather__now(city="Ys"), return_exceptions=True))
try: await weather__now(city="Rom"); await weather__now(city="Ulm")
except ToolError as error: print(error)`;
  const { logs, stopped } = await threadOf(sandbox).run({ ...cell(code), tools });

  expect([stopped, calls]).toEqual([null, ['weather-now Bern', 'weather-now Ys', 'weather-now Rom']]);
  expect(logs).toBe(
    "[{'city': 'Bern'}, ToolError('weather-now: it sank')]\nweather-now: not called: one program makes at most 3 calls\n",
  );
});

describe('no jail is opened', () => {
  const open = (options: object) =>
    openJail({ python: PYTHON, folder: join(folder, '..', 'none'), memoryMb: 256, cellSeconds: 10, ...options });

  test('where Bubblewrap cannot make one', async () => {
    const script = join(mkdtempSync(join(tmpdir(), 'gateway-bwrap-')), 'bwrap');
    writeFileSync(script, '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n', {
      mode: 0o700,
    });

    await expect(open({ bwrap: script })).rejects.toThrow('bwrap: No permissions to create new namespace');
  });

  test('where there is no Python, or none that runs', async () => {
    await expect(open({ python: '/nowhere/python3' })).rejects.toThrow('there is no /nowhere/python3');
    await expect(open({ python: '/bin/false' })).rejects.toThrow('/bin/false is no Python that runs here');
  });

  test('where code could read what the gateway keeps', async () => {
    await expect(open({ folder: '/usr/lib/gateway-data-of-a-test' })).rejects.toThrow(
      /^the data dir lies in (?:\/usr)?\/lib, which code could read$/,
    );
    expect(existsSync('/usr/lib/gateway-data-of-a-test')).toBe(false);
  });
});
