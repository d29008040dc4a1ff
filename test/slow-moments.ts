import { join } from 'node:path';
import type { Span } from '../bench/load/job.ts';
import { root } from './process.ts';

/** What queued up in a slow moment needs a while to clear. */
const CLEARING_MS = 20;

/**
 * Watches for moments in which a virtual machine is slow: for tens of milliseconds the same work takes several times its
 * processor time. Whatever was under way then tells nothing about us.
 */
export function watchSlowMoments() {
  const slow: Span[] = [];
  const watchers = Array.from({ length: navigator.hardwareConcurrency }, (_, core) => {
    const command = ['taskset', '-c', String(core), process.execPath, join(root, 'bench/load/pace.ts')];
    const watcher = Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
    watcher.stdin.write('{}\n');
    watcher.stdin.flush();
    void listen(watcher.stdout, slow);
    return watcher;
  });
  return {
    wasSlow: ({ from, to }: Span) => slow.some((span) => span.from <= to && span.to + CLEARING_MS >= from),
    stop: async () => {
      for (const watcher of watchers) watcher.stdin.end();
      await Promise.all(watchers.map((watcher) => watcher.exited));
    },
  };
}

async function listen(stream: ReadableStream<Uint8Array>, slow: Span[]) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) slow.push(JSON.parse(line) as Span);
  }
}
