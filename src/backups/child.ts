import { ownCommand } from '../core/program.ts';
import type { Outcome } from './schedule.ts';
import { MADE_BUT_NOT_TIDY } from './stage.ts';

const LONGEST_MS = 24 * 3_600_000;
const MOST_TOLD = 2_000;

/**
 * A backup as a process of its own, `gateway backup`: a copy of a large database would hold the event loop. It reads the
 * same settings as this process.
 */
export async function backupInChild(signal: AbortSignal, report: (problem: string) => void): Promise<Outcome> {
  const child = Bun.spawn([...ownCommand(), 'backup'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  const timer = setTimeout(kill, LONGEST_MS);
  timer.unref?.();
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    const told = await lastOf(child.stderr);
    const code = await child.exited;
    if (code !== 0 && !signal.aborted) report(told || `the process ended with ${child.signalCode ?? code}`);
    if (code === MADE_BUT_NOT_TIDY) return 'made_not_tidy';
    return code === 0 ? 'made' : 'failed';
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
}

/** What it says at its end, after the bars. */
async function lastOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>)
    text = (text + decoder.decode(piece, { stream: true })).slice(-MOST_TOLD);
  return /gateway: ([^\r\n]+)\s*$/.exec(text)?.[1] ?? '';
}
