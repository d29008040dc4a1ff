import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cores } from './lab.ts';
import { isSameProcess, machineCpuMs, processTree } from './proc.ts';

export interface Start {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** The core it is held on; absent where nothing is pinned. */
  readonly core?: number | undefined;
}

export interface Running {
  readonly name: string;
  readonly pid: number;
  hasEnded(): boolean;
  /** The end of what it printed, for error messages. */
  lastWords(): string;
  end(): Promise<void>;
}

export interface Collected {
  readonly printed: string;
  readonly cpuMs: number;
}

/** Everything a run starts, so that everything is ended again, by id. */
export class Processes {
  readonly #folder: string;
  readonly #running = new Set<Running>();
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  start({ name, command, env = {}, cwd, core }: Start): Running {
    const logPath = join(this.#folder, `${name}-${++this.#count}.log`);
    const log = openSync(logPath, 'w');
    const child = Bun.spawn(pinned(command, core), {
      env: environment(env),
      cwd,
      stdin: 'ignore',
      stdout: log,
      stderr: log,
    });
    const lastWords = () => readFileSync(logPath, 'utf8').trim().split('\n').slice(-12).join('\n');
    return this.#keep(name, child, lastWords);
  }

  /** Runs a command to its end and returns what it printed, and the CPU time it took. */
  async collect(name: string, command: readonly string[], withinMs: number, core?: number): Promise<Collected> {
    const child = Bun.spawn(pinned(command, core), { env: environment({}), stdout: 'pipe', stderr: 'inherit' });
    const running = this.#keep(name, child);
    const ended = Promise.all([new Response(child.stdout).text(), child.exited]);
    const complaint = `${name} took longer than ${withinMs} ms`;
    const [printed] = await within(withinMs, ended, complaint).finally(() => running.end());
    return { printed, cpuMs: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000 };
  }

  /** Runs one of our generators: a job goes in as JSON, lines of JSON come out. */
  converse(script: string, job: object, core?: number): Conversation {
    const child = Bun.spawn(pinned([process.execPath, script], core), {
      env: environment({}),
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const running = this.#keep(script, child);
    child.stdin.write(`${JSON.stringify(job)}\n`);
    child.stdin.flush();
    return new Conversation(running, child.stdout, () => child.stdin.end());
  }

  #keep(name: string, child: Bun.Subprocess, lastWords = () => ''): Running {
    const running: Running = {
      name,
      pid: child.pid,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      lastWords,
      end: async () => {
        await endTree(child);
        this.#running.delete(running);
      },
    };
    this.#running.add(running);
    return running;
  }

  /**
   * A virtual CPU that goes idle is given away and comes back milliseconds late, which no proxy is to blame for. A loop
   * of the idle class yields to everything else and keeps it here. It ends by itself should we be killed.
   */
  keepAwake(cores: Cores): Running[] {
    if (cores.proxy === undefined || machineCpuMs().stolen === 0 || !Bun.which('chrt')) return [];
    const spin = ['timeout', '600', 'sh', '-c', 'while :; do :; done'];
    const distinct = new Set([cores.proxy, cores.upstream!, cores.load!]);
    return [...distinct].map((core) => this.start({ name: 'awake', command: ['chrt', '--idle', '0', ...spin], core }));
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.end()));
  }
}

export class Conversation {
  readonly running: Running;
  readonly #lines: AsyncGenerator<unknown>;
  readonly #close: () => void;

  constructor(running: Running, stdout: ReadableStream<Uint8Array>, close: () => void) {
    this.running = running;
    this.#lines = jsonLines(stdout);
    this.#close = close;
  }

  async next<T>(withinMs: number): Promise<T> {
    const line = await within(withinMs, this.#lines.next(), `${this.running.name} said nothing for ${withinMs} ms`);
    if (line.done) throw new Error(`${this.running.name} ended early`);
    return line.value as T;
  }

  /** Tells it to finish, and waits until it has. */
  async close(): Promise<void> {
    this.#close();
    await this.running.end();
  }
}

async function* jsonLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line);
  }
}

async function within<T>(ms: number, promise: Promise<T>, complaint: string): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function pinned(command: readonly string[], core: number | undefined): string[] {
  return core === undefined ? [...command] : ['taskset', '-c', String(core), ...command];
}

// A clean environment: DATABASE_URL or a provider's key of the person who runs this must not change what is measured.
function environment(own: Record<string, string>): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  // Bun's fetch runs 256 calls at once unless told otherwise. 65535 is the most it takes; 65536 silently means 256.
  return { PATH, HOME, BUN_CONFIG_MAX_HTTP_REQUESTS: '65535', ...own };
}

async function endTree(child: Bun.Subprocess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const tree = processTree(child.pid);
  child.kill('SIGTERM');
  const gone = await Promise.race([child.exited.then(() => true), Bun.sleep(5_000).then(() => false)]);
  if (!gone) child.kill('SIGKILL');
  await child.exited;
  // What it started and left behind; the start time tells a process from a later one with the same id.
  for (const stat of tree) if (isSameProcess(stat)) process.kill(stat.pid, 'SIGKILL');
}

export function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = server;
  server.stop(true);
  return port;
}

export async function untilAnswers(url: string, running: Running, everyMs = 5): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    if (running.hasEnded()) throw new Error(`${running.name} ended at start:\n${running.lastWords()}`);
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await response.arrayBuffer();
      if (response.status === 200) return;
    } catch {
      // Not listening yet.
    }
    await Bun.sleep(everyMs);
  }
  throw new Error(`${running.name} did not answer ${url} within 30 s:\n${running.lastWords()}`);
}

/** Waits for something that happens elsewhere, and says what did not. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`not within 30 s: ${what}`);
    await Bun.sleep(20);
  }
}
