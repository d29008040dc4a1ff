import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { beginBatch, chatLine, ended, linesIn } from '../batch-lines.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`batches on ${engine}`, () => {
    let gateway: TestGateway;
    let openai: OpenAI;

    beforeAll(async () => {
      gateway = await startGateway({ engine });
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
      openai = openaiClient(gateway.url, key);
    });
    afterAll(() => gateway.stop());

    const begin = (lines: readonly string[], more?: Partial<OpenAI.BatchCreateParams>) =>
      beginBatch(openai, lines, more);

    test('a file of requests becomes a file of answers', async () => {
      const names = Array.from({ length: 40 }, (_, index) => `request-${index}`);
      const begun = await begin(
        names.map((name) => chatLine(name, `I am ${name}`)),
        { metadata: { job: 'nightly' } },
      );
      expect(begun).toMatchObject({
        object: 'batch',
        status: 'validating',
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        errors: null,
        output_file_id: null,
        error_file_id: null,
        in_progress_at: null,
        request_counts: { total: 0, completed: 0, failed: 0 },
        metadata: { job: 'nightly' },
      });
      expect(begun.id).toMatch(/^batch_[0-9A-Za-z]{24}$/);
      expect(begun.expires_at! - begun.created_at).toBe(86_400);

      const batch = await ended(openai, begun.id);
      expect(batch).toMatchObject({
        status: 'completed',
        error_file_id: null,
        failed_at: null,
        expired_at: null,
        cancelling_at: null,
        cancelled_at: null,
        request_counts: { total: 40, completed: 40, failed: 0 },
      });
      expect(batch.in_progress_at).toBeGreaterThanOrEqual(batch.created_at);
      expect(batch.finalizing_at).toBeGreaterThanOrEqual(batch.in_progress_at!);
      expect(batch.completed_at).toBeGreaterThanOrEqual(batch.finalizing_at!);
      const lines = await linesIn(openai, batch.output_file_id);
      expect(lines.map((line) => line.custom_id)).toEqual(names);
      for (const line of lines) {
        expect(line.id).toStartWith('batch_req_');
        expect(line.error).toBeNull();
        expect(line.response!.status_code).toBe(200);
        expect(line.response!.request_id).toBeTruthy();
        expect(line.response!.body.choices[0].message.content).toContain(`I am ${line.custom_id}`);
      }
      const file = await openai.files.retrieve(batch.output_file_id!);
      expect(file).toMatchObject({ purpose: 'batch_output', filename: `${batch.id}_output.jsonl` });
      const output = await gateway.api.get(`/v1/batches/${batch.id}/output`, {
        headers: { 'x-gateway-virtual-key': 'sim' },
      });
      expect(output.text.split('\n').filter(Boolean)).toHaveLength(40);
    });

    test('a request that fails is in the error file with the answer of the provider', async () => {
      const begun = await begin([
        chatLine('good'),
        '',
        chatLine('bad', 'Hello [[simulate: status=400]]'),
        chatLine('also good'),
      ]);
      const batch = await ended(openai, begun.id);
      expect(batch.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
      const [bad, ...more] = await linesIn(openai, batch.error_file_id);
      expect(more).toEqual([]);
      expect(bad).toMatchObject({ custom_id: 'bad', error: null, response: { status_code: 400 } });
      expect(bad!.response!.body.error.message).toContain('simulated error 400');
      expect((await linesIn(openai, batch.output_file_id)).map((line) => line.custom_id)).toEqual([
        'good',
        'also good',
      ]);
    });

    test('a batch of which every request failed is completed and has no output file', async () => {
      const begun = await begin([chatLine('bad', '[[simulate: status=404]]')]);
      const batch = await ended(openai, begun.id);
      expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 1, completed: 0, failed: 1 } });
      expect(batch.output_file_id).toBeNull();
      const reply = await gateway.api.get(`/v1/batches/${batch.id}/output`, {
        headers: { 'x-gateway-virtual-key': 'sim' },
      });
      expect(reply.status).toBe(400);
      expect(reply.json.error.code).toBe('batch_output_missing');
      expect(reply.json.error.message).toContain(batch.error_file_id);
    });

    test('faults of the input end the batch as failed, with the lines at fault, and nothing is asked', async () => {
      const before = gateway.provider.calls;
      const line = (change: Record<string, unknown>) => JSON.stringify({ ...JSON.parse(chatLine('x')), ...change });
      const begun = await begin([
        chatLine('same'),
        '{"custom_id": "broken"',
        line({ custom_id: undefined }),
        chatLine('same'),
        line({ custom_id: 'a', method: 'GET' }),
        line({ custom_id: 'b', url: '/v1/embeddings' }),
        chatLine('c', 'Hello', { stream: true }),
        line({ custom_id: 'd', body: { model: 'gpt-4o' } }),
        '[]',
      ]);
      const batch = await ended(openai, begun.id);
      expect(batch.status).toBe('failed');
      expect(batch.failed_at).toBeGreaterThanOrEqual(batch.created_at);
      expect(batch.in_progress_at).toBeNull();
      expect(batch.errors!.object).toBe('list');
      expect(batch.errors!.data!.map(({ code, line, param }) => [line, code, param])).toEqual([
        [2, 'invalid_json_line', null],
        [3, 'missing_required_parameter', 'custom_id'],
        [4, 'duplicate_custom_id', 'custom_id'],
        [5, 'invalid_method', 'method'],
        [6, 'url_mismatch', 'url'],
        [7, 'invalid_request', 'body.stream'],
        [8, 'invalid_request', 'body.messages'],
        [9, 'invalid_json_line', null],
      ]);
      expect(gateway.provider.calls).toBe(before);
    });

    test('an empty file fails as such', async () => {
      const batch = await ended(openai, (await begin(['', '  '])).id);
      expect(batch.errors!.data).toEqual([
        {
          code: 'empty_file',
          message: 'The input file is empty. Please ensure that the batch contains at least one request.',
          param: null as unknown as undefined,
          line: null,
        },
      ]);
    });

    test('a cancelled batch keeps what it has and names what it has not', async () => {
      const slow = Array.from({ length: 300 }, (_, index) =>
        chatLine(`r${index}`, index < 10 ? 'Hello' : '[[simulate: delay=2000]] Hello'),
      );
      const begun = await begin(slow);
      await eventually('some are answered', async () => {
        const { request_counts: counts } = await openai.batches.retrieve(begun.id);
        return counts!.completed > 0;
      });
      const cancelling = await openai.batches.cancel(begun.id);
      expect(cancelling.status).toBe('cancelling');
      expect(cancelling.cancelling_at).toBeGreaterThanOrEqual(cancelling.in_progress_at!);
      const batch = await ended(openai, begun.id);
      expect(batch.status).toBe('cancelled');
      expect(batch.completed_at).toBeNull();
      expect(batch.cancelled_at).toBeGreaterThanOrEqual(batch.cancelling_at!);
      const output = await linesIn(openai, batch.output_file_id);
      const errors = await linesIn(openai, batch.error_file_id);
      expect(output.length).toBeGreaterThan(0);
      expect(errors.length).toBeGreaterThan(0);
      expect(new Set([...output, ...errors].map((line) => line.custom_id)).size).toBe(300);
      expect(output.length + errors.length).toBe(300);
      for (const line of errors) expect(line).toMatchObject({ response: null, error: { code: 'batch_cancelled' } });
      expect(batch.request_counts).toEqual({ total: 300, completed: output.length, failed: errors.length });
      const refused = await openai.batches.cancel(batch.id).then(
        () => null,
        (error: Error) => error,
      );
      expect(refused?.message).toBe("400 Cannot cancel a batch with status 'cancelled'.");
    });

    test('batches are listed newest first, page by page', async () => {
      const before = (await openai.batches.list({ limit: 100 })).data.length;
      const made: string[] = [];
      for (let number = 0; number < 5; number++) made.unshift((await begin([chatLine('one')])).id);
      const first = await openai.batches.list({ limit: 2 });
      expect(first.data.map(({ id }) => id)).toEqual(made.slice(0, 2));
      expect(first.has_more).toBe(true);
      const all: string[] = [];
      for await (const { id } of openai.batches.list({ limit: 2 })) all.push(id);
      expect(all).toHaveLength(before + 5);
      expect(all.slice(0, 5)).toEqual(made);
      await Promise.all(made.map((id) => ended(openai, id)));
    });
  });
