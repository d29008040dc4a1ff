import { expect, test } from 'bun:test';
import { createSealer } from '../../crypto/seal.ts';
import type { McpServer } from '../server/server.ts';
import type { Client, Json } from './conversation.ts';
import { createQuestions } from './questions.ts';
import { serverEvents } from './resuming.ts';
import { createTranslator } from './server-events.ts';

const server = { id: 's', slug: 'notes' } as McpServer;
const channel = { kind: 'session', id: 'sealed', version: '2025-11-25' } as const;
const questions = createQuestions({ sealer: createSealer(Buffer.alloc(32, 1)) });
const clientWith = (capabilities: Json) => ({ caller: { id: 'ada' }, session: 'x', capabilities }) as unknown as Client;

function translated(events: string, capabilities: Json = {}) {
  const answers: Json[] = [];
  const client = clientWith(capabilities);
  const translator = createTranslator({ questions, answer: (_, said) => void answers.push(said), changed: () => {} });
  const translate = translator({ server, client, channel }, (message) => message);
  const texts = events
    .split(/(?<=\n\n)/)
    .map((event) => translate(Buffer.from(event)))
    .map(({ bytes }) => (bytes ? Buffer.from(bytes).toString() : null));
  return { texts, answers, client };
}
const event = (message: object, head = '') => `${head}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;

test('messages keep their bytes, without what only the gateway needs', () => {
  const progress = 'data: {"jsonrpc":"2.0", "method":"notifications/progress","params":{"n":12345678901234567890}}\n\n';
  const { texts } = translated(`id: 7\nretry: 5\ndata:\n\nid: 8\n${progress}: hello\n\n`);
  expect(texts).toEqual([null, progress, ': hello\n\n']);
});

test('a question gets an id that leads back, and what cancels it the same', () => {
  const asked = event({ id: 3, method: 'elicitation/create', params: {} });
  const cancelled = event({ method: 'notifications/cancelled', params: { requestId: 3 } });
  const { texts, client } = translated(asked + cancelled, { elicitation: {} });
  const [question, end] = texts.map((text) => JSON.parse(text!.slice('data: '.length)));
  expect(questions.open(client, question.id)).toEqual({ serverId: 's', channel, id: 3 });
  expect(questions.open(clientWith({}), 3)).toBeNull();
  expect(end.params.requestId).toBe(question.id);
});

test('a question that the client cannot be asked is answered for it, a ping too', () => {
  const asked = event({ id: 3, method: 'sampling/createMessage' }) + event({ id: 4, method: 'ping' });
  const { texts, answers } = translated(asked, { elicitation: {} });
  expect(texts).toEqual([null, null]);
  expect(answers).toMatchObject([
    { id: 3, error: { code: -32_601 } },
    { id: 4, result: {} },
  ]);
});

test('events are the same however they are cut, and a stream that ends goes on where it stood', async () => {
  const first = Buffer.from('id: 1\nretry: 0\ndata: é\n\ndata: b\n\nid: 2\ndata:\n\n');
  for (let cut = 1; cut < first.length; cut++) {
    const body = new ReadableStream({
      start(controller) {
        for (const piece of [first.subarray(0, cut), first.subarray(cut)]) controller.enqueue(piece);
        controller.close();
      },
    });
    const places: unknown[] = [];
    let isOver = false;
    const events: string[] = [];
    const resume = async (place: string | null) => {
      places.push(place);
      return new Response('data: c\n\n');
    };
    const { signal } = new AbortController();
    for await (const each of serverEvents(new Response(body), { resume, isOver: () => isOver, signal })) {
      events.push(Buffer.from(each).toString());
      isOver = events.length === 4;
    }
    expect(events).toEqual(['id: 1\nretry: 0\ndata: é\n\n', 'data: b\n\n', 'id: 2\ndata:\n\n', 'data: c\n\n']);
    expect(places).toEqual(['2']);
  }
});
