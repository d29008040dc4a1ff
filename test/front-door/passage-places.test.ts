import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { strToU8 } from 'fflate';
import { openEmbeddedChunks } from '../../src/assistants/vector-stores/search/thread/embedded.ts';
import { openSqliteFile } from '../../src/storage/sqlite.ts';
import { clientFor, conversation } from '../assistants/client.ts';
import { docx, epub, odf, pdfOfLines, pptx, xlsx } from '../assistants/documents.ts';
import { type ChatRequest, type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually, newDataDir, removeDataDir } from '../process.ts';

/** Passages know where in their file they are. */

/** More than two small chunks, with a word in the middle that is nowhere else: the chunk that has it begins and ends here. */
const filled = (word: string) => {
  const around = 'Then nothing of note was said for a while. '.repeat(14);
  return `${around}The ${word} is told of here. ${around}`.trim();
};
const linesOf = (word: string) => filled(word).split(/(?<=\.) /);
const heading = (style: string, text: string) =>
  `<w:p><w:pPr><w:pStyle w:val="${style}"/></w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
const paragraph = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
const wordDocument = (body: string) =>
  `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`;
/** As a German Word names them; `Sonder` is based on a heading. */
const STYLES =
  '<w:styles xmlns:w="w"><w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>' +
  '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>' +
  '<w:style w:styleId="Sonder"><w:name w:val="Sonder"/><w:basedOn w:val="Kapitel"/></w:style>' +
  '<w:style w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>';

const markdown = [
  ...['---', 'title: not a heading', '---', '# The *Handbook*', '', filled('alpaca'), ''],
  ...['```sh', '# no heading', '```', '', 'Leaving', '-------', '', filled('badger'), ''],
  ...['### [Notice](https://example.com/n) #', '', filled('caracal'), '', '# Annex', '', filled('dugong')],
].join('\n');
const rows = ['name,price', ...Array.from({ length: 80 }, (_, index) => `thing${index},${index}.50`), 'zebu,7.00'].join(
  '\n',
);
const code = Array.from({ length: 90 }, (_, index) =>
  index === 70 ? 'function ocelotStripes() {}' : `const value${index} = ${index};`,
);
const records = Array.from({ length: 30 }, (_, index) =>
  JSON.stringify({ text: `row ${index}\nwith\nbreaks ${'and words '.repeat(6)}${index === 20 ? 'pangolin' : ''}` }),
);

interface Case {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** By a word: where the passage is that is found first by it. */
  readonly places: Readonly<Record<string, object | null>>;
}

