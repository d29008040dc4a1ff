import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../test/postgres.ts';
import { givenWorkspaces } from '../../test/workspaces.ts';
import { type ErrorCode, GatewayError } from '../core/errors.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { Principal } from '../core/principal.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { continued, takeKept } from '../dialects/responses/kept.ts';
import { responses as dialect } from '../dialects/responses/responses.ts';
import type { Engine } from '../storage/migrate.ts';
import { openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { createResponseStore, type ResponseStore } from './responses-store.ts';

const DAY_MS = 86_400_000;
const principal = (workspaceId: string) => ({ workspaceId, organisationId: 'org' }) as unknown as Principal;
const [mine, foreign] = [principal('mine'), principal('foreign')];

async function codeOf(work: Promise<unknown>): Promise<ErrorCode | 'none'> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

function contract(engine: Engine, open: () => Promise<Store>) {
  describe(engine, () => {
    let store: Store;
    let kept: ResponseStore;
    let at = 1_760_000_000_000;
    beforeAll(async () => {
      store = await open();
      await store.migrate();
      await givenWorkspaces(store, ['mine', 'foreign']);
      kept = createResponseStore({
        store,
        workers: () => ({ discard: async () => 0 }),
        now: () => at,
        mostBytes: 4_000,
      });
    });
    afterAll(() => store.close());

    /** Keeps an answer to an input, as the gateway would have made it. */
    async function given(input: unknown, answer = 'Hello.', previousId?: string): Promise<JsonObject & { id: string }> {
      const request = dialect.inbound.decodeRequest({ model: 'm', input, previous_response_id: previousId });
      const id = newObjectId('response', at);
      const choice = { parts: [{ type: 'text', text: answer } as const], finish: { reason: 'stop' } as const };
      const response = dialect.inbound.encodeReply({ choices: [choice] }, { request, id, now: at }).body;
      await kept.create(mine, { response: { ...response }, input, previousId });
      return { ...response, id };
    }
    const page = (id: string, query: object = {}) =>
      kept.inputItems(mine, id, { limit: 20, order: 'asc', ...query }).then(({ data, ...rest }) => ({
        texts: data.map((item) => (item.content as { text: string }[])[0]?.text),
        ids: data.map((item) => item.id),
        ...rest,
      }));
    const said = (turns: readonly { role: string; parts: readonly unknown[] }[]) =>
      turns.map(({ role, parts }) => [role, ...parts.map((part) => (part as { text?: string }).text)]);

    test('a response is read as it was answered', async () => {
      const response = await given('Hi');
      expect(await kept.read(mine, response.id)).toEqual(response);
    });

    test('a foreign response is missing, for every operation', async () => {
      const { id } = await given('Hi');
      const query = { limit: 20, order: 'desc' } as const;
      expect(await codeOf(kept.read(foreign, id))).toBe('response_not_found');
      expect(await codeOf(kept.delete(foreign, id))).toBe('response_not_found');
      expect(await codeOf(kept.inputItems(foreign, id, query))).toBe('response_not_found');
      expect(await codeOf(kept.expand(foreign, id))).toBe('previous_response_not_found');
      expect(await codeOf(kept.read(mine, id))).toBe('none');
    });

    test('a response that was deleted is gone, with its items', async () => {
      const { id } = await given('Hi');
      expect(await kept.delete(mine, id)).toEqual({ id, object: 'response', deleted: true });
      expect(await codeOf(kept.read(mine, id))).toBe('response_not_found');
      expect(await codeOf(kept.delete(mine, id))).toBe('response_not_found');
      const left = await store.db
        .selectFrom('response_items')
        .select('item_id')
        .where('response_id', '=', id)
        .execute();
      expect(left).toEqual([]);
    });

    test('input items have ids, types and lists of content, whatever the client sent', async () => {
      const { id } = await given([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
        { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'noon' },
        { type: 'message', id: 'msg_own', role: 'user', content: [{ type: 'input_text', text: 'And?' }] },
      ]);
      const { data } = await kept.inputItems(mine, id, { limit: 20, order: 'asc' });
      expect(data as unknown[]).toMatchObject([
        { type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello', annotations: [] }] },
        { type: 'function_call', call_id: 'call_1' },
        { type: 'function_call_output', call_id: 'call_1', output: 'noon' },
        { id: 'msg_own', content: [{ type: 'input_text', text: 'And?' }] },
      ]);
      expect(data.map((item) => item.id.replace(/_.*/, '_'))).toEqual(['msg_', 'msg_', 'fc_', 'fco_', 'msg_']);
    });

    test('input items are paged in both orders and both directions', async () => {
      const { id } = await given(['a', 'b', 'c', 'd', 'e'].map((content) => ({ role: 'user', content })));
      const { ids } = await page(id);
      expect(await page(id, { limit: 2 })).toMatchObject({ texts: ['a', 'b'], has_more: true, last_id: ids[1]! });
      expect(await page(id, { limit: 2, after: ids[1] })).toMatchObject({ texts: ['c', 'd'], has_more: true });
      expect(await page(id, { limit: 2, after: ids[3] })).toMatchObject({ texts: ['e'], has_more: false });
      expect(await page(id, { limit: 2, before: ids[3] })).toMatchObject({ texts: ['b', 'c'], has_more: true });
      expect(await page(id, { order: 'desc', limit: 2 })).toMatchObject({ texts: ['e', 'd'], has_more: true });
      expect(await page(id, { order: 'desc', limit: 9, after: ids[1] })).toMatchObject({ texts: ['a'] });
      expect(await codeOf(page(id, { after: 'msg_none' }))).toBe('cursor_not_found');
    });

    test('a response that goes on from another has the whole conversation before it', async () => {
      const first = await given([{ role: 'user', content: 'One' }], 'Two.');
      const second = await given('Three', 'Four.', first.id);
      expect(said(await kept.expand(mine, second.id))).toEqual([
        ['user', 'One'],
        ['assistant', 'Two.'],
        ['user', 'Three'],
        ['assistant', 'Four.'],
      ]);
      const asked = dialect.inbound.decodeRequest({
        model: 'm',
        instructions: 'Be brief.',
        input: 'Five',
        previous_response_id: second.id,
      });
      const { kept: wish, request } = takeKept(asked);
      expect(wish).toEqual({ isStored: true, previousId: second.id });
      const whole = continued(request, await kept.expand(mine, wish.previousId!));
      expect(said(whole.turns).map(([role]) => role)).toEqual([
        'system',
        'user',
        'assistant',
        'user',
        'assistant',
        'user',
      ]);
      expect(whole.ext?.responses).toBeUndefined();
    });

    test('two responses may go on from one, and do not see each other', async () => {
      const root = await given('Root', 'Yes.');
      const [left, right] = [await given('Left', 'L.', root.id), await given('Right', 'R.', root.id)];
      expect(said(await kept.expand(mine, left.id)).flat()).not.toContain('Right');
      expect(said(await kept.expand(mine, right.id)).flat()).not.toContain('Left');
    });

    test('a conversation of which a response was deleted cannot be gone on with', async () => {
      const first = await given('One');
      const second = await given('Two', 'Hm.', first.id);
      await kept.delete(mine, first.id);
      const refused = kept.expand(mine, second.id);
      await expect(refused).rejects.toThrow(`Previous response with id '${first.id}' not found.`);
    });

    test('a conversation that is too long to be sent is refused with its size', async () => {
      const long = await given('x'.repeat(5_000));
      await expect(kept.expand(mine, long.id)).rejects.toThrow(/has \d+ bytes, more than the 4000/);
    });

    test('references are replaced by the items they stand for, and only the own ones', async () => {
      const { id, output } = await given('Hi', 'Hello there.');
      const [item] = output as [{ id: string }];
      const { data } = await kept.inputItems(mine, id, { limit: 1, order: 'asc' });
      const body = { model: 'm', input: [data[0], { type: 'item_reference', id: item.id }, { id: data[0]!.id }] };
      const { input } = (await kept.resolved(mine, body)) as { input: unknown[] };
      expect(input).toEqual([data[0], item, data[0]]);
      expect(dialect.inbound.decodeRequest({ model: 'm', input }).turns.map(({ role }) => role)).toEqual([
        'user',
        'assistant',
        'user',
      ]);
      expect(await codeOf(kept.resolved(foreign, body))).toBe('response_item_not_found');
      await expect(
        kept.resolved(mine, {
          input: [
            { role: 'user', content: '' },
            { type: 'item_reference', id: 'msg_none' },
          ],
        }),
      ).rejects.toMatchObject({ param: 'input[1]', status: 404 });
    });

    test('a body without references is the same afterwards', async () => {
      for (const body of [{ input: 'Hi' }, { input: [{ role: 'user', content: 'Hi' }] }, 7, null, {}])
        expect(await kept.resolved(mine, body)).toBe(body);
    });

    test('a response expires after 30 days, and is swept when nothing goes on from it any more', async () => {
      const old = await given('Old');
      const lone = await given('Lone');
      at += 20 * DAY_MS;
      const young = await given('Young', 'Yes.', old.id);
      at += 11 * DAY_MS;
      expect(await codeOf(kept.read(mine, old.id))).toBe('response_not_found');
      expect(await codeOf(kept.expand(mine, old.id))).toBe('previous_response_not_found');
      await kept.sweep();
      expect(said(await kept.expand(mine, young.id)).flat()).toContain('Old');
      at += 20 * DAY_MS;
      await kept.sweep();
      const ids = [old.id, lone.id, young.id];
      expect(await store.db.selectFrom('responses').select('id').where('id', 'in', ids).execute()).toEqual([]);
      const items = await store.db.selectFrom('response_items').select('item_id').execute();
      expect(items).toEqual([]);
    });
  });
}

contract('sqlite', async () => openSqlite(':memory:'));
contract('postgres', async () => openPostgres(await createDatabase()));
