import { closeSync, ftruncateSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import { machineCpuMs } from '../proc.ts';

/** Less than this part of the memory is free where the kernel takes pages from files as it needs them. */
const FREE_PART = 0.03;
const STEP = 256 * 1024 * 1024;
const piece = Buffer.alloc(4 * 1024 * 1024);

let count = 0;
let isFutile = false;

/**
 * Memory that a virtual machine does not use is with its host, and comes back page by page: 60 KB written to a log took
 * up to 115 µs then instead of 15 to 35, and every process that allocates pays as well; a proxy without a log pays
 * nothing. So the machine is brought into the state of one that has been up for a while: memory that no process needs
 * is filled with pages of a file, here one without content, that can go at once. It takes half a minute the first time,
 * and nothing while memory stays in use.
 */
export function takeMemoryBack({ folder, say }: Pick<Lab, 'folder' | 'say'>): void {
  if (isFutile || machineCpuMs().stolen === 0) return;
  const { free, total } = memory();
  if (free <= total * FREE_PART) return;
  say(`taking ${(free / 1e9).toFixed(1)} GB of free memory back from the host`);
  readEmptyFile(join(folder, `memory-${++count}`), total);
  // In a container with a limit, or on a file system that keeps no pages of such a file, there is no use in trying again.
  isFutile = memory().free > total * FREE_PART;
}

/** Until reading more of it leaves no less memory free. */
function readEmptyFile(file: string, mostBytes: number): void {
  const descriptor = openSync(file, 'w+');
  try {
    ftruncateSync(descriptor, mostBytes);
    let { free } = memory();
    for (let at = 0; at < mostBytes; at += piece.byteLength) {
      readSync(descriptor, piece, 0, piece.byteLength, at);
      if ((at + piece.byteLength) % STEP > 0) continue;
      const left = memory().free;
      if (left > free - STEP / 8) break;
      free = left;
    }
  } finally {
    closeSync(descriptor);
  }
}

function memory(): { readonly free: number; readonly total: number } {
  const text = readFileSync('/proc/meminfo', 'latin1');
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)![1]) * 1024;
  return { free: bytesOf('MemFree'), total: bytesOf('MemTotal') };
}
