import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findSandbox } from '../src/assistants/interpreter/find.ts';
import { bundle, executableVariable } from './bundle.ts';
import { ADMIN_KEY, client } from './gateway.ts';
import { layEmptyFiles } from './sqlite-files.ts';

export const root = join(import.meta.dir, '..');

/** Every way to start us that users have. The executable must have been built, the others need nothing. */
export const commands = {
  /** What tests start: the executable where `npm test` has made one, because it starts with half the work, else the bundle. */
  get program(): readonly string[] {
    const made = process.env[executableVariable];
    return made ? [made] : commands.bundle;
  },
  get bundle() {
    return [process.execPath, join(bundle(), 'main.js')] as const;
  },
  bin: [join(root, 'bin/gateway')],
  npm: ['npm', '--prefix', root, 'start', '--'],
  executable: [join(root, 'dist/gateway')],
} as const;

export interface ProcessOptions {
  readonly command?: readonly string[];
  readonly arguments?: readonly string[];
  readonly environment?: Record<string, string>;
  /** Kept when the process ends; without it the process gets a new one that goes with it. */
  readonly dataDir?: string;
  readonly cwd?: string;
  /** What it says when it has started; the first group is its address. */
  readonly greeting?: RegExp;
}

export const newDataDir = (): string => mkdtempSync(join(tmpdir(), 'gateway-process-'));
export const removeDataDir = (dataDir: string): void => rmSync(dataDir, { recursive: true, force: true });

/** An executable has no packages of npm beside it, and is told where they are, as an operator would. */
function sandboxFor(command: readonly string[], environment: Record<string, string>): Record<string, string> {
  if (command[0] !== process.env[executableVariable] || environment.GATEWAY_INTERPRETER_PYTHON) return {};
  const found = findSandbox({ deno: null, pyodide: null, wheels: null });
  if (!('place' in found)) return {};
  return { GATEWAY_INTERPRETER_DENO: found.place.deno, GATEWAY_INTERPRETER_PYODIDE: found.place.pyodide };
}

/** Set by test/run.ts for the tests whose processes live for seconds. */
export const shortLivedVariable = 'GATEWAY_TEST_SHORT_LIVED';

/**
 * Most of a short life goes into translating code that then hardly runs: so much later it takes a fifth less of the
 * processor. What a process does is the same, and code that is really used much is translated all the same.
 */
const SHORT_LIVED = {
  BUN_JSC_thresholdForJITAfterWarmUp: '2000',
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '20000',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '20000',
  BUN_JSC_thresholdForOptimizeSoon: '20000',
};

