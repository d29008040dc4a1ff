import { readFileSync } from 'node:fs';

/**
 * Names a process in the files it writes: its number and, where Linux tells it, the moment it began. The number alone is
 * not enough: after a restart, in a container above all, another process or even a thread has it.
 */
export function processTag(processId: number): string {
  const birth = birthOf(processId);
  return birth === null ? String(processId) : `${processId}.${birth}`;
}

/** Whether the process that was named so still lives, so that its files are its own. */
export function isAlive(tag: string): boolean {
  const [number, birth] = tag.split('.');
  const processId = Number(number);
  const found = birth === undefined ? null : birthOf(processId);
  if (found !== null) return found === birth;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** In ticks since the machine started: a clock that is set does not move it. */
function birthOf(processId: number): string | null {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'utf8');
    // The name before it may hold spaces and brackets of its own.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
