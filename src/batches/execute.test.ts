import { expect, test } from 'bun:test';
import { execute, retryAfter } from './execute.ts';
import { Gates } from './gates.ts';

const never = new AbortController().signal;
const options = (call: () => Promise<Response>) => ({
  batch: 'batch_1',
  gateKey: 'k',
  gates: new Gates({ most: 8 }),
  call,
  stopping: never,
  signal: never,
  firstWaitMs: 1,
});

const answers = (...list: (Response | Error)[]) => {
  let calls = 0;
  return {
    call: async (): Promise<Response> => {
      const next = list[Math.min(calls++, list.length - 1)]!;
      if (next instanceof Error) throw next;
      return next.clone() as unknown as Response;
    },
    get calls() {
      return calls;
    },
  };
};

const good = () => Response.json({ ok: 1 }, { headers: { 'x-request-id': 'req_1' } });

test('what may pass is asked again: too many requests, failures, answers that break off or are no JSON', async () => {
  const provider = answers(
    new Response('{}', { status: 429 }),
    new Response('<html>', { status: 502 }),
    new Error('reset'),
    new Response('not json'),
    good(),
  );
  const result = await execute(options(provider.call));
  expect(result).toMatchObject({ isError: false, error: null });
  expect(JSON.parse(result!.response!)).toEqual({ status_code: 200, request_id: 'req_1', body: { ok: 1 } });
  expect(provider.calls).toBe(5);
});

test('what will not pass is asked once, and its answer is the result', async () => {
  const provider = answers(Response.json({ error: { message: 'no' } }, { status: 400 }));
  const result = await execute(options(provider.call));
  expect(result!.isError).toBe(true);
  expect(JSON.parse(result!.response!)).toMatchObject({ status_code: 400, body: { error: { message: 'no' } } });
  expect(provider.calls).toBe(1);
});

test('an answer that is never JSON ends as an error that shows it', async () => {
  const result = await execute(options(answers(new Response('surprise')).call));
  expect(result).toMatchObject({ isError: true, response: null });
  expect(JSON.parse(result!.error!)).toMatchObject({ code: 'invalid_response' });
  expect(result!.error).toContain('surprise');
  const page = await execute(options(answers(new Response('<html>', { status: 403 })).call));
  expect(JSON.parse(page!.response!).body.error.message).toContain('<html>');
});

test('JSON of several lines becomes one line and keeps its numbers', async () => {
  const result = await execute(
    options(answers(new Response('{\n  "n": 12345678901234567890,\r\n "t": "a\\nb"\n}\n')).call),
  );
  expect(result!.response).toContain('"body":{   "n": 12345678901234567890,  "t": "a\\nb" }}');
  expect(result!.response).not.toContain('\n');
});

test('a request that is stopped while it waits has no result', async () => {
  const stopping = new AbortController();
  const provider = answers(new Response('{}', { status: 429, headers: { 'retry-after': '100' } }));
  const running = execute({ ...options(provider.call), stopping: stopping.signal });
  await Bun.sleep(10);
  stopping.abort();
  expect(await running).toBeNull();
});

test('how long to wait is read in every form', () => {
  const at = Date.parse('2026-01-01T00:00:00Z');
  const read = (headers: Record<string, string>) => retryAfter(new Headers(headers), at);
  expect(read({ 'retry-after': '2' })).toBe(2_000);
  expect(read({ 'retry-after': '0.5' })).toBe(500);
  expect(read({ 'retry-after': 'Thu, 01 Jan 2026 00:00:03 GMT' })).toBe(3_000);
  expect(read({ 'retry-after': '9', 'retry-after-ms': '20' })).toBe(20);
  expect(read({ 'retry-after': '999999' })).toBe(600_000);
  expect(read({ 'retry-after': 'soon' })).toBeUndefined();
  expect(read({})).toBeUndefined();
});
