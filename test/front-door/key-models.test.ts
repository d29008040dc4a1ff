import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { toFile } from 'openai';
import { ADMIN_SCOPES, DATA_SCOPES } from '../../src/core/scopes.ts';
import { conversation } from '../assistants/client.ts';
import { beginBatch, chatLine, ended, linesIn } from '../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';

/** Keys that may call certain models. What gets around them is tried in test/attack/limit/model-list.test.ts. */

const messages = [{ role: 'user', content: 'Hello' }];
const MINI = 'gpt-4o-mini';
const REFUSED = { status: 403, json: { error: { code: 'model_not_allowed' } } };

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`models of an API key on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const sim = { defaults: { virtual_key: 'sim' } };
    const keyFor = (models: readonly string[], more: object = sim) => gateway.given.apiKey({ models, ...more });
    const ask = (key: string, model: string | undefined, headers: Record<string, string> = {}) =>
      gateway.api.post('/v1/chat/completions', { model, messages }, { key, headers });

    test('the list is shown, changed, audited, and kept when the key gets another secret', async () => {
      const made = await keyFor([MINI]);
      expect(made.models).toEqual([MINI]);
      expect(await ask(made.key, 'gpt-5')).toMatchObject(REFUSED);

      const changed = await gateway.api.put(`/v1/api-keys/${made.id}`, { models: ['gpt-5'] });
      expect(changed.json.models).toEqual(['gpt-5']);
      expect((await ask(made.key, 'gpt-5')).status).toBe(200);
      expect(await ask(made.key, MINI)).toMatchObject(REFUSED);
      const { id: organisation } = (await gateway.api.get('/v1/admin/organisation')).json;
      const search = new URLSearchParams({
        start_time: new Date(Date.now() - 60_000).toISOString(),
        end_time: new Date(Date.now() + 60_000).toISOString(),
        organisation_id: organisation,
        request_id: changed.headers.get('x-gateway-request-id')!,
      });
      const { json: trail } = await gateway.api.get(`/v1/audit-logs?${search}`);
      expect(trail.records[0].request_body).toContain('"models":["gpt-5"]');

      await gateway.api.put(`/v1/api-keys/${made.id}`, { name: 'renamed' });
      const { key } = (await gateway.api.post(`/v1/api-keys/${made.id}/rotate`)).json;
      expect((await ask(key, 'gpt-5')).status).toBe(200);
      expect(await ask(key, MINI)).toMatchObject(REFUSED);
      await gateway.api.put(`/v1/api-keys/${made.id}`, { models: null });
      expect((await ask(key, MINI)).status).toBe(200);
    });

    test.each([
      [[], 'give at least one name, or null for every model'],
      ['gpt-4o', 'give a list of names'],
      [[''], 'give the name of a model'],
      [[' gpt-4o'], 'has spaces around it'],
      [['a', 'a'], 'names a model twice'],
      [[7], 'give the name of a model'],
      [['x'.repeat(257)], 'give at most 256 characters'],
    ])('%j is refused with the right form', async (models, why) => {
      const reply = await gateway.api.post('/v1/api-keys', { name: 'wrong', models });
      expect(reply.status).toBe(400);
      expect(reply.json.error.message).toContain(why);
      expect(reply.json.error.param).toStartWith('models');
    });

    test('names hold with stars, and with a provider or a virtual key before them', async () => {
      const outcomes = async (entry: string, ...models: string[]) => {
        const { key } = await keyFor([entry]);
        return Promise.all(models.map(async (model) => (await ask(key, model)).status));
      };
      expect(await outcomes('gpt-4o*', 'gpt-4o', MINI, 'gpt-5')).toEqual([200, 200, 403]);
      expect(await outcomes('openai/*', 'gpt-5', '@sim/o3')).toEqual([200, 200]);
      expect(await outcomes('@sim/gpt-5', 'gpt-5', '@sim/gpt-5', MINI)).toEqual([200, 200, 403]);
      expect(await outcomes('anthropic/*', 'gpt-5')).toEqual([403]);
    });

    test('a key without the choice of a virtual key is held to its list when a plain name finds one', async () => {
      const { key } = await keyFor([MINI], {});
      expect(await ask(key, 'gpt-5', { 'x-gateway-virtual-key': 'sim' })).toMatchObject(REFUSED);
      expect(await ask(key, '@sim/gpt-5')).toMatchObject(REFUSED);
      expect((await ask(key, `@sim/${MINI}`)).status).toBe(200);
    });

    test("the key's own default config may make another model of one on the list, and of none", async () => {
      const config = {
        strategy: {
          mode: 'conditional',
          conditions: [{ query: { 'params.model': { $eq: 'fast' } }, then: 'fast' }],
          default: 'rest',
        },
        targets: [
          { name: 'fast', virtual_key: 'sim', override_params: { model: MINI } },
          { name: 'rest', virtual_key: 'sim', default_params: { model: 'gpt-5' } },
        ],
      };
      const { slug } = (await gateway.api.post('/v1/configs', { name: `Fast ${engine}`, config })).json;
      const { key } = await keyFor(['fast'], { defaults: { config: slug } });

      expect((await ask(key, 'fast')).json.model).toBe(MINI);
      expect((await ask(key, undefined)).json.model).toBe('gpt-5');
      for (const model of [MINI, 'gpt-5', '@sim/gpt-5']) expect(await ask(key, model)).toMatchObject(REFUSED);
      // The same config is no word of the operator's where a caller asks for it.
      const { key: another } = await keyFor(['fast']);
      expect(await ask(another, 'fast', { 'x-gateway-config': slug })).toMatchObject(REFUSED);
    });

    test('a key with a list makes and changes no key that may call more, and writes no config that does', async () => {
      const { key, id } = await keyFor(['gpt-4o*'], { scopes: [...DATA_SCOPES, ...ADMIN_SCOPES] });
      const { id: free } = await gateway.given.apiKey();
      const post = (path: string, body: object) => gateway.api.post(path, body, { key });
      const wider = { status: 403, json: { error: { code: 'models_not_widenable', param: 'models' } } };

      for (const models of [undefined, null, ['gpt-*'], ['gpt-5']])
        expect(await post('/v1/api-keys', { name: 'wider', models })).toMatchObject(wider);
      expect((await post('/v1/api-keys', { name: 'narrower', models: [MINI] })).status).toBe(200);
      for (const body of [{ models: null }, { defaults: { config: 'anything' } }])
        expect(await gateway.api.put(`/v1/api-keys/${id}`, body, { key })).toMatchObject(wider);
      expect(await gateway.api.put(`/v1/api-keys/${free}`, { name: 'x' }, { key })).toMatchObject(wider);
      expect(await post(`/v1/api-keys/${free}/rotate`, {})).toMatchObject(wider);
      const targets = [{ virtual_key: 'sim', override_params: { model: 'gpt-5' } }];
      const config = { strategy: { mode: 'fallback' }, targets };
      expect(await post('/v1/configs', { name: 'wider', config })).toMatchObject(REFUSED);
    });

    test('/v1/models shows the models of the list, of one provider and of all', async () => {
      const ids = async (key: string) => {
        const { json } = await gateway.api.get('/v1/models', { key });
        return json.data.map(({ id }: { id: string }) => id) as string[];
      };
      const all = await ids((await gateway.given.apiKey(sim)).key);
      const listed = (await keyFor([all[0]!, 'nowhere'])).key;
      expect(all.length).toBeGreaterThan(1);
      expect(await ids(listed)).toEqual([all[0]!]);
      expect(await ids((await keyFor([`@sim/${all[0]}`], {})).key)).toEqual([`@sim/${all[0]}`]);
      expect((await gateway.api.get(`/v1/models/${all[0]}`, { key: listed })).status).toBe(200);
      expect(await gateway.api.get(`/v1/models/${all[1]}`, { key: listed })).toMatchObject(REFUSED);
      const { json: tags } = await gateway.api.get('/api/tags', { key: listed });
      expect(tags.models.map(({ name }: { name: string }) => name)).toEqual([all[0]!]);
      const { json: google } = await gateway.api.get('/v1beta/models', { key: listed });
      expect(google.models.map(({ name }: { name: string }) => name)).toEqual([`models/${all[0]}`]);
    });

    test('each line of a batch is held to it; a batch for the provider is refused as a whole', async () => {
      const { key } = await keyFor([MINI]);
      const openai = openaiClient(gateway.url, key);
      const lines = [chatLine('a'), chatLine('b', 'Hello', { model: 'gpt-5' })];
      const done = await ended(openai, (await beginBatch(openai, lines)).id);
      expect(done.request_counts).toMatchObject({ completed: 1, failed: 1 });
      const [failed] = await linesIn(openai, done.error_file_id);
      expect(failed).toMatchObject({ custom_id: 'b', response: { status_code: 403 } });

      let calls = 0;
      const provider = serve(() => {
        calls++;
        return Response.json({});
      });
      const { slug } = await gateway.given.virtualKey({
        slug: `native-${engine}`,
        custom_host: `${provider.origin}/v1`,
        configurations: { batches: 'native' },
      });
      const native = openaiClient(gateway.url, (await keyFor([MINI], { defaults: { virtual_key: slug } })).key);
      const twice = chatLine('c').replace('"model":"gpt-4o-mini"', '"model":"gpt-5","model":"gpt-4o-mini"');
      const whole = await ended(native, (await beginBatch(native, [chatLine('a'), twice])).id);
      provider.stop();
      expect(whole.status).toBe('failed');
      expect(whole.errors!.data).toMatchObject([{ code: 'model_not_allowed', param: 'body.model', line: 2 }]);
      expect(calls).toBe(0);
    });

    test('runs and fine-tuning jobs are held to it', async () => {
      const openai = openaiClient(gateway.url, (await keyFor([MINI])).key);
      const runOf = async (model: string) => {
        const { thread_id, assistant_id } = await conversation(openai, { assistant: { model } });
        return openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id }, { pollIntervalMs: 20 });
      };
      expect((await runOf(MINI)).status).toBe('completed');
      const failed = await runOf('gpt-5');
      expect(failed.status).toBe('failed');
      expect(failed.last_error!.message).toContain('may not call the model "gpt-5"');

      const example = `${JSON.stringify({ messages: [...messages, { role: 'assistant', content: 'Hi' }] })}\n`;
      const file = await toFile(Buffer.from(example.repeat(12)), 'a.jsonl');
      const { id: training_file } = await openai.files.create({ file, purpose: 'fine-tune' });
      const refused = await openai.fineTuning.jobs.create({ model: 'gpt-5', training_file }).catch((error) => error);
      expect(refused).toMatchObject({ status: 403, code: 'model_not_allowed' });
      expect((await openai.fineTuning.jobs.create({ model: MINI, training_file })).status).toBe('validating_files');
    });
  });
