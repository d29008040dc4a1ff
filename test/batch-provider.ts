import { expect } from 'bun:test';
import type OpenAI from 'openai';
import { beginBatch, chatLine, ended, linesIn } from './batch-lines.ts';
import type { TestGateway } from './gateway.ts';

/** What a provider of a test's own making does with what it is told. */
export type Respond = (said: string) => Response | Promise<Response>;

export const responding = (respond: Respond) => async (request: Request) => {
  const { messages } = (await request.json()) as { messages: { content: string }[] };
  return respond(messages[0]!.content);
};

/** A chat completion that says the same again. */
export const completion = (said: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

export interface ThroughProvider {
  readonly gateway: TestGateway;
  readonly openai: OpenAI;
  /** Of the provider. */
  readonly origin: string;
  /** Of the virtual key that is made for it. */
  readonly slug: string;
  readonly lines: number;
  readonly limitMs?: number;
}

/** A batch of so many requests, `n0` and on, through a provider, and what became of each of them. */
export async function throughProvider({ gateway, openai, origin, slug, lines, limitMs }: ThroughProvider) {
  await gateway.given.virtualKey({ slug, name: slug, custom_host: `${origin}/v1` });
  const client = openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': slug } });
  const names = Array.from({ length: lines }, (_, index) => `n${index}`);
  const begun = await beginBatch(
    client,
    names.map((name) => chatLine(name, name)),
  );
  const batch = await ended(client, begun.id, limitMs);
  const output = await linesIn(client, batch.output_file_id);
  const errors = await linesIn(client, batch.error_file_id);
  // In the order of the input, each once.
  for (const list of [output, errors])
    expect(list.map((line) => line.custom_id)).toEqual(
      names.filter((name) => list.some((line) => line.custom_id === name)),
    );
  expect(new Set([...output, ...errors].map((line) => line.custom_id)).size).toBe(lines);
  expect(output.length + errors.length).toBe(lines);
  expect(batch.request_counts).toEqual({ total: lines, completed: output.length, failed: errors.length });
  for (const line of output) expect(line.response!.body.choices[0].message.content).toBe(line.custom_id);
  return { batch, output, errors };
}
