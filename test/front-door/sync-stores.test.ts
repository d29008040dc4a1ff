import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

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
    const put = (store: string, sync: string, path: string, text: string) =>
      gateway.api.post(`/v1/vector_stores/${store}/sync/${sync}/files`, formOf(path, text));
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

    test('a workspace that is deleted while files are brought takes all of them with it, and the sync is told', async () => {
      const { id: workspace_id } = await gateway.given.workspace();
      const { key } = await gateway.given.apiKey({ workspace_id });
      const { id: store } = (await gateway.api.post('/v1/vector_stores', {}, { key })).json;
      const begun = { source: 'folder:docs', holder: 'anna@laptop' };
      const { id: sync } = (await gateway.api.post(`/v1/vector_stores/${store}/sync`, begun, { key })).json;
      let brought = 0;
      const refusals: (readonly [number, string])[] = [];
      /** Brings files until it is refused, as a client does that was not told. */
      const bring = async (lane: number) => {
        for (let number = 0; ; number++) {
          const form = formOf(`${lane}/${number}.md`, `text ${lane} ${number}`);
          const { status, json } = await gateway.api.post(`/v1/vector_stores/${store}/sync/${sync}/files`, form, {
            key,
          });
          if (status !== 200) return refusals.push([status, json.error.code]);
          brought++;
        }
      };
      const lanes = Array.from({ length: 6 }, (_, lane) => bring(lane));
      await eventually('some files are there', () => brought >= 12);
      const deleting = gateway.api.delete(`/v1/admin/workspaces/${workspace_id}`);
      await Promise.all(lanes);
      expect((await deleting).status).toBe(200);
      // No lane hears of a fault of the gateway.
      for (const [status, code] of refusals)
        expect([`${status} ${code}`, status === 401 || status === 404]).toEqual([`${status} ${code}`, true]);
      const places = {
        files: `workspace_id = '${workspace_id}'`,
        vector_stores: `workspace_id = '${workspace_id}'`,
        vector_store_files: `store_id = '${store}'`,
        indexed_files: `store_id = '${store}'`,
        work: `tenant = '${workspace_id}'`,
      };
      const left = async () => {
        const found: Record<string, number> = {};
        for (const [table, where] of Object.entries(places))
          found[table] = (await query(gateway, `select 1 from ${table} where ${where}`)).length;
        return found;
      };
      let found = await left();
      await eventually('nothing of it is left', async () => {
        found = await left();
        return Object.values(found).every((count) => count === 0);
      }).catch(() => {});
      expect(found).toEqual({ files: 0, vector_stores: 0, vector_store_files: 0, indexed_files: 0, work: 0 });
    }, 240_000);
  });

describe('syncs of two nodes', () => {
  test('of one store: one holds it, the other is told by whom; a file that both bring is one', async () => {
    const first = await startGateway({ engine: 'postgres' });
    const second = await startGateway({ engine: 'postgres', databaseUrl: first.databaseUrl! });
    const store: string = (await first.api.post('/v1/vector_stores', {})).json.id;
    const at = [first, second] as const;
    const begin = (node: TestGateway, more: object = {}) =>
      node.api.post(`/v1/vector_stores/${store}/sync`, { source: 'folder:docs', holder: 'anna@laptop', ...more });
    const put = (node: TestGateway, sync: string, path: string, text: string) =>
      node.api.post(`/v1/vector_stores/${store}/sync/${sync}/files`, formOf(path, text));

    const replies = await Promise.all(Array.from({ length: 8 }, (_, index) => begin(at[index % 2]!)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, json } of replies.filter((reply) => reply.status !== 200)) {
      expect([status, json.error.code]).toEqual([409, 'vector_store_sync_busy']);
      expect(json.error.message).toContain('anna@laptop');
    }
    const { id } = replies.find(({ status }) => status === 200)!.json;
    // A client whose balancer sends each call to another node.
    const twice = await Promise.all([put(first, id, 'a.md', 'one'), put(second, id, 'a.md', 'one')]);
    expect(twice.map(({ status }) => status)).toEqual([200, 200]);
    expect(twice[0]!.json.id).toBe(twice[1]!.json.id);
    // Taken over in the middle: what comes late is refused, and nothing of it stays.
    const late = Promise.all(Array.from({ length: 12 }, (_, number) => put(first, id, `late-${number}.md`, 'late')));
    const other = await begin(second, { takes_over: id, holder: 'bert@server' });
    expect(other.status).toBe(200);
    const lateReplies = await late;
    for (const { status, json } of lateReplies)
      if (status !== 200) expect([status, json.error.code]).toEqual([409, 'vector_store_sync_lost']);
    const refused = await put(first, id, 'b.md', 'two');
    expect([refused.status, refused.json.error.code]).toEqual([409, 'vector_store_sync_lost']);
    const filesOf = async () => (await second.api.get(`/v1/vector_stores/${store}/files?limit=100`)).json.data;
    await eventually('all is taken in', async () =>
      (await filesOf()).every(({ status }: { status: string }) => status === 'completed'),
    );
    const expected = new Set(
      [twice[0]!, ...lateReplies].filter(({ status }) => status === 200).map(({ json }) => json.id),
    );
    expect(new Set((await filesOf()).map((file: { id: string }) => file.id))).toEqual(expected);
    const all = (await second.api.get('/v1/files?limit=100')).json.data;
    expect(new Set(all.map((file: { id: string }) => file.id))).toEqual(expected);
    await second.stop();
    await first.stop();
  }, 240_000);
});

function formOf(path: string, text: string): FormData {
  const form = new FormData();
  const digest = `sha256:${new Bun.CryptoHasher('sha256').update(text).digest('hex')}`;
  for (const [name, value] of Object.entries({ path, digest, attributes: '{"lang":"en"}' })) form.set(name, value);
  form.set('file', new File([text], 'file'));
  return form;
}
