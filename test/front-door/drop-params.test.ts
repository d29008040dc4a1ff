import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { givenProviders } from '../three-providers.ts';

/** `drop_params: true`: what a target cannot be told is left out and named, and not refused. */
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway();
  await givenProviders(gateway);
});
afterAll(() => gateway.stop());

const stored = async (config: object): Promise<string> =>
  (await gateway.api.post('/v1/configs', { name: 'drops', config })).json.slug;

const ask = (headers: Record<string, string>) =>
  gateway.api.post(
    '/v1/chat/completions',
    { model: 'm', max_tokens: 9, seed: 7, logit_bias: { 50256: -100 }, messages: [{ role: 'user', content: 'Hello' }] },
    { headers },
  );
const refused = { status: 400, json: { error: { code: 'not_expressible', param: 'logit_bias' } } };
const dropped = (reply: { headers: Headers }) => reply.headers.get('x-gateway-dropped')?.split(', ');

test('without it the call is refused', async () => {
  expect(await ask({ 'x-gateway-virtual-key': 'anthropic' })).toMatchObject(refused);
});

test('a header asks for it', async () => {
  const reply = await ask({ 'x-gateway-virtual-key': 'anthropic', 'x-gateway-drop-params': 'true' });
  expect([reply.status, dropped(reply)]).toEqual([200, expect.arrayContaining(['logit_bias', 'seed'])]);
  const odd = await ask({ 'x-gateway-virtual-key': 'anthropic', 'x-gateway-drop-params': 'yes' });
  expect(odd).toMatchObject({ status: 400, json: { error: { code: 'invalid_header' } } });
});

test('a config says it for its targets, which may name paths beside it', async () => {
  const config = await stored({
    drop_params: true,
    strategy: { mode: 'single' },
    targets: [{ virtual_key: 'anthropic', drop_params: ['seed'] }],
  });
  const reply = await ask({ 'x-gateway-config': config });
  expect([reply.status, dropped(reply)]).toEqual([200, ['logit_bias']]);
});

test("a caller's header does not undo what the config says", async () => {
  const no = await stored({ virtual_key: 'anthropic', drop_params: false });
  expect(await ask({ 'x-gateway-config': no, 'x-gateway-drop-params': 'true' })).toMatchObject(refused);
  const yes = await stored({ virtual_key: 'anthropic', drop_params: true });
  expect((await ask({ 'x-gateway-config': yes, 'x-gateway-drop-params': 'false' })).status).toBe(200);
});

test('the rule that forbids drop_params forbids the header, too', async () => {
  const { key } = await gateway.given.apiKey({ forbidden: ['drop_params'], defaults: { virtual_key: 'anthropic' } });
  const headers = { 'x-gateway-drop-params': 'true' };
  const reply = await gateway.api.post('/v1/chat/completions', { model: 'm', messages: [] }, { key, headers });
  expect(reply).toMatchObject({ status: 403, json: { error: { code: 'forbidden_by_rule' } } });
});

test("it reaches embeddings and token counts in Google's format", async () => {
  const headers = { 'x-gateway-virtual-key': 'openai' };
  const dropping = { headers: { ...headers, 'x-gateway-drop-params': 'true' } };
  const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
  const embed = '/v1beta/models/text-embedding-3-small:embedContent';
  const both = { content: { parts: [{ text: 'Hello' }, picture] }, taskType: 'RETRIEVAL_QUERY' };
  expect((await gateway.api.post(embed, both, { headers })).status).toBe(400);
  const embedded = await gateway.api.post(embed, both, dropping);
  expect([embedded.status, dropped(embedded)]).toEqual([200, ['content.parts[1]', 'taskType']]);
  expect(embedded.json.embedding.values.length).toBeGreaterThan(100);
  const nothing = await gateway.api.post(embed, { content: { parts: [picture] } }, dropping);
  expect([nothing.status, nothing.json.error.message]).toEqual([400, expect.stringContaining('content.parts[0]')]);

  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
  const count = '/v1beta/models/gpt-4o:countTokens';
  const request = { generateContentRequest: { contents, generationConfig: { candidateCount: 2 } } };
  expect((await gateway.api.post(count, request, { headers })).status).toBe(400);
  const counted = await gateway.api.post(count, request, dropping);
  expect([counted.status, counted.headers.get('x-gateway-dropped')]).toEqual([
    200,
    expect.stringContaining('generationConfig.candidateCount'),
  ]);
  expect(counted.json.totalTokens).toBeGreaterThan(0);
});

test('another value is refused with the right form', async () => {
  for (const drop_params of ['yes', 1, [1]]) {
    const reply = await gateway.api.post('/v1/configs', { name: 'x', config: { virtual_key: 'sim', drop_params } });
    expect([reply.status, reply.json.error.message]).toEqual([
      400,
      expect.stringContaining('give true, false or a list of paths'),
    ]);
  }
});
