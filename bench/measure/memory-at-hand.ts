import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import { machineCpuMs } from '../proc.ts';
import type { Subject } from './cost.ts';

/** More than a log holds of a call beside its body, and more calls than one core answers in a second. */
const MORE_PER_CALL = 4096;
const CALLS_PER_SECOND = 20_000;
const MOST_BYTES = 1024 * 1024 * 1024;
const piece = Buffer.alloc(4 * 1024 * 1024);

/**
 * Memory that a virtual machine has not used for a while is with its host, and comes back page by page when somebody
 * writes a file: 55 µs for 60 KB instead of 10, charged to whoever writes a log. So a file is written and removed before
 * each turn, and the pages of it are here. It is no larger than the log of the turn can get, because it takes the caches
 * from whoever comes next.
 */
export function takeMemoryBack({ folder }: Lab, { body }: Pick<Subject, 'body'>, ms: number): void {
  if (machineCpuMs().stolen === 0) return;
  const file = join(folder, 'memory');
  const bytes = Math.min(MOST_BYTES, (body.length + MORE_PER_CALL) * CALLS_PER_SECOND * (ms / 1_000));
  const descriptor = openSync(file, 'w');
  for (let written = 0; written < bytes; written += piece.byteLength) writeSync(descriptor, piece);
  closeSync(descriptor);
  unlinkSync(file);
}
