import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import { machineCpuMs } from '../proc.ts';

/** More than the log of one turn. */
const BYTES = 1024 * 1024 * 1024;
const piece = Buffer.alloc(16 * 1024 * 1024);

/**
 * Memory that a virtual machine has not used for a while is with its host, and comes back page by page when somebody
 * writes a file: 55 µs for 60 KB instead of 10, charged to whoever writes a log. So a file is written and removed before
 * each turn, and the pages of it are here.
 */
export function takeMemoryBack({ folder }: Lab): void {
  if (machineCpuMs().stolen === 0) return;
  const file = join(folder, 'memory');
  const descriptor = openSync(file, 'w');
  for (let written = 0; written < BYTES; written += piece.byteLength) writeSync(descriptor, piece);
  closeSync(descriptor);
  unlinkSync(file);
}
