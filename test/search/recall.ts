import { describe, expect, test } from 'bun:test';
import { openLab, type SearchLab, stores } from './stores.ts';
import { recallOf, topicsOf } from './topics.ts';

const SLOW_MS = 240_000;
const signal = new AbortController().signal;

export function product(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[at]!;
  return sum;
}

export interface RecallToTry {
  /** Of a hundred chunks each. */
  readonly files: number;
  /** So many are asked for. More are searched, also behind a filter, than are looked at byte for byte: ten times as many. */
  readonly most: number;
}

export function describeRecall(name: string, { files, most }: RecallToTry): void {
  describe(name, () => {
    const perFile = 100;
    const topics = topicsOf(256);
    const placeOf = (text: string) => text.split(' ').map(Number) as [file: number, number: number];
    const vectors = new Map<string, Float32Array>();
    const vectorOf = (text: string): Float32Array => {
      const made = vectors.get(text) ?? topics.chunk(...placeOf(text));
      vectors.set(text, made);
      return made;
    };

    /** Texts name their chunk, and have its vector. */
    async function openTopics(): Promise<{ lab: SearchLab; storeId: string; ids: string[] }> {
      const lab = await openLab(() => stores[name]!(1), { name: 'topics', dimensions: 256 });
      lab.embeddings.embed = async ({ texts }) => texts.map(vectorOf);
      const storeId = await lab.newStore();
      const ids: string[] = [];
      for (let file = 0; file < files; file++) {
        const texts = Array.from({ length: perFile }, (_, number) => `${file} ${number}`);
        ids.push(await lab.newFile(storeId, texts, { third: file % 3 }));
      }
      return { lab, storeId, ids };
    }

    const nearestOf = (query: Float32Array, isSearched: (file: number) => boolean): string[] => {
      const all: [string, number][] = [];
      for (let file = 0; file < files; file++)
        for (let number = 0; isSearched(file) && number < perFile; number++)
          all.push([`${file} ${number}`, product(query, vectorOf(`${file} ${number}`))]);
      return all
        .sort(([, one], [, other]) => other - one)
        .slice(0, most)
        .map(([text]) => text);
    };

    test(
      'nearly all of the nearest are found, among all files and behind a filter, and nothing that is gone',
      async () => {
        const { lab, storeId, ids } = await openTopics();
        const found = async (query: Float32Array, filter: Parameters<typeof lab.chunks.byVector>[0]['filter'] = null) =>
          lab.chunks.read((await lab.chunks.byVector({ storeIds: [storeId], filter }, query, most))!);
        const recall = async (
          isSearched: (file: number) => boolean,
          filter: Parameters<typeof lab.chunks.byVector>[0]['filter'] = null,
        ) => {
          let sum = 0;
          for (let question = 0; question < 10; question++) {
            const query = topics.question((question * 7) % files, question);
            const texts = (await found(query, filter)).map(({ text }) => text);
            sum += recallOf(nearestOf(query, isSearched), texts);
          }
          return sum / 10;
        };
        expect(await recall(() => true)).toBeGreaterThanOrEqual(0.95);
        const filter = { type: 'eq', key: 'third', value: 1 } as const;
        expect(await recall((file) => file % 3 === 1, filter)).toBeGreaterThanOrEqual(0.95);

        await lab.store.transaction((db) => lab.index.remove(db, storeId, ids[7]!));
        expect((await found(topics.question(7, 1))).map(({ text }) => placeOf(text)[0])).not.toContain(7);

        const file = { storeId, fileId: ids[8]!, workspaceId: lab.workspaceId };
        const again = [{ text: '8 5000', start: 0, end: 1 }];
        await lab.index.put(file, again, { signal, transaction: lab.fenced });
        const texts = (await found(topics.question(8, 5_000))).map(({ text }) => text);
        expect(texts.filter((text) => placeOf(text)[0] === 8)).toEqual(['8 5000']);
        await lab.close();
      },
      SLOW_MS,
    );
  });
}
