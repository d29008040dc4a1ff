import type { CodeRunner, ProgramEnd } from '../../core/code-runner.ts';
import { newId } from '../../core/ids.ts';
import { unrun } from './execute.ts';
import { CODE_BYTES, PROGRAM_LIMITS } from './limits.ts';
import type { Outcome, Sandbox } from './sandbox.ts';

export interface ProgramsDeps {
  readonly sandbox: Sandbox;
  readonly cellSeconds: number;
  readonly memoryMb: number;
  /** Tells the operator that no sandbox can be started, and why. */
  readonly report: (problem: string) => void;
}

/** A client that waits for a tool gives up after a minute or so. */
const QUEUE_MS = 20_000;

/** Runs programs that call tools, each in a sandbox of its own. */
export const createPrograms = ({ sandbox, cellSeconds, memoryMb, report }: ProgramsDeps): CodeRunner => ({
  seconds: cellSeconds,
  memoryMb,
  mostCodeBytes: CODE_BYTES,
  run: async ({ workspaceId, code, tools, signal }) => {
    const id = newId<string>();
    const keep = async (_: unknown, content: AsyncIterable<Uint8Array>) => {
      for await (const _ of content);
    };
    try {
      const outcome = await sandbox.run({
        ...{ workspaceId, threadId: `program ${id}`, past: [], keep, signal },
        ...{ isOnce: true, queueMs: QUEUE_MS, limits: PROGRAM_LIMITS },
        cell: { id, code, files: [], tools },
      });
      return { printed: outcome.logs, how: howItEnded(outcome) };
    } catch (error) {
      return { printed: '', how: unrun(error, signal, report) };
    }
  },
});

function howItEnded({ stopped, isFailed }: Outcome): ProgramEnd['how'] {
  if (stopped) return stopped === 'time' ? 'too_long' : 'crashed';
  return isFailed ? 'failed' : 'well';
}
