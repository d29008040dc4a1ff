import { expect, test } from 'bun:test';
import type { CallLog, Outcome } from '../../core/call-log.ts';
import type { Incoming } from '../../http/upstream.ts';
import { answerStream } from './stream.ts';

interface Source {
  readonly incoming: Incoming;
  send(text: string | null): void;
}

function source(): Source {
  const waiting: (Uint8Array | null)[] = [];
  let wake: (() => void) | null = null;
  return {
    send: (text) => {
      waiting.push(text === null ? null : Buffer.from(text));
      wake?.();
    },
    incoming: {
      status: 200,
      statusText: 'OK',
      headers: new Headers(),
      read: async () => {
        while (waiting.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        return waiting.shift()!;
      },
      bytes: async () => new Uint8Array(),
      cancel: () => {},
    },
  };
}

function logging(isStream: boolean) {
  const outcomes: Outcome[] = [];
  const log = {
    isStream,
    captureResponse: () => ({ transferable: false, add: () => {} }),
    firstByte: () => {},
    close: (outcome: Outcome) => void outcomes.push(outcome),
  } as unknown as CallLog;
  return { log, outcomes };
}

async function nextText(reader: { read(): Promise<{ value?: Uint8Array | undefined }> }): Promise<string> {
  return Buffer.from((await reader.read()).value ?? []).toString();
}

test('a quiet stream of events gets comments, and only between two events', async () => {
  const { incoming, send } = source();
  const reader = answerStream(logging(true).log, incoming, { keepAliveMs: 5 }).getReader();
  expect(await nextText(reader)).toBe(': keep-alive\n\n');
  send('data: {"a":');
  expect(await nextText(reader)).toBe('data: {"a":');
  const next = nextText(reader);
  await Bun.sleep(30);
  send('1}\n\n');
  expect(await next).toBe('1}\n\n');
  expect(await nextText(reader)).toBe(': keep-alive\n\n');
  send(null);
  let last = await reader.read();
  while (!last.done) last = await reader.read();
});

test('a client that does not read is not sent one comment after the other', async () => {
  const { incoming, send } = source();
  const reader = answerStream(logging(true).log, incoming, { keepAliveMs: 2 }).getReader();
  await nextText(reader);
  await Bun.sleep(40);
  send('data: 1\n\n');
  const texts = [await nextText(reader), await nextText(reader), await nextText(reader)];
  expect(texts.filter((text) => text === 'data: 1\n\n')).toHaveLength(1);
  expect(texts.indexOf('data: 1\n\n')).toBeLessThanOrEqual(1);
  await reader.cancel();
});

test('an answer that is no stream of events gets none', async () => {
  const { incoming, send } = source();
  const reader = answerStream(logging(false).log, incoming, { keepAliveMs: 2 }).getReader();
  const next = nextText(reader);
  await Bun.sleep(20);
  send('{}');
  expect(await next).toBe('{}');
  await reader.cancel();
});

const OUTCOMES: readonly [string, boolean, string, Partial<Outcome>][] = [
  ['an error in an event', true, 'data: {"error":{"code":-32602}}\n\n', { errorCode: 'jsonrpc_-32602' }],
  [
    'an error in a body',
    false,
    '{"jsonrpc":"2.0","id":1,"error":{"message":"x","code":-1}}',
    { errorCode: 'jsonrpc_-1' },
  ],
  ['an error without a code', false, '{"error":{}}', { errorCode: 'jsonrpc_error' }],
  ['a tool that failed', true, 'data: {"result":{"content":[],"isError":true}}\n\n', { errorCode: 'tool_error' }],
  ['a denial', true, 'data: {"error":{"code":446}}\n\n', { errorCode: 'guardrail_denied', failedBy: 'gateway' }],
  [
    'a good answer',
    true,
    'data: {"result":{"text":"\\"error\\":1","isError":false}}\n\n',
    { errorCode: null, failedBy: null },
  ],
];
for (const [what, isStream, text, expected] of OUTCOMES) {
  test(`the log learns of ${what} under status 200`, async () => {
    const { incoming, send } = source();
    const { log, outcomes } = logging(isStream);
    const reader = answerStream(log, incoming).getReader();
    for (const piece of text) send(piece);
    send(null);
    while (!(await reader.read()).done);
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]).toMatchObject({ status: 200, failedBy: 'provider', ...expected });
  });
}
