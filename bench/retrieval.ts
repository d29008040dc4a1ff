/** `npm run bench:retrieval`: how much is read of documents, how often questions find theirs, and what scores mean. */
import { parseArgs } from 'node:util';
import { startGateway } from '../test/gateway.ts';
import { ASKED_OF_EVERY_STORE, type AskedKind, calibration } from '../test/retrieval/calibration.ts';
import { corpus } from '../test/retrieval/corpus.ts';
import { type Answered, answered, extractions, qualityOf, stored } from '../test/retrieval/measure.ts';

const { values } = parseArgs({
  options: { engine: { type: 'string', default: 'sqlite' }, misses: { type: 'boolean' } },
});
if (values.engine !== 'sqlite' && values.engine !== 'postgres')
  throw new Error(`--engine is sqlite or postgres, not ${values.engine}.`);

/** The Declaration in so many languages makes some ten thousand chunks of a hundred tokens. */
const LANGUAGES_OF_LARGE_STORE = 220;

const KINDS = { article: 'about articles', table: 'about tables', library: 'about libraries' } as const;

const say = (line = '') => console.log(line);
const percent = (share: number) => (share * 100).toFixed(1);
const row = (cells: readonly (string | number)[]) => say(`| ${cells.join(' | ')} |`);
const table = (head: readonly string[]) => {
  row(head);
  row(head.map(() => '---'));
};

const all = corpus();
say(`${all.documents.length} documents, ${all.questions.length} questions, ${values.engine}`);
say();
table(['Format', 'Documents', 'Words', 'Read, %', 'Glued numbers', 'Rows of tables', 'Not one line']);
for (const { format, documents, words, found, glued, rows, broken } of await extractions(all.documents))
  row([format, documents, words, ((found / words) * 100).toFixed(2), glued, rows, format === 'json' ? '–' : broken]);

const gateway = await startGateway({ engine: values.engine });
try {
  const store = await stored(gateway.api, all.documents);
  const places = await answered(gateway.api, all, store);
  say();
  say(`${[...store.chunks.values()].flat().length} chunks; hit@1, hit@5 and MRR@10, %`);
  say();
  table(['Questions', '', 'gateway', 'BM25, same chunks', 'BM25, whole files']);
  const show = (name: string, some: readonly Answered[]) => {
    const figures = (of: (each: Answered) => number) => {
      const { hit1, hit5, mrr } = qualityOf(some.map(of));
      return `${percent(hit1)} / ${percent(hit5)} / ${percent(mrr)}`;
    };
    row([
      name,
      some.length,
      ...[figures((each) => each.ours), figures((each) => each.chunks), figures((each) => each.files)],
    ]);
  };
  show('all', places);
  for (const [kind, some] of Map.groupBy(places, (each) => each.kind)) show(KINDS[kind], some);
  for (const [language, some] of Map.groupBy(places, (each) => each.language)) show(language, some);
  if (values.misses)
    for (const { key, question, ours, chunks, files, score } of places.filter((each) => each.ours !== 1))
      say(`${key}: ${question} (${ours}, ${chunks}, ${files}; ${score.toFixed(2)})`);

  say();
  table(['Score of the best passage: lowest, median, highest', ...Object.keys(ASKED_OF_EVERY_STORE)]);
  for (const { chunks, scores } of await calibration(gateway.api, LANGUAGES_OF_LARGE_STORE)) {
    const spread = (kind: AskedKind) => {
      const list = scores[kind];
      return [list[0]!, list[Math.floor(list.length / 2)]!, list.at(-1)!].map((score) => score.toFixed(2)).join(', ');
    };
    row([`store of ${chunks} chunks`, ...(Object.keys(scores) as AskedKind[]).map(spread)]);
  }
} finally {
  await gateway.stop();
}
process.exit(0);
