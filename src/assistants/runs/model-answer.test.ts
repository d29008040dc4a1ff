import { expect, test } from 'bun:test';
import { RunEnds } from './failures.ts';
import { type Piece, readAnswer } from './model-answer.ts';

const stream = (...chunks: (object | string)[]) =>
  new Response(
    chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join(''),
    { headers: { 'content-type': 'text/event-stream' } },
  );
const choice = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});

async function heard(response: Response): Promise<Piece[] | string> {
  const pieces: Piece[] = [];
  try {
    for await (const piece of readAnswer(response)) pieces.push(piece);
  } catch (error) {
    if (!(error instanceof RunEnds) || error.ending.status !== 'failed') throw error;
    return `${error.ending.error.code}: ${error.ending.error.message}`;
  }
  return pieces;
}

test('text, refusals, calls, the reason of the end and the usage are heard as they come', async () => {
  const pieces = await heard(
    stream(
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'Hi' }),
      choice({ refusal: 'No.' }),
      choice({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '' } }] }),
      choice({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
      choice({}, 'tool_calls'),
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      '[DONE]',
    ),
  );

  expect(pieces).toEqual([
    { type: 'text', text: 'Hi' },
    { type: 'refusal', text: 'No.' },
    { type: 'call', index: 0, id: 'call_1', name: 'f', arguments: '' },
    { type: 'call', index: 0, arguments: '{}' },
    { type: 'finish', reason: 'tool_calls' },
    { type: 'usage', prompt: 3, completion: 2 },
  ]);
});

test('shapes that nobody expects are passed by, not stumbled over', async () => {
  const pieces = await heard(
    stream(
      { choices: 'none' },
      choice({
        content: [
          { type: 'text', text: 'In parts.' },
          { type: 'thinking', text: 'Hm.' },
        ],
        tool_calls: 'none',
      }),
      choice({ tool_calls: [null, { function: { name: 'f', arguments: { a: 1 } } }] }),
      choice({}, 'stop'),
    ),
  );

  expect(pieces).toEqual([
    { type: 'text', text: 'In parts.' },
    { type: 'call', index: 0, arguments: '' },
    { type: 'call', index: 1, name: 'f', arguments: '{"a":1}' },
    { type: 'finish', reason: 'stop' },
  ]);
});

test('numbers of tokens that cannot be are not believed', async () => {
  const usages = [
    'many',
    {},
    { prompt_tokens: '12', completion_tokens: 1 },
    { prompt_tokens: 1, completion_tokens: -1 },
    { prompt_tokens: 1.5, completion_tokens: 1 },
    { prompt_tokens: 1e300, completion_tokens: 1 },
  ];
  const chunks = usages.map((usage) => ({ choices: [], usage }));
  const known = { choices: [], usage: { prompt_tokens: 3 } };

  expect(await heard(stream(choice({}, 'stop'), ...chunks, known))).toEqual([
    { type: 'finish', reason: 'stop' },
    { type: 'usage', prompt: 3, completion: 0 },
  ]);
});

test('an answer that is refused, broken off or no answer fails the run', async () => {
  const refused = Response.json({ error: { message: 'Too fast.' } }, { status: 429 });
  expect(await heard(refused)).toBe('rate_limit_exceeded: Too fast.');
  expect(await heard(new Response('<html>', { status: 502 }))).toBe(
    'server_error: The model call was answered with status 502.',
  );
  expect(await heard(stream(choice({ content: 'Half' })))).toBe('server_error: The answer of the model broke off.');
  expect(await heard(stream(choice({ content: 'Half' }), { error: { message: 'Overloaded.' } }))).toBe(
    'server_error: Overloaded.',
  );
  expect(await heard(stream('nonsense'))).toBe('server_error: The answer of the model is not JSON.');
  for (const whole of [{}, [], { choices: [] }, { choices: [{}] }])
    expect(await heard(Response.json(whole))).toBe('server_error: The answer of the model holds no message.');
  const filtered = { error: { message: 'Refused.', code: 'content_filter' } };
  expect(await heard(Response.json(filtered, { status: 400 }))).toBe('invalid_prompt: Refused.');
});
