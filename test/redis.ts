import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keptPort } from './ports.ts';

/** A real Redis for tests, from the `redis-server` on the PATH, or from Debian's package when the tests run as root. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Ends it, with its data. */
  stop(): Promise<void>;
  /** Ends it as `kill -9` does; `restart` brings it back on the same port. */
  kill(): Promise<void>;
  /** Freezes it: connections stay open and nothing answers, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends it when it still runs, and starts it on the same port, with the data it had or empty. */
  restart(options: { keepData: boolean }): Promise<void>;
  /** Takes its memory away while it runs. */
  flush(): Promise<void>;
}

/**
 * Ends the server when the process that started it is gone: a test runner fires no event at its end, but its pipe
 * closes.
 */
const GUARD = `"$@" & server=$!
echo $server
read -r word
kill -CONT $server; kill -KILL $server; wait $server
[ "$word" = stop ] || rm -rf "$GUARDED_DATA"`;

export async function startRedis({ password }: { password?: string } = {}): Promise<TestRedis> {
  const binary = await ensureBinary();
  const data = mkdtempSync(join(tmpdir(), 'gateway-redis-'));
  const port = await keptPort();
  let server: RunningServer | null = null;

  const start = async () => {
    server = await run(binary, { data, port, password });
  };
  const end = async () => {
    const ending = server;
    server = null;
    await ending?.end();
  };
  const signal = (name: NodeJS.Signals) => {
    if (server) process.kill(server.processId, name);
  };
  await start().catch((error: unknown) => {
    rmSync(data, { recursive: true, force: true });
    throw error;
  });
  return {
    url: `redis://${password ? `:${encodeURIComponent(password)}@` : ''}127.0.0.1:${port}`,
    port,
    stop: async () => {
      await end();
      rmSync(data, { recursive: true, force: true });
    },
    kill: end,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    restart: async ({ keepData }) => {
      if (server && keepData) await tell(port, password, 'SAVE');
      await end();
      if (!keepData) rmSync(join(data, 'dump.rdb'), { force: true });
      await start();
    },
    flush: async () => {
      await tell(port, password, 'FLUSHALL');
    },
  };
}

interface RunningServer {
  readonly processId: number;
  end(): Promise<void>;
}

async function run(
  binary: string,
  { data, port, password }: { data: string; port: number; password?: string },
): Promise<RunningServer> {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', data, '--save', '', '--appendonly', 'no'];
  const locked = password ? ['--requirepass', password] : [];
  const guard = Bun.spawn(['sh', '-c', GUARD, 'sh', binary, ...options, ...locked, '--logfile', join(data, 'log')], {
    env: { ...process.env, GUARDED_DATA: data },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  // A server that was not stopped is no reason for the tests to go on.
  guard.unref();
  const processId = Number(await firstLine(guard.stdout));
  const end = async () => {
    guard.stdin.write('stop\n');
    guard.stdin.end();
    await guard.exited;
  };
  for (let attempt = 0; attempt < 6_000; attempt++) {
    if (await tell(port, password, 'PING').catch(() => false)) return { processId, end };
    await Bun.sleep(10);
  }
  await end();
  throw new Error(`redis-server did not start on port ${port}`);
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes('\n')) {
    const { value, done } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
  return text.trim();
}

/** One command on a connection of its own; true when Redis says that it was carried out. */
function tell(port: number, password: string | undefined, command: string): Promise<true> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    let answer = '';
    const lines = password ? 2 : 1;
    socket.setTimeout(5_000, () => socket.destroy(new Error(`Redis did not answer ${command}`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`Redis answered ${command} with ${answer || 'nothing'}`)));
    socket.on('data', (chunk) => {
      answer += chunk;
      if (answer.split('\r\n').length <= lines) return;
      if (
        answer
          .split('\r\n')
          .slice(0, lines)
          .every((line) => line.startsWith('+'))
      )
        resolve(true);
      socket.destroy();
    });
    socket.write(`${password ? encode(['AUTH', password]) : ''}${encode([command])}`);
  });
}

const encode = (words: string[]) =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;

/** The package starts a system service when it is installed; the policy file says no. */
const INSTALL = `apt-get update -qq
made=; [ -e /usr/sbin/policy-rc.d ] || { made=1; printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; }
apt-get install -y -qq --no-install-recommends redis-server; code=$?
[ -z "$made" ] || rm -f /usr/sbin/policy-rc.d
exit $code`;

let installing: Promise<string> | null = null;

async function ensureBinary(): Promise<string> {
  const found = Bun.which('redis-server');
  if (found) return found;
  installing ??= install();
  return installing;
}

async function install(): Promise<string> {
  if (process.getuid?.() !== 0)
    throw new Error('The tests need redis-server: install it, or run them as root on Debian.');
  // Test files run in parallel processes; a lock lets one install and the others find what it installed. It is the same for
  // all packages, because apt-get does not wait for another one.
  const lock = join(tmpdir(), 'gateway-apt.lock');
  const script = `command -v redis-server > /dev/null || { ${INSTALL}; }`;
  const child = Bun.spawn(['flock', lock, 'sh', '-c', script], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await child.exited;
  const found = Bun.which('redis-server');
  if (!found) throw new Error('redis-server could not be installed with apt-get.');
  return found;
}
