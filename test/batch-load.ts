import { readFileSync } from 'node:fs';
import { moment, type Span } from '../bench/load/job.ts';
import { ADMIN_KEY } from './gateway.ts';
import type { GatewayProcess } from './process.ts';

const authorized = { 'x-gateway-api-key': ADMIN_KEY, 'x-gateway-virtual-key': 'sim' };
const HEAD =
  '--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="in.jsonl"\r\n\r\n';
const TAIL = '\r\n--x--\r\n';

const said = (bytes: number) => 'x'.repeat(bytes);

export const requestOf = (bytes: number) => ({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: said(bytes) }],
});

/** A file of requests that is written while it is sent. */
export async function uploadRequests({ url }: GatewayProcess, lines: number, bytesEach: number): Promise<string> {
  const body = JSON.stringify(requestOf(bytesEach));
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (sent === 0) controller.enqueue(Buffer.from(HEAD));
        const group: string[] = [];
        for (; group.length < 20 && sent < lines; sent++)
          group.push(`{"custom_id":"r${sent}","method":"POST","url":"/v1/chat/completions","body":${body}}\n`);
        if (group.length > 0) controller.enqueue(Buffer.from(group.join('')));
        else {
          controller.enqueue(Buffer.from(TAIL));
          controller.close();
        }
        // A fast network, not a loopback.
        await Bun.sleep(1);
      },
    },
    { highWaterMark: 0 },
  );
  const uploaded = await fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'multipart/form-data; boundary=x' },
    body: stream,
  });
  return ((await uploaded.json()) as { id: string }).id;
}

export async function beginBatch({ url }: GatewayProcess, fileId: string): Promise<string> {
  const begun = await fetch(`${url}/v1/batches`, {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'application/json' },
    body: JSON.stringify({ input_file_id: fileId, endpoint: '/v1/chat/completions', completion_window: '24h' }),
  });
  return ((await begun.json()) as { id: string }).id;
}

export async function cancelBatch({ url }: GatewayProcess, id: string): Promise<void> {
  await fetch(`${url}/v1/batches/${id}/cancel`, { method: 'POST', headers: authorized });
}

export async function batchOf({ url }: GatewayProcess, id: string) {
  const reply = await fetch(`${url}/v1/batches/${id}`, { headers: authorized });
  return (await reply.json()) as {
    status: string;
    in_progress_at: number | null;
    finalizing_at: number | null;
    request_counts: { total: number; completed: number; failed: number };
  };
}

/** So many calls, 64 at once: what the relay does without batches. Answers how many in a second. */
export async function plainRate({ url }: GatewayProcess, calls: number, bytesEach: number): Promise<number> {
  const body = JSON.stringify(requestOf(bytesEach));
  const startedAt = performance.now();
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await callOnce(url, body);
  };
  await Promise.all(Array.from({ length: 64 }, caller));
  return calls / ((performance.now() - startedAt) / 1_000);
}

async function callOnce(url: string, body: string): Promise<Span> {
  const from = moment();
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'application/json' },
    body,
  });
  await reply.arrayBuffer();
  if (reply.status !== 200) throw new Error(`an interactive call got ${reply.status}`);
  return { from, to: moment() };
}

/** Interactive calls at a steady rate for so long; answers when each began and ended. */
export async function interactiveCalls({ url }: GatewayProcess, perSecond: number, ms: number): Promise<Span[]> {
  const body = JSON.stringify(requestOf(200));
  const running: Promise<Span>[] = [];
  const timer = setInterval(() => void running.push(callOnce(url, body)), 1_000 / perSecond);
  await Bun.sleep(ms);
  clearInterval(timer);
  return Promise.all(running);
}

export function percentile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)]!;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

const QUIET_LOOK_MS = 250;
/** In one look, of which a process with nothing to do uses a hundredth. */
const QUIET_CPU_MS = 20;
const QUIET_LOOKS = 6;

/** Waits until the gateway has nothing left to do and has given back what memory it does not need. */
export async function isQuiet({ pid }: GatewayProcess, limitMs = 60_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  for (let quiet = 0; quiet < QUIET_LOOKS; ) {
    const before = cpuMs(pid);
    await Bun.sleep(QUIET_LOOK_MS);
    quiet = cpuMs(pid) - before <= QUIET_CPU_MS ? quiet + 1 : 0;
    if (performance.now() > deadline) throw new Error(`the gateway was not quiet within ${limitMs} ms`);
  }
}

/** Processor time of a process so far, in milliseconds. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  // The kernel counts in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
