import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { dataDirWithSnapshot, PREPARED_MS } from '../assistants/sandbox.ts';
import { type ChatRequest, type ScriptedProvider, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { signIn } from '../people.ts';
import { NARROW, startConsole, type TestConsole } from './browser.ts';

const HOSTILE = '<img src=x onerror=alert(1)> [run](javascript:alert(1))';
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const CODE = `
import base64
dot = base64.b64decode('${DOT}')
open('/mnt/data/dot.png', 'wb').write(dot)
open('/mnt/data/sums.csv', 'w').write('a,b')
print('the sum is', 40 + 2)
`;

const TOLD = {
  ...{ object: 'response', status: 'failed', model: 'demo', background: true, tools: [{ type: 'web_search' }] },
  ...{ error: { code: 'server_error', message: 'The provider was away.' }, usage: null, instructions: null },
};
/** Every kind of item that a tool of the gateway leaves. */
const outputWith = (fileId: string) => [
  {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'parcels', sources: [] },
  },
  {
    ...{ type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['returns'] },
    results: [{ filename: 'handbook.md', score: 0.871, text: 'Thirty days.' }],
  },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', revised_prompt: 'A red dot', result: DOT },
  {
    ...{ type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: 'draw()', container_id: null },
    outputs: [
      { type: 'image', url: `https://elsewhere.example.com/v1/files/${fileId}/content` },
      { type: 'image', url: 'https://evil.example.com/pixel.png' },
    ],
  },
  {
    ...{ type: 'mcp_call', id: 'mcp_1', status: 'completed', server_label: 'files', name: 'lookup' },
    ...{ arguments: '{"parcel":7}', output: 'parcel 7 is in Berlin', error: null },
  },
  {
    ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
    content: [
      {
        ...{ type: 'output_text', text: 'It is in Berlin.' },
        annotations: [
          { type: 'url_citation', url: 'https://example.com/parcels', title: 'A page about parcels' },
          { type: 'url_citation', url: 'javascript:alert(1)', title: 'Not a link' },
        ],
      },
    ],
  },
];