const CASES: readonly Case[] = [
  {
    name: 'book.pdf',
    bytes: pdfOfLines([linesOf('aardvark'), [], linesOf('bison'), linesOf('cormorant')]),
    places: { aardvark: { page: 1 }, bison: { page: 3 }, cormorant: { page: 4 } },
  },
  {
    name: 'talk.pptx',
    bytes: pptx([[filled('dingo')], [], [filled('eland')]], filled('ferret')),
    places: { dingo: { page: 1 }, ferret: { page: 1 }, eland: { page: 3 } },
  },
  {
    name: 'talk.odp',
    bytes: odf(
      'presentation',
      `<draw:page xmlns:draw="d"/><draw:page xmlns:draw="d"><text:p>${filled('gnu')}</text:p></draw:page>`,
    ),
    places: { gnu: { page: 2, last_page: 2 } },
  },
  {
    name: 'rules.docx',
    bytes: docx([], {
      'word/styles.xml': STYLES,
      'word/document.xml': wordDocument(
        `${heading('Titel', 'The Rules')}${paragraph(filled('hedgehog'))}${heading('berschrift1', 'Work')}` +
          `${heading('Sonder', 'Hours')}${paragraph(filled('ibex'))}${heading('berschrift1', 'Pay')}${paragraph(filled('jackal'))}`,
      ),
    }),
    places: {
      hedgehog: { headings: ['The Rules'] },
      ibex: { headings: ['The Rules', 'Work', 'Hours'] },
      jackal: { headings: ['The Rules', 'Pay'] },
    },
  },
  {
    name: 'page.html',
    bytes: strToU8(
      `<title>Site</title><h1>Top</h1><p>${filled('kestrel')}<h2>Second <b>one</b></h2><p>${filled('lemur')}` +
        `<h3></h3><h1>Other<p>${filled('marmot')}<table><tr><td><h2>In a cell</h2></td></tr></table><p>${filled('newt')}`,
    ),
    places: {
      kestrel: { headings: ['Top'] },
      lemur: { headings: ['Top', 'Second one'] },
      marmot: { headings: ['Other'] },
      newt: { headings: ['Other'] },
    },
  },
  {
    name: 'tale.epub',
    bytes: epub([`<h1>One</h1><h2>Morning</h2><p>${filled('okapi')}</p>`, `<p>${filled('panther')}</p>`]),
    places: { okapi: { headings: ['One', 'Morning'] }, panther: null },
  },
  {
    name: 'letter.odt',
    bytes: odf(
      'text',
      `<text:h text:outline-level="1">Offer</text:h><text:h text:outline-level="2">Terms</text:h><text:p>${filled('quail')}</text:p>`,
    ),
    places: { quail: { headings: ['Offer', 'Terms'] } },
  },
  {
    name: 'prices.xlsx',
    bytes: xlsx('Spring', [
      ['what', 'price'],
      ['raccoon', 3],
    ]),
    places: { raccoon: { headings: ['Spring'] } },
  },
  {
    name: 'handbook.md',
    bytes: strToU8(markdown),
    places: {
      alpaca: { headings: ['The Handbook'] },
      badger: { headings: ['The Handbook', 'Leaving'] },
      caracal: { headings: ['The Handbook', 'Leaving', 'Notice'] },
      dugong: { headings: ['Annex'] },
    },
  },
  { name: 'prices.csv', bytes: strToU8(rows), places: { zebu: { last_line: 82 } } },
  { name: 'code.ts', bytes: strToU8(code.join('\r\n')), places: { ocelotStripes: {} } },
  { name: 'records.jsonl', bytes: strToU8(records.join('\n')), places: { pangolin: {} } },
  {
    name: 'notes.txt',
    bytes: strToU8(`\n\n  ${filled('salamander')}\n\n${filled('tapir')}`),
    places: { salamander: { line: 3 } },
  },
  { name: 'mail.eml', bytes: strToU8(`Subject: x\r\n\r\n${filled('urchin')}`), places: { urchin: null } },
];

async function added(api: TestGateway['api'], store: string, name: string, bytes: Uint8Array) {
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new File([bytes as Uint8Array<ArrayBuffer>], name));
  const { id } = (await api.post('/v1/files', form)).json;
  const chunking_strategy = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } };
  await api.post(`/v1/vector_stores/${store}/files`, { file_id: id, chunking_strategy });
  const read = async () => (await api.get(`/v1/vector_stores/${store}/files/${id}`)).json;
  await eventually(`${name} is taken in`, async () => (await read()).status !== 'in_progress');
  expect(await read()).toMatchObject({ status: 'completed', last_error: null });
}

for (const engine of ['sqlite', 'postgres'] as const)
  test(`on ${engine}, a search says on which page, below which headings and on which lines a passage is`, async () => {
    const gateway = await startGateway({ engine });
    const { api } = gateway;
    const store: string = (await api.post('/v1/vector_stores', {})).json.id;
    for (const { name, bytes } of CASES) await added(api, store, name, bytes);
    for (const { name, bytes, places } of CASES)
      for (const [word, place] of Object.entries(places)) {
        const { json } = await api.post(`/v1/vector_stores/${store}/search`, { query: word });
        const [found] = json.data;
        expect(found.filename).toBe(name);
        const holding = json.data.filter((each: { filename: string }) => each.filename === name);
        const told = holding.find((each: { content: [{ text: string }] }) => each.content[0].text.includes(word));
        if (place === null) expect(told.locator).toBeNull();
        else expect({ word, ...told.locator }).toMatchObject({ word, ...place });
        if (told.locator?.line !== undefined) {
          // The lines that are named have what the passage begins and ends with.
          const lines = new TextDecoder().decode(bytes).split('\n');
          const named = lines.slice(told.locator.line - 1, told.locator.last_line).join('\n');
          expect(named).toContain(word);
          const said = told.content[0].text.replace(/^name,price\n/, '').trim();
          if (!name.endsWith('.jsonl')) {
            expect(named).toContain(said);
            expect(lines[told.locator.line - 1]).toContain(said.split('\n')[0]!);
          }
          if (/csv$|ts$/.test(name)) expect(named.length).toBeLessThan(said.length + 100);
        }
      }
    await gateway.stop();
  });

