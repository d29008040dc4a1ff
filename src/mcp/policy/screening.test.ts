import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../../core/errors.ts';
import { GuardrailDenied } from '../../guardrails/verdict.ts';
import type { Incoming } from '../../http/upstream.ts';
import { dataOf, EventCutter } from '../message/events.ts';
import type { MessageJudge } from './judge.ts';
import { type AnswerRules, policedAnswer } from './screening.ts';

interface Given {
  readonly pieces: readonly Uint8Array[];
  readonly type?: string;
  readonly status?: number;
  readonly headers?: Record<string, string>;
}

function incoming({ pieces, type = 'text/event-stream', status = 200, headers = {} }: Given) {
  const rest = [...pieces];
  const state = { isCancelled: false };
  const answer: Incoming = {
    status,
    statusText: '',
    headers: new Headers({ 'content-type': type, ...headers }),
    read: async () => rest.shift() ?? null,
    bytes: async () => Buffer.concat(rest.splice(0)),
    cancel: () => {
      state.isCancelled = true;
    },
  };
  return { answer, state };
}

const denied = () => new GuardrailDenied('output', { before_request_hooks: [], after_request_hooks: [] });

/** Denies what says `secret`, and blacks out what says `name`. */
const judge = {
  judge: async (text: string) => {
    if (text.includes('secret')) throw denied();
    return text.replaceAll('Ada', '***');
  },
  end: () => {},
} as unknown as MessageJudge;

const rules = (given: Partial<AnswerRules> = {}): AnswerRules => ({
  server: 'x',
  shows: ({ name }) => name !== 'b',
  seen: async () => {},
  judge: null,
  requestId: 1,
  ...given,
});

async function textOf(answer: Incoming): Promise<string> {
  const pieces: Uint8Array[] = [];
  for (let piece = await answer.read(); piece; piece = await answer.read()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** A cut within a line end leaves its second half behind, which means nothing there. */
const oneBlankLine = (text: string) => text.replaceAll('\n\n\n', '\n\n');

const listed = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"ä"},{"name":"b"}],"nextCursor":"2"}}';
const filtered = listed.replace(',{"name":"b"}', '');
/** Where data was on two lines there is now a space. */
const onOneLine = filtered.replace('1,', '1, ');
const STREAM = `: hi\n\nid: 1\ndata: {"method":"notifications/progress"}\n\nid: 2\r\ndata: ${listed.slice(0, 24)}\r\ndata: ${listed.slice(24)}\r\n\r\ndata: {"n":1.10}\n\n`;

describe('a stream', () => {
  test('is filtered alike wherever it is cut, and its other events keep their bytes', async () => {
    const bytes = Buffer.from(STREAM);
    const expected = `: hi\n\nid: 1\ndata: {"method":"notifications/progress"}\n\nid: 2\ndata: ${onOneLine}\n\ndata: {"n":1.10}\n\n`;
    for (let at = 0; at <= bytes.length; at++) {
      const { answer } = incoming({ pieces: [bytes.subarray(0, at), bytes.subarray(at)] });
      expect(oneBlankLine(await textOf(await policedAnswer(answer, rules())))).toBe(expected);
    }
    const { answer } = incoming({ pieces: [...bytes].map((byte) => Uint8Array.of(byte)) });
    expect(oneBlankLine(await textOf(await policedAnswer(answer, rules())))).toBe(expected);
  });

  test('that nobody has to touch is the same bytes', async () => {
    const { answer } = incoming({ pieces: [Buffer.from(STREAM)] });
    expect(await textOf(await policedAnswer(answer, rules({ shows: null, judge })))).toBe(STREAM);
  });

  const messages = async (text: string, given: Partial<AnswerRules> = {}) => {
    const { answer, state } = incoming({ pieces: [Buffer.from(text)] });
    const received = await textOf(await policedAnswer(answer, rules({ judge, ...given })));
    const data = new EventCutter().push(Buffer.from(received)).flatMap((event) => dataOf(event) ?? []);
    return { received, json: data.map((each) => JSON.parse(each)), ...state };
  };

  test('has an error in the place of an answer that is denied, and goes on', async () => {
    const { json, received } = await messages(
      'id: 5\ndata: {"id":1,"result":{"text":"secret"}}\n\ndata: {"method":"after"}\n\n',
    );
    expect(json[0]).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: 446, data: { code: 'guardrail_denied' } } });
    expect(json[1]).toEqual({ method: 'after' });
    expect(received).toStartWith('id: 5\n');
    expect(received).not.toContain('secret');
  });

  test('is without notifications that are denied, but not without their ids', async () => {
    const { received } = await messages('id: 5\ndata: {"method":"x","params":"secret"}\n\ndata: {"id":1}\n\n');
    expect(received).toBe('id: 5\n: withheld\n\ndata: {"id":1}\n\n');
  });

  test('ends with an error when a question of the server is denied, which would wait for its answer', async () => {
    const question = 'data: {"id":"q","method":"elicitation/create","params":"secret"}\n\n';
    const { json, isCancelled } = await messages(`${question}data: {"id":1,"result":{}}\n\n`);
    expect(json).toHaveLength(1);
    expect(json[0]).toMatchObject({ id: 1, error: { code: 446 } });
    expect(isCancelled).toBe(true);
    const alone = await messages(`${question}data: {"method":"after"}\n\n`, { requestId: null });
    expect(alone.received).toBe(': withheld\n\ndata: {"method":"after"}\n\n');
  });

  test('is blacked out where that is asked for', async () => {
    const { received } = await messages('data: {"id":1,"result":"Ada"}\n\n');
    expect(received).toBe('data: {"id":1,"result":"***"}\n\n');
  });

  test('is without what cannot be read', async () => {
    const twice = 'data: {"id":1,"result":{"tools":[]},"result":{"tools":[{"name":"b"}]}}\n\n';
    const { received } = await messages(`${twice}data: no json\n\ndata: {"id":2}\n\n`, { judge: null });
    expect(received).toBe(': withheld\n\n: withheld\n\ndata: {"id":2}\n\n');
  });
});