let console: TestConsole;
let dataDir: string;
let provider: ScriptedProvider;
let key: string;
beforeAll(async () => {
  dataDir = await dataDirWithSnapshot();
  console = await startConsole({ environment: { GATEWAY_DATA_DIR: dataDir } });
  const { gateway } = console;
  provider = startScriptedProvider((request) => ({ isWhole: request.stream !== true, ...scriptOf(request) }));
  const price = { input: 100_000, output: 0 };
  const prices = { m: price, demo: price };
  await gateway.given.virtualKey({
    ...{ slug: 'made', provider: 'groq', key: 'k', custom_host: provider.url, configurations: { prices } },
  });
  key = (await gateway.given.apiKey({ defaults: { virtual_key: 'made' } })).key;
}, PREPARED_MS);
afterAll(async () => {
  await console.stop();
  provider.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function scriptOf({ messages }: ChatRequest) {
  const last = JSON.stringify(messages.at(-1));
  if (last.includes('wait')) return { isWhole: false, stallAfter: 1, parts: [{ text: 'late' }] };
  if (last.includes('compute'))
    return { parts: [{ call: 'code_interpreter', arguments: JSON.stringify({ code: CODE }) }] };
  return { parts: [{ text: `It is 42. ${HOSTILE}` }] };
}

const made = async (body: object): Promise<string> => {
  const { status, json, text } = await console.gateway.api.post('/v1/responses', { model: 'demo', ...body }, { key });
  if (status !== 200) throw new Error(text);
  return json.id;
};

test('what is kept and what runs is seen, opened and cancelled; containers give their files and go by name', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/responses');
  await tab.getByRole('heading', { name: 'No responses yet' }).waitFor();
  await tab.getByRole('tab', { name: 'Containers' }).click();
  await tab.getByRole('heading', { name: 'No containers yet' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('responses-empty');

  const code = await made({
    ...{
      input: 'compute the sum',
      instructions: 'Be exact.',
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    },
  });
  await made({ input: 'Hello' });
  const running = await made({ input: 'wait', background: true });
  await tab.goto(`${console.gateway.url}/console/responses`);
  const rows = tab.getByRole('row');
  await rows.filter({ hasText: 'in progress' }).waitFor();
  expect(await rows.count()).toBe(4);
  expect(await axe()).toEqual([]);
  await rows.filter({ hasText: '$2.00' }).waitFor();
  await rows.filter({ hasText: '$1.00' }).waitFor();
  await shot('responses-list');

  await tab.getByLabel('Only what is being made').check();
  await tab.getByRole('button', { name: 'Cancel' }).click();
  await tab.getByText('The response is cancelled').waitFor();
  await tab.getByRole('heading', { name: 'Nothing is being made' }).waitFor();
  await tab.getByLabel('Only what is being made').uncheck();
  await rows.filter({ hasText: 'cancelled' }).waitFor();
  const asked = await console.gateway.api.get(`/v1/responses/${running}`, { key });
  expect(asked.json.status).toBe('cancelled');

  await tab.goto(`${console.gateway.url}/console/responses?response=${code}`);
  await tab.getByText('the sum is 42').waitFor();
  await tab.getByText('Be exact.').waitFor();
  await tab.getByText('<img src=x onerror=alert(1)>').waitFor();
  // Two calls of ten tokens, at ten cents each.
  await tab.getByText('$2.00, 2 calls').waitFor();
  expect(await axe()).toEqual([]);
  await shot('responses-code');
  await tab.getByRole('button', { name: /^…/ }).click();
  const panel = tab.locator('.side-panel');
  await panel.getByText('sums.csv').waitFor();
  expect(await axe()).toEqual([]);
  await shot('responses-container');
  const saved = tab.waitForEvent('download');
  await panel.getByRole('button', { name: 'Download sums.csv' }).click();
  expect((await saved).suggestedFilename()).toBe('sums.csv');
  await panel.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = tab.getByRole('dialog', { name: 'Delete this container' });
  await dialog.getByText('Files that code wrote stay').or(dialog.getByText('What its code has left')).first().waitFor();
  await dialog.getByRole('textbox').fill((await dialog.locator('.to-type').textContent())!);
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await tab.getByRole('heading', { name: 'No containers yet' }).waitFor();

  await tab.goto(`${console.gateway.url}/console/responses?response=${code}`);
  await tab.getByRole('button', { name: 'Delete' }).click();
  const asking = tab.getByRole('dialog', { name: 'Delete this response' });
  await asking.getByRole('textbox').fill(code.slice(-8));
  await asking.getByRole('button', { name: 'Delete' }).click();
  await tab.getByRole('tab', { name: 'Containers' }).waitFor();
  expect((await console.gateway.api.get(`/v1/responses/${code}`, { key })).status).toBe(404);
  expect(faults).toEqual([]);
  await close();
});

test('a member sees what they made themselves, and no cost; dark and on a phone it fits', async () => {
  await made({ input: 'Hello from a program' });
  const { tab, faults, axe, shot, close } = await console.open('/console/responses', {
    ...{ as: 'member', theme: 'dark', size: NARROW },
  });
  await tab.getByRole('heading', { name: 'No responses yet' }).waitFor();
  const { gateway, people } = console;
  const mia = await signIn(gateway, people.member.email);
  await mia.call('POST', '/v1/responses', { model: 'demo', input: 'Mine' }, { 'x-gateway-virtual-key': 'made' });
  await tab.reload();
  await tab.getByRole('row').filter({ hasText: 'completed' }).waitFor();
  expect(await tab.getByRole('row').count()).toBe(2);
  expect(await tab.getByRole('columnheader', { name: 'Cost' }).count()).toBe(0);
  expect(await axe()).toEqual([]);
  await shot('responses-list-dark-narrow');
  await tab.getByRole('row').filter({ hasText: 'completed' }).click();
  await tab.getByText('It is 42.').waitFor();
  expect(await axe()).toEqual([]);
  await shot('responses-open-dark-narrow');
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  await tab.goto(`${gateway.url}/console/responses?response=resp_${'0'.repeat(24)}`);
  await tab.getByRole('alert').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('what tools found, drew and answered is shown; pictures come from here alone, and no address becomes a script', async () => {
  const { gateway } = console;
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new File([Buffer.from(DOT, 'base64')], 'dot.png'));
  const headers = { authorization: `Bearer ${key}` };
  const file = (await (await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })).json()) as {
    id: string;
  };
  const id = await made({ input: 'Hello' });
  const { tab, faults, axe, shot, close } = await console.open('/console/responses');
  const asked: string[] = [];
  tab.on('request', (request) => asked.push(request.url()));
  await tab.route(`**/v1/responses/${id}?*`, (route) =>
    route.fulfill({ json: { ...TOLD, id, output: outputWith(file.id) } }),
  );
  await tab.goto(`${gateway.url}/console/responses?response=${id}`);
  await tab.getByRole('link', { name: 'A page about parcels' }).waitFor();
  expect(await tab.locator('a[href^="javascript"]').count()).toBe(0);
  await tab.getByText('javascript:alert(1)').first().waitFor();
  await tab.getByText('handbook.md (0.87)').waitFor();
  await tab.getByText('files lookup').waitFor();
  await tab.getByText('parcel 7 is in Berlin').waitFor();
  await tab.getByText('The provider was away.').waitFor();
  // Two pictures are data of ours; the one that lies elsewhere is named and not asked for.
  await tab.locator('img.turn-image').nth(1).waitFor();
  expect(await tab.locator('img.turn-image').count()).toBe(2);
  await tab.getByText('https://evil.example.com/pixel.png').waitFor();
  expect(asked.filter((url) => !url.startsWith(gateway.url))).toEqual([]);
  expect(await axe()).toEqual([]);
  await shot('responses-tools');
  expect(faults).toEqual([]);
  await close();
});
