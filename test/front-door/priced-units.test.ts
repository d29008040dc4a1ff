import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { startRecorder } from '../recorder.ts';

/** What is not paid by tokens: pictures, speech, recordings, searches. */
for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`calls that are paid by the piece, on ${engine}`, () => {
    const provider = startRecorder();
    let gateway: TestGateway;
    const prices = {
      painter: { image: { '1024x1024': 0.04, 'hd 1024x1024': 0.08 } },
      speaker: { characters: 15 },
      listener: { minute: 0.006 },
      'gpt-4o-like': { input: 2.5, output: 10, audio_input: 40, audio_output: 80 },
    };
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await gateway.given.virtualKey({
        slug: 'house',
        provider: 'openai',
        key: 'test-key',
        custom_host: `${provider.origin}/v1`,
        configurations: { prices },
      });
    });
    afterAll(async () => {
      await gateway.stop();
      provider.stop();
    });

    const ask = (path: string, body: unknown, key?: string) =>
      gateway.api.post(path, body, { ...(key && { key }), headers: { 'x-gateway-virtual-key': 'house' } });
    const budgeted = (credit_limit: number) => gateway.given.apiKey({ usage_limits: { type: 'cost', credit_limit } });
    const spentBy = async (id: string) =>
      [(await gateway.api.get(`/v1/api-keys/${id}`)).json.usage].flat()[0].current_usage;
    const form = (bytes: number, model: string) => {
      const made = new FormData();
      made.set('model', model);
      made.set('file', new Blob([new Uint8Array(bytes)]), 'a.mp3');
      return made;
    };

    test('pictures cost what their size and quality say, times their number, in the log and in budgets', async () => {
      provider.answers(() => Response.json({ created: 1, data: [{ url: 'a' }, { url: 'b' }] }));
      const picture = { model: 'painter', prompt: 'A fox', n: 2, size: '1024x1024', quality: 'hd' };
      const { key, id } = await budgeted(0.2);
      const reply = await ask('/v1/images/generations', picture, key);
      expect(reply.status).toBe(200);
      expect((await gateway.logOf(reply)).cost).toBeCloseTo(0.16, 9);
      await eventually('the budget has counted it', async () => Math.abs((await spentBy(id)) - 0.16) < 1e-9);
      const refused = await ask('/v1/images/generations', picture, key);
      expect([refused.status, refused.json.error.code]).toEqual([412, 'budget_exhausted']);
      expect((await ask('/v1/images/generations', { ...picture, n: 1, quality: 'standard' }, key)).status).toBe(200);
    });

    test('a picture that was not made costs nothing', async () => {
      provider.answers(() => Response.json({ error: { message: 'no' } }, { status: 400 }));
      const { key, id } = await budgeted(1);
      const reply = await ask('/v1/images/generations', { model: 'painter', prompt: 'x' }, key);
      expect(reply.status).toBe(400);
      await gateway.logOf(reply);
      expect(await spentBy(id)).toBe(0);
    });

    test('speech costs its characters, as people count them', async () => {
      provider.answers(() => new Response('sound', { headers: { 'content-type': 'audio/mpeg' } }));
      const reply = await ask('/v1/audio/speech', { model: 'speaker', voice: 'a', input: `${'é🌊'.repeat(500)}` });
      expect((await gateway.logOf(reply)).cost).toBeCloseTo(0.015, 9);
    });

    test('a recording is held at the longest it can be, and costs the seconds that the provider heard', async () => {
      provider.answers(() => Response.json({ text: 'hi', usage: { type: 'duration', seconds: 30 } }));
      const { key, id } = await budgeted(0.01);
      const tooLong = await ask('/v1/audio/transcriptions', form(400_000, 'listener'), key);
      expect([tooLong.status, tooLong.json.error.code]).toEqual([412, 'budget_exhausted']);
      const reply = await ask('/v1/audio/transcriptions', form(100_000, 'listener'), key);
      expect(reply.status).toBe(200);
      expect((await gateway.logOf(reply)).cost).toBeCloseTo(0.003, 9);
      await eventually('the budget has counted it', async () => Math.abs((await spentBy(id)) - 0.003) < 1e-9);
    });

    test('tokens of sound have their own price', async () => {
      const usage = {
        ...{ prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
        prompt_tokens_details: { audio_tokens: 900 },
        completion_tokens_details: { audio_tokens: 400 },
      };
      provider.answers(() =>
        Response.json({ id: 'a', object: 'chat.completion', model: 'gpt-4o-like', choices: [], usage }),
      );
      const reply = await ask('/v1/chat/completions', {
        model: 'gpt-4o-like',
        messages: [{ role: 'user', content: 'x' }],
      });
      const expected = (100 * 2.5 + 900 * 40 + 100 * 10 + 400 * 80) / 1e6;
      expect((await gateway.logOf(reply)).cost).toBeCloseTo(expected, 9);
    });

    test('a model that is paid by the piece has no price where the pieces are not known', async () => {
      const { key } = await budgeted(1);
      const chat = { model: 'painter', messages: [{ role: 'user', content: 'x' }] };
      const refused = await ask('/v1/chat/completions', chat, key);
      expect([refused.status, refused.json.error.code]).toEqual([412, 'price_unknown']);
    });
  });
}