describe('a body', () => {
  const json = (text: string | Uint8Array, given: Partial<Given> = {}) =>
    incoming({ pieces: [Buffer.from(text)], type: 'application/json', ...given });
  const failure = async (given: ReturnType<typeof incoming>, more: Partial<AnswerRules> = {}) => {
    const error = await policedAnswer(given.answer, rules(more)).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof GatewayError)) throw new Error('it was not refused');
    return { code: error.code, status: error.status, body: error.body(), isCancelled: given.state.isCancelled };
  };

  test('is filtered, and says its new length', async () => {
    const answer = await policedAnswer(json(listed, { headers: { 'content-length': '999' } }).answer, rules());
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(filtered)));
    expect(await textOf(answer)).toBe(filtered);
  });

  test('tells what a server has shown before anybody sees it', async () => {
    const seen: string[] = [];
    const record = async (all: readonly { name: string }[]) => void seen.push(...all.map(({ name }) => name));
    await policedAnswer(json(listed).answer, rules({ seen: record }));
    expect(seen).toEqual(['ä', 'b']);
  });

  test('that is denied becomes a JSON-RPC error with status 446', async () => {
    const found = await failure(json('{"id":1,"result":"secret"}'), { judge });
    expect(found).toMatchObject({ code: 'guardrail_denied', status: 446, isCancelled: true });
    expect(found.body).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: 446 } });
  });

  test('that cannot be held against a rule is not given on', async () => {
    for (const given of [
      json('{"id":1,"result":{"tools":[]},"result":{"tools":[]}}'),
      json('<html>'),
      json(Buffer.from([0xff])),
      json('{}', { type: 'text/plain' }),
      json('{}', { headers: { 'content-encoding': 'gzip' } }),
    ])
      expect(await failure(given)).toMatchObject({ code: 'upstream_failed', status: 502, isCancelled: true });
  });

  test("that is the server's refusal is judged, and otherwise its own", async () => {
    for (const status of [400, 404, 500]) {
      const { answer } = json('secret', { status, type: 'text/plain' });
      expect(await policedAnswer(answer, rules())).toBe(answer);
      await expect(policedAnswer(answer, rules({ judge }))).rejects.toMatchObject({ status: 446 });
      const passed = await policedAnswer(json('no', { status, type: 'text/plain' }).answer, rules({ judge }));
      expect([passed.status, await textOf(passed)]).toEqual([status, 'no']);
    }
  });

  test('where there should be none is left out', async () => {
    for (const status of [202, 204]) {
      const passed = await policedAnswer(json('secret', { status, type: 'text/plain' }).answer, rules({ judge }));
      expect([passed.status, await textOf(passed)]).toEqual([status, '']);
    }
    expect(await textOf(await policedAnswer(json('', { type: '' }).answer, rules()))).toBe('');
  });
});
