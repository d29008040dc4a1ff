import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';

/** Which machine since which start, and which of its containers: within it, a process number means one process. */
function marker(): string {
  try {
    const place = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8') + readlinkSync('/proc/self/ns/pid');
    return createHash('sha256').update(place).digest('hex').slice(0, 12);
  } catch {
    return 'elsewhere';
  }
}

const shape = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 60);

/** Who is syncing, for others who try. */
export function ownHolder(): string {
  let user = 'user';
  try {
    user = userInfo().username;
  } catch {
    // A container may run as a number without a name.
  }
  return `${shape(user)}@${shape(hostname())} (process ${process.pid}, ${marker()})`;
}

/** Whether it was a process of this machine that is there no more: it will not come back. */
export function isDead(holder: string): boolean {
  const [, pid, where] = /\(process (\d+), (\w+)\)$/.exec(holder) ?? [];
  if (pid === undefined || where === 'elsewhere' || where !== marker()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'ESRCH';
  }
}
