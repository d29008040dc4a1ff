import type OpenAI from 'openai';
import { toFile } from 'openai';
import { eventually, PATIENCE_MS } from './process.ts';

/** A request of a batch for chat completions. */
export const chatLine = (customId: string, said = 'Hello', body: Record<string, unknown> = {}) =>
  JSON.stringify({
    custom_id: customId,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: said }], ...body },
  });

export const uploadLines = async (openai: OpenAI, lines: readonly string[]) =>
  openai.files.create({ file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'), purpose: 'batch' });

export const beginBatch = async (openai: OpenAI, lines: readonly string[], more?: Partial<OpenAI.BatchCreateParams>) =>
  openai.batches.create({
    input_file_id: (await uploadLines(openai, lines)).id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    ...more,
  });

const ENDED = ['completed', 'failed', 'expired', 'cancelled'];

/** The batch, once it has ended. */
export async function ended(openai: OpenAI, id: string, limitMs = PATIENCE_MS): Promise<OpenAI.Batch> {
  let batch = await openai.batches.retrieve(id);
  await eventually(
    `batch ${id} has ended`,
    async () => {
      batch = await openai.batches.retrieve(id);
      return ENDED.includes(batch.status);
    },
    limitMs,
  );
  return batch;
}

export interface OutputLine {
  readonly id: string;
  readonly custom_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
  readonly response: { status_code: number; request_id: string; body: any } | null;
  readonly error: { code: string; message: string } | null;
}

/** The lines of a file that a batch left; none when it left no such file. */
export async function linesIn(openai: OpenAI, fileId: string | null | undefined): Promise<OutputLine[]> {
  if (!fileId) return [];
  const text = await (await openai.files.content(fileId)).text();
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
