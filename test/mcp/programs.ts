import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Programs of this folder as servers that a gateway may run. */
export const programAt = (name: string): string => join(import.meta.dir, `${name}.ts`);

/** Nobody. Tests that run as another user than root cannot give a program away. */
export const PROGRAM_USER = process.getuid?.() === 0 ? 65_534 : null;

export const allowing = (...programs: readonly Record<string, unknown>[]): Record<string, string> => ({
  GATEWAY_MCP_COMMANDS: JSON.stringify(programs),
  ...(PROGRAM_USER !== null && { GATEWAY_MCP_USER: `${PROGRAM_USER}:${PROGRAM_USER}` }),
});

/** The processes whose command has this text in it, those that have ended and are not reaped included. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
}

/** Zombies among the children of a process. */
export function zombiesOf(parent: number): number {
  return readdirSync('/proc').filter((name) => {
    try {
      const [, state, of] = /^\d+ \(.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      return state === 'Z' && Number(of) === parent;
    } catch {
      return false;
    }
  }).length;
}

/** The processes that have come of one: by the folder they work in. */
export function processesIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
      } catch {
        return false;
      }
    });
}

/** The folder of a program that some of these processes are of. */
export function folderOf(pids: readonly number[]): string {
  for (const pid of pids) {
    try {
      const folder = readlinkSync(`/proc/${pid}/cwd`);
      if (folder.includes('gateway-mcp-')) return folder;
    } catch {
      // It has ended.
    }
  }
  throw new Error('none of them is of a program');
}
