import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { JAIL_MS, pythonOf } from '../assistants/jail.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';
import { query } from '../state-tables.ts';

type Call = OpenAI.Responses.ResponseCodeInterpreterToolCall;
const include = ['code_interpreter_call.outputs' as const];
const asks = (code: string) => `call code_interpreter ${JSON.stringify({ code })}`;
const MOST_MS = 120_000;

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    let dataDir: string;
    let openai: OpenAI;
    beforeAll(async () => {
      dataDir = await pythonOf[engine].dataDir();
      gateway = await startGateway({
        engine,
        environment: { ...pythonOf[engine].environment, GATEWAY_DATA_DIR: dataDir },
      });
      await gateway.given.virtualKey({ slug: 'code', provider: 'groq', key: 'k', custom_host: gateway.provider.url });
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'code' } });
      openai = openaiClient(gateway.url, key);
    }, JAIL_MS);
    afterAll(async () => {
      await gateway.stop();
      rmSync(dataDir, { recursive: true, force: true });
    });
    const place = () => ({ ...gateway, dataDir }) as TestGateway;
    const file = (name: string, text: string) => toFile(Buffer.from(text), name);
    const ran = async (container: string, code: string) => {
      const made = await openai.responses.create({
        ...{ model: 'any', input: asks(code), include, stream: false },
        tools: [{ type: 'code_interpreter', container }],
      });
      const call = made.output.find((item): item is Call => item.type === 'code_interpreter_call')!;
      const logs = (call.outputs ?? []).map((output) => (output.type === 'logs' ? output.logs : '')).join();
      return { made, call, logs };
    };
    const faultOf = (call: Promise<unknown>) =>
      call.then(
        () => 'fine',
        (error) => `${error.status} ${error.param}`,
      );

    test('a container is made, found, listed and deleted, as the vendor has it', async () => {
      const made = await openai.containers.create({ name: 'sums' });
      expect(made).toMatchObject({
        ...{ object: 'container', name: 'sums', status: 'active', network_policy: { type: 'disabled' } },
        expires_after: { anchor: 'last_active_at', minutes: 20 },
      });
      expect(made.id).toStartWith('cntr_');
      const { _request_id: _, ...plain } = made as typeof made & { _request_id: string };
      expect(await openai.containers.retrieve(made.id)).toMatchObject(plain);
      const other = await openai.containers.create({
        name: 'other',
        expires_after: { anchor: 'last_active_at', minutes: 5 },
      });
      const names = async (query = {}) => {
        const found: string[] = [];
        for await (const { name } of openai.containers.list({ limit: 1, ...query })) found.push(name);
        return found;
      };
      expect(await names()).toEqual(['other', 'sums']);
      expect(await names({ order: 'asc' })).toEqual(['sums', 'other']);
      expect(await names({ name: 'sums' })).toEqual(['sums']);
      const deleted = await gateway.api.delete(`/v1/containers/${other.id}`);
      expect(deleted.json).toEqual({ id: other.id, object: 'container.deleted', deleted: true });
      expect(await faultOf(openai.containers.retrieve(other.id))).toBe('404 null');
      expect(await names()).toEqual(['sums']);
    });

    test(
      'code finds what was put into it, leaves what it wrote, and does not find what was taken out',
      async () => {
        const given = await openai.files.create({ purpose: 'user_data', file: await file('one.txt', 'one') });
        const { id } = await openai.containers.create({ name: 'files', file_ids: [given.id] });
        const uploaded = await openai.containers.files.create(id, { file: await file('two.txt', 'two!') });
        expect(uploaded).toMatchObject({
          ...{ object: 'container.file', container_id: id, bytes: 4, path: '/mnt/data/two.txt', source: 'user' },
        });
        const three = await openai.files.create({ purpose: 'user_data', file: await file('three.txt', 'three') });
        expect(await openai.containers.files.create(id, { file_id: three.id })).toMatchObject({
          id: three.id,
          bytes: 5,
        });

        const read = 'import os\nprint(sorted(os.listdir(".")))';
        const first = await ran(id, `${read}\nopen("out.txt", "w").write(open("two.txt").read() * 2)\nx = 7`);
        expect(first.call).toMatchObject({ container_id: id, status: 'completed' });
        expect(first.logs).toContain("['one.txt', 'three.txt', 'two.txt']");
        const list = async () => (await openai.containers.files.list(id, { order: 'asc' })).data;
        expect((await list()).map(({ path, source }) => `${source} ${path}`)).toEqual([
          ...['user /mnt/data/one.txt', 'user /mnt/data/two.txt', 'user /mnt/data/three.txt'],
          'assistant /mnt/data/out.txt',
        ]);
        const out = (await list()).at(-1)!;
        const content = await openai.containers.files.content.retrieve(out.id, { container_id: id });
        expect(await content.text()).toBe('two!two!');
        expect(await openai.containers.files.retrieve(out.id, { container_id: id })).toMatchObject({ bytes: 8 });
        const stays = await ran(id, 'print(x, open("out.txt").read())');
        expect(stays.logs).toContain('7 two!two!');
        // Who says auto goes on in a new one when the last has expired.
        await query(place(), `update responses set expires_at = expires_at - 9999999999 where id = '${id}'`);
        const next = await openai.responses.create({
          ...{ model: 'any', input: asks('1'), previous_response_id: stays.made.id },
          tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
        });
        const fresh = next.output.find((item): item is Call => item.type === 'code_interpreter_call')!;
        expect(fresh.container_id).not.toBe(id);
        await query(place(), `update responses set expires_at = expires_at + 9999999999 where id = '${id}'`);

        for (const gone of [uploaded.id, out.id, given.id])
          await openai.containers.files.delete(gone, { container_id: id });
        expect((await list()).map(({ path }) => path)).toEqual(['/mnt/data/three.txt']);
        expect(await faultOf(openai.containers.files.retrieve(out.id, { container_id: id }))).toStartWith('404');
        expect((await ran(id, `${read}\nprint(x)`)).logs).toBe("['three.txt']\n7");
        // What was uploaded into it goes with it, at once if no code was given it; what is the workspace's stays.
        const unread = await openai.containers.files.create(id, { file: await file('unread.txt', '') });
        await openai.containers.files.delete(unread.id, { container_id: id });
        expect(await faultOf(openai.files.retrieve(unread.id))).toStartWith('404');
        expect(await openai.files.retrieve(given.id)).toMatchObject({ filename: 'one.txt' });
        expect(await faultOf(openai.containers.files.create(id, { file_id: given.id }))).toBe('400 file_id');
        await openai.containers.delete(id);
        expect(await faultOf(openai.files.retrieve(uploaded.id))).toStartWith('404');
      },
      MOST_MS,
    );

    test(
      'a container that a response has made is one like any other',
      async () => {
        const made = await openai.responses.create({
          ...{ model: 'any', input: asks('open("a.txt", "w").write("a")') },
          tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
        });
        const id = made.output.find((item): item is Call => item.type === 'code_interpreter_call')!.container_id;
        expect(await openai.containers.retrieve(id)).toMatchObject({ id, status: 'active', name: '' });
        const [written] = (await openai.containers.files.list(id)).data;
        expect(written).toMatchObject({ path: '/mnt/data/a.txt', source: 'assistant', bytes: 1 });
        await openai.containers.delete(id);
        expect(await faultOf(openai.containers.files.list(id))).toStartWith('404');
        expect(await openai.files.retrieve(written!.id)).toMatchObject({ filename: 'a.txt' });
      },
      MOST_MS,
    );

    test('it expires when it is not used, and what was uploaded goes with it', async () => {
      const minutes = 2;
      const { id } = await openai.containers.create({
        ...{ name: 'short', expires_after: { anchor: 'last_active_at', minutes } },
      });
      const uploaded = await openai.containers.files.create(id, { file: await file('x.txt', 'x') });
      const expiry = async () =>
        Number(
          (await query<{ expires_at: number }>(place(), `select expires_at from responses where id = '${id}'`))[0]!
            .expires_at,
        );
      const untilMs = (await expiry()) - Date.now();
      expect(untilMs).toBeGreaterThan(0);
      expect(untilMs).toBeLessThanOrEqual(minutes * 60_000);
      await query(place(), `update responses set expires_at = expires_at - 90000 where id = '${id}'`);
      const before = await expiry();
      await openai.containers.files.create(id, { file: await file('y.txt', 'y') });
      expect(await expiry()).toBeGreaterThan(before);
      await query(place(), `update responses set expires_at = 1 where id = '${id}'`);
      expect(await openai.containers.retrieve(id)).toMatchObject({ status: 'expired' });
      expect(await faultOf(openai.containers.files.create(id, { file: await file('z.txt', 'z') }))).toBe(
        '400 container_id',
      );
      expect(await faultOf(ran(id, '1'))).toBe('400 tools[0].container');
      await openai.containers.delete(id);
      expect(await faultOf(openai.files.retrieve(uploaded.id))).toStartWith('404');
    });

    test('what cannot be is refused by its name, and a foreign container is missing', async () => {
      const make = async (body: object) => {
        const { status, json } = await gateway.api.post('/v1/containers', body);
        return `${status} ${json.error?.param}`;
      };
      expect(await make({})).toBe('400 name');
      expect(await make({ name: 'x', expires_after: { anchor: 'created_at', minutes: 5 } })).toBe(
        '400 expires_after.anchor',
      );
      expect(await make({ name: 'x', expires_after: { anchor: 'last_active_at', minutes: 0 } })).toBe(
        '400 expires_after.minutes',
      );
      expect(await make({ name: 'x', memory_limit: '64g' })).toBe('400 memory_limit');
      expect(await make({ name: 'x', network_policy: { type: 'allowlist', allowed_domains: ['a.com'] } })).toStartWith(
        '400 network_policy',
      );
      expect(await make({ name: 'x', skills: [] })).toBe('400 skills');
      expect(await make({ name: 'x', file_ids: ['file-none'] })).toStartWith('404');
      const { id } = await openai.containers.create({ name: 'mine' });
      const own = await openai.containers.files.create(id, { file: await file('mine.txt', 'm') });
      const post = async (body: unknown) => (await gateway.api.post(`/v1/containers/${id}/files`, body)).status;
      expect(await post({})).toBe(400);
      expect(await post({ file_id: 'file-none' })).toBe(404);
      expect(await post(new FormData())).toBe(400);
      const { id: workspace_id } = await gateway.given.workspace();
      const { key } = await gateway.given.apiKey({ workspace_id });
      const foreign = openaiClient(gateway.url, key);
      for (const call of [
        () => foreign.containers.retrieve(id),
        () => foreign.containers.delete(id),
        () => foreign.containers.files.list(id),
        () => foreign.containers.files.content.retrieve(own.id, { container_id: id }),
        () => foreign.containers.files.delete(own.id, { container_id: id }),
        () => foreign.containers.files.create(id, { file_id: own.id }),
      ])
        expect(await faultOf(call())).toStartWith('404');
      expect((await foreign.containers.list()).data).toEqual([]);
      const { key: narrow } = await gateway.given.apiKey({ scopes: ['completions.write'] });
      const reader = openaiClient(gateway.url, narrow);
      expect(await faultOf(reader.containers.files.list(id))).toStartWith('403');
    });
  });
