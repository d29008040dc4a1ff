import { copyFileSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findSandbox } from '../../src/assistants/interpreter/find.ts';
import { wholeOf } from '../../src/assistants/interpreter/frames.ts';
import { type Job, type Outcome, type SandboxOptions, SandboxPool } from '../../src/assistants/interpreter/sandbox.ts';
import type { Cell } from '../../src/assistants/interpreter/session.ts';
import type { WorkspaceId } from '../../src/core/ids.ts';

/** Made once for all tests on this machine: it takes seconds, and is the same each time. */
const folder = fileURLToPath(new URL('../../node_modules/.cache/gateway-interpreter', import.meta.url));

/** Says that test/run.ts has made it for all workers of a run. */
export const warmVariable = 'GATEWAY_TEST_WARM';

/** The first time takes seconds, and many of them on a machine that is busy. */
export const PREPARED_MS = 180_000;
let warming: Promise<void> | undefined;
/** Once for all files of a worker. */
export function warmUp(): Promise<void> {
  warming ??= runOnce().catch((error) => {
    warming = undefined;
    throw error;
  });
  return warming;
}

async function runOnce(): Promise<void> {
  if (process.env[warmVariable]) return;
  const sandbox = openTestSandbox();
  await threadOf(sandbox).run('1');
  await sandbox.stop();
}

/** A data dir in which what was made lies already. */
export async function dataDirWithSnapshot(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  await laySnapshot(dataDir);
  return dataDir;
}

/** Lays what was made into a data dir; makes that, too, where there is none yet. */
export async function laySnapshot(dataDir: string): Promise<void> {
  await warmUp();
  mkdirSync(join(dataDir, 'interpreter'), { mode: 0o700, recursive: true });
  for (const name of readdirSync(folder).filter((each) => /\.(snapshot|memory)$/.test(each)))
    copyFileSync(join(folder, name), join(dataDir, 'interpreter', name));
}

export function openTestSandbox(options: Partial<SandboxOptions> = {}): SandboxPool {
  const found = findSandbox({ deno: null, pyodide: null, wheels: null });
  if (!('place' in found)) throw new Error(`There is no sandbox to test: ${found.problem}.`);
  return new SandboxPool({ ...found.place, folder, memoryMb: 256, cellSeconds: 90, processes: 2, ...options });
}

export const cell = (code: string, files: Readonly<Record<string, string>> = {}): Cell => ({
  id: crypto.randomUUID(),
  code,
  files: Object.entries(files).map(([name, text]) => ({
    name,
    bytes: Buffer.byteLength(text),
    open: async () => new Blob([text]).stream() as unknown as AsyncIterable<Uint8Array>,
  })),
});

export interface Ran extends Outcome {
  readonly files: Readonly<Record<string, string>>;
  readonly images: readonly string[];
}

/** A thread of a workspace: remembers its cells as the gateway does. */
export function threadOf(sandbox: SandboxPool, { workspace = 'workspace', thread = crypto.randomUUID() } = {}) {
  const past: Cell[] = [];
  const run = async (code: string | Cell, signal = new AbortController().signal): Promise<Ran> => {
    const next = typeof code === 'string' ? cell(code) : code;
    const files: Record<string, string> = {};
    const images: string[] = [];
    const keep: Job['keep'] = async (made, content) => {
      const text = Buffer.from(await wholeOf(content)).toString('latin1');
      if (made.type === 'image') images.push(text);
      else files[made.path] = text;
    };
    const job = { workspaceId: workspace as WorkspaceId, threadId: thread, past: [...past], cell: next, keep, signal };
    const outcome = await sandbox.run(job);
    if (outcome.isStateLost) past.length = 0;
    if (outcome.stopped === null) past.push(next);
    return { ...outcome, files, images };
  };
  return { run, past };
}
