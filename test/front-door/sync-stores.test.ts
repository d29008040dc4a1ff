import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

/** What `gateway sync` asks of a gateway, on both stores. */

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`syncs, on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    }, 120_000);
    afterAll(() => gateway.stop());

    const newStore = async (): Promise<string> => (await gateway.api.post('/v1/vector_stores', {})).json.id;
    const begin = (store: string, more: object = {}) =>
      gateway.api.post(`/v1/vector_stores/${store}/sync`, { source: 'folder:docs', holder: 'anna@laptop', ...more });
    const put = (store: string, sync: string, path: string, text: string) => {
      const form = new FormData();
      const digest = `sha256:${new Bun.CryptoHasher('sha256').update(text).digest('hex')}`;
      for (const [name, value] of Object.entries({ path, digest, attributes: '{"lang":"en"}' })) form.set(name, value);
      form.set('file', new File([text], 'file'));
      return gateway.api.post(`/v1/vector_stores/${store}/sync/${sync}/files`, form);
    };
    const filesIn = async (store: string) =>
      (await gateway.api.get(`/v1/vector_stores/${store}/files?limit=100`)).json.data;
    const settled = (store: string) =>
      eventually('all is taken in', async () =>
        (await filesIn(store)).every(({ status }: { status: string }) => status !== 'in_progress'),
      );

    test('of many that begin at once, one holds the store', async () => {
      const store = await newStore();
      const replies = await Promise.all(Array.from({ length: 8 }, () => begin(store)));
      expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
      const { id } = replies.find(({ status }) => status === 200)!.json;
      expect((await begin(store, { takes_over: 'vssync_other' })).json.error.code).toBe('vector_store_sync_busy');
      expect((await begin(store, { takes_over: id })).status).toBe(200);
      const progress = { total: 1, done: 1, uploaded: 0, removed: 0, failed: 0, bytes: 0 };
      const lost = await gateway.api.post(`/v1/vector_stores/${store}/sync/${id}`, { progress });
      expect(lost.json.error.code).toBe('vector_store_sync_lost');
    }, 120_000);

    test('the same file twice at once is one file; versions that follow each other end as the last', async () => {
      const store = await newStore();
      const { id } = (await begin(store)).json;
      const twice = await Promise.all([put(store, id, 'a.md', 'one'), put(store, id, 'a.md', 'one')]);
      expect(twice[0]!.json.id).toBe(twice[1]!.json.id);
      const replies = await Promise.all(['two', 'three', 'four', 'five'].map((text) => put(store, id, 'a.md', text)));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      await settled(store);
      const left = await filesIn(store);
      expect(left).toHaveLength(1);
      expect(left[0]).toMatchObject({
        status: 'completed',
        attributes: { lang: 'en' },
        origin: { source: 'folder:docs', path: 'a.md' },
      });
      // What was replaced is deleted, too.
      const files = (await gateway.api.get('/v1/files')).json.data.map((file: { id: string }) => file.id);
      for (const { json } of [...twice, ...replies]) expect(files.includes(json.id)).toBe(json.id === left[0].id);
    }, 120_000);

    test('a file that a caller took out is brought again, and one of another source is not removed', async () => {
      const store = await newStore();
      const { id } = (await begin(store)).json;
      const first = (await put(store, id, 'a.md', 'one')).json;
      await settled(store);
      await gateway.api.delete(`/v1/vector_stores/${store}/files/${first.id}`);
      const second = (await put(store, id, 'a.md', 'one')).json;
      expect(second.id).not.toBe(first.id);
      await settled(store);
      const other = (await begin(store, { source: 'folder:other', takes_over: id })).json;
      const refused = await gateway.api.delete(`/v1/vector_stores/${store}/sync/${other.id}/files/${second.id}`);
      expect(refused.status).toBe(404);
      // The same path of another source is another file.
      await put(store, other.id, 'a.md', 'one');
      await settled(store);
      expect(await filesIn(store)).toHaveLength(2);
    }, 120_000);

    test('a file that a caller cuts in another way stays the file of its sync', async () => {
      const store = await newStore();
      const { id } = (await begin(store)).json;
      const first = (await put(store, id, 'a.md', 'one')).json;
      await settled(store);
      const chunking_strategy = { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 } };
      await gateway.api.post(`/v1/vector_stores/${store}/files`, { file_id: first.id, chunking_strategy });
      await settled(store);
      await put(store, id, 'a.md', 'two');
      await settled(store);
      expect(await filesIn(store)).toHaveLength(1);
    }, 120_000);
  });