/** Nothing of the tester's own environment: a provider's key or a raised limit there would change what is tested. */
const surroundings = (command: readonly string[], dataDir: string, environment: Record<string, string>) => ({
  // npm's scripts find Bun beside the other tools, and bin/gateway needs only a shell.
  PATH: `${join(root, 'node_modules/.bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: dataDir,
  PORT: '0',
  GATEWAY_DATA_DIR: join(dataDir, 'data'),
  ...sandboxFor(command, environment),
  ...(process.env[shortLivedVariable] && SHORT_LIVED),
  ...environment,
});

/** Environment of a gateway that the tests can talk to and that may call a simulated provider on this machine. */
export const forTests = {
  GATEWAY_ADMIN_KEY: ADMIN_KEY,
  TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
};

/** Runs a command of the gateway to its end. */
export async function runGateway({
  command = commands.program,
  arguments: rest = [],
  environment = {},
  dataDir,
  cwd,
}: ProcessOptions = {}) {
  const home = dataDir ?? newDataDir();
  const child = Bun.spawn([...command, ...rest], {
    cwd: cwd ?? home,
    env: surroundings(command, home, environment),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (!dataDir) removeDataDir(home);
  return { exitCode, output, errors };
}

/** Starts the gateway as a process of its own and waits until it says where it listens. */
export async function startProcess({
  command = commands.program,
  arguments: rest = [],
  environment = forTests,
  dataDir,
  cwd,
  greeting = / on (http:\/\/\S+)/,
}: ProcessOptions = {}) {
  const home = dataDir ?? newDataDir();
  // Half of what a first start takes is to make tables: a test that is about that names a folder of its own.
  if (!dataDir && !environment.DATABASE_URL && !environment.GATEWAY_DATA_DIR) {
    const data = join(home, 'data');
    mkdirSync(data, { mode: 0o700 });
    await layEmptyFiles(data);
  }

  const child = Bun.spawn([...command, ...rest], {
    cwd: cwd ?? home,
    env: surroundings(command, home, environment),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const running = new Set([child]);
  child.exited.then(() => running.delete(child));

  const output = collect(child.stdout);
  const errors = collect(child.stderr);
  const url = await Promise.race([
    output.until(greeting),
    child.exited.then(async (code) => {
      await errors.ended;
      throw new Error(`The gateway ended with ${code} instead of starting: ${errors.text}`);
    }),
    Bun.sleep(2 * PATIENCE_MS).then(() => {
      throw new Error(`The gateway did not start: ${output.text}${errors.text}`);
    }),
  ]);

  const end = async (signal: NodeJS.Signals): Promise<number> => {
    // npm passes the signal on to its child, but is not ended by one that comes back as an exit code.
    child.kill(signal);
    const code = await child.exited;
    await Promise.all([output.ended, errors.ended]);
    if (!dataDir) removeDataDir(home);
    return code;
  };

  return {
    url,
    home,
    dataDir: join(home, 'data'),
    api: client(url),
    /** Of the process that was started: for npm, npm's own. */
    pid: child.pid,

    get output() {
      return output.text;
    },
    get errors() {
      return errors.text;
    },
    get isAlive() {
      return running.has(child);
    },
    exited: child.exited,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    /** Resident memory in bytes. */
    memory: () => residentBytes(child.pid),
    /** What it has had of the processor, whatever else runs on the machine. */
    processorMs: () => processorMs(child.pid),
    given: {
      virtualKey: async (customHost: string, slug = 'sim', provider = 'openai') => {
        const reply = await client(url).post('/v1/virtual-keys', {
          name: slug,
          slug,
          provider,
          key: 'sk-test-credential',
          custom_host: customHost,
        });
        if (reply.status !== 200) throw new Error(`no virtual key: ${reply.status} ${reply.text}`);
      },
    },
  };
}

export type GatewayProcess = Awaited<ReturnType<typeof startProcess>>;

/** The simulated providers as a process of their own: a heavy test must not measure itself. */
export async function startSimulator() {
  const child = Bun.spawn([process.execPath, join(root, 'simulator/main.ts')], {
    env: { PATH: process.env.PATH, PORT: '0' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const base = (await collect(child.stdout).until(/at (http:\/\/\S+)/)).replace(/\/$/, '');
  return {
    url: `${base}/v1`,
    stats: async () => (await (await fetch(`${base}/stats`)).json()) as { open: number; aborted: number },
    stop: async () => {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

/** The system counts in hundredths of a second. */
const TICK_MS = 10;

function processorMs(pid: number): number {
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
  const [user, system] = after.split(' ').slice(11, 13).map(Number);
  return (user! + system!) * TICK_MS;
}

export const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;

/** The most memory the process had until the work was done. */
export async function mostMemoryDuring(child: { memory(): number }, work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const finish = () => {
    isDone = true;
  };
  work.then(finish, finish);
  let most = 0;
  while (!isDone) {
    most = Math.max(most, child.memory());
    await Bun.sleep(20);
  }
  await work;
  return most;
}

/** What a process writes, as far as it has come. */
function collect(stream: ReadableStream<Uint8Array>) {
  const waiting: { pattern: RegExp; resolve: (found: string) => void }[] = [];
  const collected = {
    text: '',
    ended: Promise.resolve(),
    /** The first group of the pattern, as soon as it matches. */
    until: (pattern: RegExp) =>
      new Promise<string>((resolve) => {
        waiting.push({ pattern, resolve });
        look();
      }),
  };
  const look = () => {
    for (const { pattern, resolve } of waiting) {
      const found = pattern.exec(collected.text)?.[1];
      if (found !== undefined) resolve(found);
    }
  };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) {
      collected.text += decoder.decode(piece, { stream: true });
      look();
    }
  };
  collected.ended = read();
  return collected;
}

/** Ends a wait that would last for ever, with a better word than the runner has for it. Not a claim about any speed. */
export const PATIENCE_MS = 120_000;

/** Waits for something that happens elsewhere, and says what did not. */
export async function eventually(what: string, isTrue: () => boolean | Promise<boolean>, limitMs = PATIENCE_MS) {
  const startedAt = performance.now();
  while (!(await isTrue())) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > limitMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    // What takes long is asked for more rarely: asking takes the processor from what is waited for.
    await Bun.sleep(Math.min(100, 10 + waitedMs / 20));
  }
}
