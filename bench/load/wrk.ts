import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import type { Target } from './job.ts';

export interface Saturation {
  readonly calls: number;
  readonly failed: number;
  readonly ms: number;
  /** What the generator itself took. */
  readonly cpuMs: number;
}

export const WRK_CONNECTIONS = 32;

let count = 0;

/** As many calls as fit: 32 connections, each sending the next call when the last was answered. */
export async function saturate(lab: Lab, target: Target, body: string, ms: number): Promise<Saturation> {
  const name = join(lab.folder, `wrk-${++count}`);
  writeFileSync(`${name}.json`, body);
  const headers = Object.entries(target.headers).map(([key, value]) => `wrk.headers[${quote(key)}] = ${quote(value)}`);
  const script = `
    local file = io.open(${quote(`${name}.json`)}, 'rb')
    wrk.method = 'POST'
    wrk.body = file:read('*a')
    file:close()
    ${headers.join('\n    ')}
    function done(summary)
      local e = summary.errors
      io.write(string.format('\\nRESULT {"calls":%d,"failed":%d,"ms":%d}\\n', summary.requests,
        e.connect + e.read + e.write + e.status + e.timeout, summary.duration / 1000))
    end`;
  writeFileSync(`${name}.lua`, script);
  const seconds = Math.max(1, Math.round(ms / 1_000));
  const flags = ['-t', '1', '-c', String(WRK_CONNECTIONS), '-d', `${seconds}s`, '--timeout', '10s'];
  const command = [lab.tools.wrk, ...flags, '-s', `${name}.lua`, target.url];
  const { printed, cpuMs } = await lab.processes.collect('wrk', command, ms + 30_000, lab.cores.load);
  const result = /^RESULT (.+)$/m.exec(printed)?.[1];
  if (!result) throw new Error(`wrk gave no result: ${printed}`);
  return { ...JSON.parse(result), cpuMs } as Saturation;
}

const quote = (text: string): string => JSON.stringify(text);