const PAGES = [
  ['First of all, much was said.', 'And more.'],
  ['The capybara is on the second page.'],
  ['Then more was said.'],
];

/** A model that searches once, and then says nothing of it. */
const searches = ({ messages, stream }: ChatRequest): ScriptedAnswer => ({
  parts: messages.some(({ role }) => role === 'tool')
    ? [{ text: 'Found.' }]
    : [{ call: 'file_search', arguments: '{"queries":["capybara"]}' }],
  isWhole: stream !== true,
});

describe('what a model is told', () => {
  test('names the place of each passage, and where pages begin in it, in runs and in responses', async () => {
    const gateway = await startGateway();
    const { api } = gateway;
    const store: string = (await api.post('/v1/vector_stores', {})).json.id;
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File([pdfOfLines(PAGES) as Uint8Array<ArrayBuffer>], 'zoo.pdf'));
    const { id: file_id } = (await api.post('/v1/files', form)).json;
    await api.post(`/v1/vector_stores/${store}/files`, { file_id });
    await eventually('the file is taken in', async () => {
      return (await api.get(`/v1/vector_stores/${store}/files/${file_id}`)).json.status === 'completed';
    });
    const told =
      /【0:0†source】 "zoo\.pdf", pages 1 to 3\nFirst of all,[^[]*\n\n\[page 2\]\nThe capybara is on the second page\.\n\n\[page 3\]\nThen/;

    const provider = startScriptedProvider(searches);
    await gateway.given.virtualKey({ slug: 'searches', provider: 'groq', key: 'k', custom_host: provider.url });
    const { openai } = await clientFor(gateway, 'searches');
    const { assistant_id, thread_id } = await conversation(openai, {
      assistant: { tools: [{ type: 'file_search' }], tool_resources: { file_search: { vector_store_ids: [store] } } },
    });
    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    expect(run.status).toBe('completed');
    expect(provider.requests.at(-1)!.messages.find(({ role }) => role === 'tool')!.content).toMatch(told);

    const before = provider.requests.length;
    const made = await openai.responses.create({
      ...{ model: 'any', input: 'Where?', include: ['file_search_call.results'] },
      tools: [{ type: 'file_search', vector_store_ids: [store] }],
    });
    expect(provider.requests.length).toBe(before + 2);
    expect(provider.requests.at(-1)!.messages.find(({ role }) => role === 'tool')!.content).toMatch(told);
    expect(made.output[0]).toMatchObject({
      type: 'file_search_call',
      results: [{ filename: 'zoo.pdf', locator: { page: 1, last_page: 3 } }],
    });
    provider.stop();
    await gateway.stop();
  });
});

test('chunks of a data dir from before have no place, and new ones get theirs beside them', async () => {
  const dataDir = newDataDir();
  const place = { engine: 'sqlite', file: join(dataDir, 'search.db'), stateFile: join(dataDir, 'state.db') } as const;
  const old = openSqliteFile(place.file, { durability: 'normal' });
  old.run(`create table chunks (
    id integer primary key, source text not null, number integer not null, words integer not null default 0,
    begins integer not null, ends integer not null, text text not null, unique (source, number)
  )`);
  old.run("insert into chunks (source, number, begins, ends, text) values ('s', 0, 0, 3, 'old')");
  old.close();
  openSqliteFile(place.stateFile, { durability: 'normal' }).close();
  const thread = openEmbeddedChunks(place);
  const chunks = [{ text: 'new', begins: 3, ends: 6, locator: '{"lines":[4,5]}', vector: null }];
  await thread.add({ source: 's', storeId: 'vs_1', first: 1, dimensions: null, vectors: 'none', chunks });
  const rows = await thread.all({ sql: 'select text, locator from chunks order by number', parameters: [] });
  expect(rows).toEqual([
    { text: 'old', locator: null },
    { text: 'new', locator: '{"lines":[4,5]}' },
  ]);
  thread.close();
  removeDataDir(dataDir);
});
