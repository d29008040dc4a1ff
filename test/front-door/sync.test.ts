import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ADMIN_KEY } from '../gateway.ts';
import {
  commands,
  eventually,
  type GatewayProcess,
  newDataDir,
  removeDataDir,
  root,
  runGateway,
  startProcess,
} from '../process.ts';
import { startS3 } from '../s3.ts';

/** `gateway sync`, as an operator or a CI job types it, against a gateway that runs. */

let gateway: GatewayProcess;
const homes: string[] = [];
beforeAll(async () => {
  gateway = await startProcess();
});
afterAll(async () => {
  await gateway.stop();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

const newHome = (): string => {
  const home = mkdtempSync(join(tmpdir(), 'gateway-sync-test-'));
  homes.push(home);
  return home;
};
const put = (folder: string, path: string, text: string | Uint8Array) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const folderWith = (files: Record<string, string | Uint8Array>, name = 'handbook'): string => {
  const folder = join(newHome(), name);
  mkdirSync(folder);
  for (const [path, text] of Object.entries(files)) put(folder, path, text);
  return folder;
};

interface Ran {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was said
  readonly events: any[];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was said
  readonly end: any;
}

const sync = async (
  rest: readonly string[],
  {
    key = ADMIN_KEY,
    environment = {},
    url = gateway.url,
  }: { key?: string; environment?: Record<string, string>; url?: string } = {},
): Promise<Ran> => {
  const ran = await runGateway({
    command: commands.program,
    arguments: ['sync', ...rest, '--url', url, '--json'],
    environment: { GATEWAY_API_KEY: key, TRUSTED_CUSTOM_HOSTS: '127.0.0.1', ...environment },
  });
  const events = ran.output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return { ...ran, events, end: events.find(({ event }) => event === 'end') };
};

const newStore = async (name = ''): Promise<string> => (await gateway.api.post('/v1/vector_stores', { name })).json.id;

interface Known {
  readonly id: string;
  readonly status: string;
  readonly attributes: Record<string, unknown>;
  readonly origin?: { source: string; path: string; digest: string };
}
const filesIn = async (store: string): Promise<Known[]> =>
  (await gateway.api.get(`/v1/vector_stores/${store}/files?limit=100&order=asc`)).json.data;
const textOf = async (store: string, file: string): Promise<string> => {
  const { json } = await gateway.api.get(`/v1/vector_stores/${store}/files/${file}/content`);
  return json.data.map(({ text }: { text: string }) => text).join('');
};
/** Path and text of everything in the store; what is there twice shows twice. */
const holds = async (store: string): Promise<string[]> => {
  const files = await filesIn(store);
  const lines = files.map(
    async ({ id, status, origin }) =>
      `${origin?.path ?? 'other'}: ${status === 'completed' ? await textOf(store, id) : status}`,
  );
  return (await Promise.all(lines)).sort();
};
const allFiles = async (): Promise<string[]> =>
  (await gateway.api.get('/v1/files?limit=10000')).json.data.map(({ id }: { id: string }) => id);

describe('a folder', () => {
  test('is brought, and then only what is new, changed or gone', async () => {
    const folder = folderWith({ 'a.md': 'alpha', 'guides/b.txt': 'beta', 'guides/c.txt': 'gamma' });
    const store = await newStore();
    const first = await sync(['folder', folder, '--store', store]);
    expect(first.errors).toBe('');
    expect(first.exitCode).toBe(0);
    expect(first.end).toMatchObject({ added: 3, changed: 0, removed: 0, unchanged: 0, failed: 0, bytes: 14 });
    expect(await holds(store)).toEqual(['a.md: alpha', 'guides/b.txt: beta', 'guides/c.txt: gamma']);

    const again = await sync(['folder', folder, '--store', store]);
    expect(again.end).toMatchObject({ added: 0, changed: 0, removed: 0, unchanged: 3, bytes: 0 });

    const before = new Map((await filesIn(store)).map(({ id, origin }) => [origin!.path, id]));
    put(folder, 'a.md', 'alpha, but better');
    put(folder, 'd.md', 'delta');
    unlinkSync(join(folder, 'guides/c.txt'));
    const third = await sync(['folder', folder, '--store', store]);
    expect(third.end).toMatchObject({ added: 1, changed: 1, removed: 1, unchanged: 1, failed: 0 });
    expect(await holds(store)).toEqual(['a.md: alpha, but better', 'd.md: delta', 'guides/b.txt: beta']);
    // What is replaced or removed is deleted, and what stays was not touched.
    const left = await allFiles();
    expect(left).not.toContain(before.get('a.md'));
    expect(left).not.toContain(before.get('guides/c.txt'));
    expect((await filesIn(store)).map(({ id }) => id)).toContain(before.get('guides/b.txt')!);
    const { json } = await gateway.api.get(`/v1/vector_stores/${store}/sync`);
    expect(json).toMatchObject({ object: 'vector_store.sync', source: 'folder:handbook', status: 'completed' });
    expect(json.progress).toMatchObject({ total: 3, done: 3, uploaded: 2, removed: 1, failed: 0 });
  }, 120_000);

  test('is known on another machine, and files of others stay', async () => {
    const store = await newStore();
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File(['by hand'], 'hand.txt'));
    const { id } = (await gateway.api.post('/v1/files', form)).json;
    await gateway.api.post(`/v1/vector_stores/${store}/files`, { file_id: id });
    await sync(['folder', folderWith({ 'a.md': 'alpha', 'b.md': 'beta' }), '--store', store]);
    const elsewhere = await sync(['folder', folderWith({ 'a.md': 'alpha' }), '--store', store]);
    expect(elsewhere.end).toMatchObject({ added: 0, removed: 1, unchanged: 1 });
    const other = await sync(['folder', folderWith({ 'z.md': 'omega' }, 'notes'), '--store', store]);
    expect(other.end).toMatchObject({ added: 1, removed: 0, unchanged: 0 });
    expect(other.errors).toContain('it has files of folder:handbook, which stay');
    await eventually(
      'all is taken in',
      async () => (await holds(store)).length === 3 && !(await holds(store)).join().includes('in_progress'),
    );
    expect(await holds(store)).toEqual(['a.md: alpha', 'other: by hand', 'z.md: omega']);
  }, 120_000);

  test('a changed file is found as it was until it is taken in as it is', async () => {
    const store = await newStore();
    const folder = folderWith({ 'a.md': 'the old words' });
    await sync(['folder', folder, '--store', store]);
    put(folder, 'a.md', `the new words ${'and more of them '.repeat(20_000)}`);
    let isOver = false;
    const looks: number[] = [];
    const looking = (async () => {
      while (!isOver) looks.push((await filesIn(store)).filter(({ status }) => status === 'completed').length);
    })();
    const ran = await sync(['folder', folder, '--store', store]);
    isOver = true;
    await looking;
    expect(ran.end).toMatchObject({ changed: 1 });
    expect(looks.length).toBeGreaterThan(3);
    expect(Math.min(...looks)).toBe(1);
    expect(Math.max(...looks)).toBe(1);
    const { json } = await gateway.api.post(`/v1/vector_stores/${store}/search`, { query: 'words' });
    expect(json.data[0].content[0].text).toStartWith('the new words');
  }, 120_000);

  test('of a broken new version the old one stays', async () => {
    const store = await newStore();
    const folder = folderWith({ 'a.pdf': 'readable as text, whatever it is called', 'b.md': 'beta' });
    expect((await sync(['folder', folder, '--store', store])).exitCode).toBe(3);
    put(folder, 'b.md', new Uint8Array([0, 1, 2, 255, 254, 0, 3, 0]));
    const ran = await sync(['folder', folder, '--store', store]);
    expect(ran.exitCode).toBe(3);
    expect(
      ran.events
        .filter(({ event }) => event === 'unreadable')
        .map(({ path }) => path)
        .sort(),
    ).toEqual(['a.pdf', 'b.md']);
    expect(await holds(store)).toEqual(['a.pdf: failed', 'b.md: beta', 'b.md: failed']);
    put(folder, 'b.md', 'beta');
    const back = await sync(['folder', folder, '--store', store, '--exclude', '*.pdf']);
    expect(back.exitCode).toBe(0);
    expect(await holds(store)).toEqual(['b.md: beta']);
  }, 120_000);

  test('a format that is not read is named, counted, not sent again, and ends with 3', async () => {
    const store = await newStore();
    const folder = folderWith({ 'a.md': 'alpha', 'film.mp4': new Uint8Array(2_000).map((_, index) => index % 251) });
    const first = await sync(['folder', folder, '--store', store]);
    expect(first.exitCode).toBe(3);
    expect(first.end).toMatchObject({ added: 1, unreadable: 1, failed: 0 });
    expect(first.events.find(({ event }) => event === 'unreadable')).toMatchObject({ path: 'film.mp4' });
    const again = await sync(['folder', folder, '--store', store]);
    expect(again.exitCode).toBe(3);
    expect(again.end).toMatchObject({ unreadable: 1, bytes: 0 });
    const retried = await sync(['folder', folder, '--store', store, '--retry']);
    expect(retried.exitCode).toBe(3);
    expect(retried.end.bytes).toBe(2_000);
    expect(await filesIn(store)).toHaveLength(2);
  }, 120_000);

  test('that is empty does not empty the store unless that is said', async () => {
    const store = await newStore();
    const folder = folderWith({ 'a.md': 'alpha' });
    await sync(['folder', folder, '--store', store]);
    const refused = await sync(['folder', folder, '--store', store, '--include', '*.nothing']);
    expect(refused.exitCode).toBe(1);
    expect(refused.errors).toContain('--allow-empty');
    expect(await holds(store)).toEqual(['a.md: alpha']);
    const meant = await sync(['folder', folder, '--store', store, '--include', '*.nothing', '--allow-empty']);
    expect(meant.end).toMatchObject({ removed: 1 });
    expect(await filesIn(store)).toEqual([]);
  }, 120_000);

  test('is only looked at with --dry-run', async () => {
    const store = await newStore();
    const ran = await sync(['folder', folderWith({ 'a.md': 'alpha' }), '--store', store, '--dry-run']);
    expect(ran.exitCode).toBe(0);
    expect(ran.events).toContainEqual({ event: 'planned', action: 'add', path: 'a.md' });
    expect(await filesIn(store)).toEqual([]);
    expect((await gateway.api.get(`/v1/vector_stores/${store}/sync`)).status).toBe(404);
  }, 120_000);

  test('patterns, .gitignore, hidden files and links say what belongs to it', async () => {
    const folder = folderWith({
      'a.md': 'alpha',
      'drafts/b.md': 'draft',
      'drafts/keep.md': 'kept',
      'build/out.md': 'made',
      'deep/node_modules/x/readme.md': 'package',
      '.env': 'TOKEN=hunter2',
      '.gitignore': '/build/\nnode_modules/\ndrafts/*\n!drafts/keep.md\n',
      'empty.md': '',
      'c.log': 'log',
    });
    const outside = join(newHome(), 'secret.md');
    writeFileSync(outside, 'outside');
    symlinkSync(outside, join(folder, 'out.md'));
    symlinkSync(join(folder, 'a.md'), join(folder, 'in.md'));
    symlinkSync(dirname(outside), join(folder, 'away'));
    const store = await newStore();
    const ran = await sync(['folder', folder, '--store', store, '--exclude', '*.log']);
    expect(ran.exitCode).toBe(0);
    expect((await filesIn(store)).map(({ origin }) => origin!.path).sort()).toEqual([
      'a.md',
      'drafts/keep.md',
      'in.md',
    ]);
    const leftOut = ran.events.filter(({ event }) => event === 'left_out').map(({ path, why }) => `${path} ${why}`);
    expect(leftOut.sort()).toEqual([
      'away is a link out of the folder',
      'empty.md is empty',
      'out.md is a link out of the folder',
    ]);
    const all = await sync([
      'folder',
      folder,
      '--store',
      store,
      '--no-gitignore',
      '--include',
      'drafts/**',
      '--dry-run',
    ]);
    expect(all.events).toContainEqual({ event: 'planned', action: 'add', path: 'drafts/b.md' });
  }, 120_000);

  test('attributes come from path, command and front matter; what does not fit is named', async () => {
    const many = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`key${index}`, index]));
    const matter = (lines: object) =>
      `---\n${Object.entries(lines)
        .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
        .join('\n')}\n---\ntext`;
    const folder = folderWith({
      'search/api/a.md': matter({
        title: 'Setup',
        draft: false,
        order: 3,
        tags: ['one', 'two'],
        team: 'another',
        owner: { name: 'x' },
      }),
      'many.md': matter(many),
      'long.md': matter({ summary: 'x'.repeat(513), ['k'.repeat(65)]: 1 }),
      'bad.md': '---\na: [1\n---\ntext',
      'bomb.md': `---\na: &a [1,1,1,1,1,1,1,1,1]\nb: [*a,*a,*a,*a,*a]\n---\ntext`,
      'rule.md': '---\n\nonly a line above\n',
    });
    const store = await newStore();
    const ran = await sync(['folder', folder, '--store', store, '--folders', 'team/product', '--attribute', 'lang=en']);
    expect(ran.exitCode).toBe(0);
    const known = new Map((await filesIn(store)).map(({ origin, attributes }) => [origin!.path, attributes]));
    expect(known.get('search/api/a.md')).toEqual({
      ...{ source: 'folder:handbook', path: 'search/api/a.md', folder: 'search/api' },
      ...{ lang: 'en', team: 'search', product: 'api', title: 'Setup', draft: false, order: 3, tags: 'one, two' },
    });
    expect(Object.keys(known.get('many.md')!)).toHaveLength(16);
    const warnings = ran.events
      .filter(({ event }) => event === 'warning')
      .map(({ path, message }) => `${path}: ${message}`);
    for (const part of [
      "search/api/a.md: front matter 'team' is not an attribute: the sync gives",
      "search/api/a.md: front matter 'owner' is not",
      "many.md: front matter 'key12' is not an attribute: a file has at most 16",
      "many.md: front matter 'key13'",
      "long.md: front matter 'summary' is not an attribute: a text has at most 512",
      "long.md: front matter 'kkk",
      'bad.md: its front matter is not YAML',
      'bomb.md: its front matter is not YAML',
    ])
      expect(warnings.some((warning) => warning.startsWith(part))).toBe(true);
    expect(warnings).toHaveLength(8);
    // Others than before: they are changed, and nothing is read again.
    const changed = await sync(['folder', folder, '--store', store, '--attribute', 'lang=de']);
    expect(changed.end).toMatchObject({ attributes: 6, changed: 0, bytes: 0 });
    const { attributes } = (await filesIn(store)).find(({ origin }) => origin!.path === 'search/api/a.md')!;
    expect(attributes).toMatchObject({ lang: 'de', team: 'another' });
  }, 120_000);

  test('nothing is removed while anything fails: what is gone may be what failed, under another name', async () => {
    const store = await newStore();
    const folder = folderWith({ 'old.md': 'the text', 'b.md': 'beta' });
    await sync(['folder', folder, '--store', store]);
    renameSync(join(folder, 'old.md'), join(folder, 'new.md'));
    const front = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        if (request.method === 'POST' && pathname.endsWith('/files'))
          return Response.json({ error: { message: 'no room left', code: 'file_too_large' } }, { status: 413 });
        const body = await request.bytes();
        const answer = await fetch(gateway.url + pathname + search, {
          ...{ method: request.method, headers: request.headers },
          ...(body.byteLength > 0 && { body }),
        });
        return new Response(await answer.bytes(), { status: answer.status });
      },
    });
    const failed = await sync(['folder', folder, '--store', store], { url: `http://127.0.0.1:${front.port}` });
    front.stop(true);
    expect(failed.exitCode).toBe(1);
    expect(failed.events).toContainEqual({ event: 'failed', path: 'new.md', message: 'no room left' });
    expect(failed.end).toMatchObject({ failed: 1, removed: 0, removals_put_off: 1 });
    expect(await holds(store)).toEqual(['b.md: beta', 'old.md: the text']);
    expect((await sync(['folder', folder, '--store', store])).end).toMatchObject({ added: 1, removed: 1 });
    expect(await holds(store)).toEqual(['b.md: beta', 'new.md: the text']);
  }, 120_000);

  test('a store is found by its name, made when asked, and never guessed', async () => {
    const folder = folderWith({ 'a.md': 'alpha' });
    const missing = await sync(['folder', folder, '--store', 'Sync by name']);
    expect(missing.exitCode).toBe(1);
    expect(missing.errors).toContain('There is no vector store named "Sync by name"; --create makes one.');
    expect((await sync(['folder', folder, '--store', 'Sync by name', '--create'])).end).toMatchObject({ added: 1 });
    expect((await sync(['folder', folder, '--store', 'Sync by name', '--create'])).end).toMatchObject({ unchanged: 1 });
    await newStore('Sync by name');
    const two = await sync(['folder', folder, '--store', 'Sync by name']);
    expect(two.errors).toContain('2 vector stores are named "Sync by name": give one of vs_');
  }, 120_000);
});

describe('one sync at a time', () => {
  const begin = (store: string, body: object = {}) =>
    gateway.api.post(`/v1/vector_stores/${store}/sync`, { source: 'folder:handbook', holder: 'anna@laptop', ...body });

  test('the second is told who is at it, and may be told to take over', async () => {
    const store = await newStore();
    const folder = folderWith({ 'a.md': 'alpha' });
    const { id } = (await begin(store)).json;
    const ran = await sync(['folder', folder, '--store', store]);
    expect(ran.exitCode).toBe(4);
    expect(ran.errors).toContain("anna@laptop is syncing 'folder:handbook' into this vector store since");
    expect(await filesIn(store)).toEqual([]);
    expect((await sync(['folder', folder, '--store', store, '--take-over'])).end).toMatchObject({ added: 1 });
    // The first one has lost it, and can neither bring nor remove anything.
    const [file] = await filesIn(store);
    const lost = await gateway.api.delete(`/v1/vector_stores/${store}/sync/${id}/files/${file!.id}`);
    expect(lost.status).toBe(409);
    expect(lost.json.error.code).toBe('vector_store_sync_lost');
    const form = new FormData();
    for (const [name, value] of Object.entries({ path: 'z.md', digest: 'etag:1' })) form.set(name, value);
    form.set('file', new File(['z'], 'z'));
    expect((await gateway.api.post(`/v1/vector_stores/${store}/sync/${id}/files`, form)).status).toBe(409);
    expect(await holds(store)).toEqual(['a.md: alpha']);
  }, 120_000);

  test('one that was stopped by a signal gives the store back', async () => {
    const store = await newStore();
    const folder = folderWith(
      Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`${index}.md`, `text ${index}`])),
    );
    const home = newDataDir();
    const child = Bun.spawn([...commands.program, 'sync', 'folder', folder, '--store', store, '--url', gateway.url], {
      env: { PATH: process.env.PATH, HOME: home, GATEWAY_DATA_DIR: join(home, 'data'), GATEWAY_API_KEY: ADMIN_KEY },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    await eventually('it has begun', async () => (await filesIn(store)).length > 0);
    child.kill('SIGTERM');
    expect(await child.exited).toBe(130);
    expect((await gateway.api.get(`/v1/vector_stores/${store}/sync`)).json.status).toBe('failed');
    expect((await sync(['folder', folder, '--store', store])).exitCode).toBe(0);
    expect(await filesIn(store)).toHaveLength(80);
    removeDataDir(home);
  }, 240_000);

  test('bad words are refused by name', async () => {
    const store = await newStore();
    expect((await begin(store, { holder: 'two\nlines' })).json.error.param).toBe('holder');
    const { id } = (await begin(store)).json;
    const send = async (fields: Record<string, string>, content: string | null = 'text') => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      if (content !== null) form.set('file', new File([content], 'file'));
      const { status, json } = await gateway.api.post(`/v1/vector_stores/${store}/sync/${id}/files`, form);
      return `${status} ${json.error?.param ?? json.error?.message}`;
    };
    const right = { path: 'a.md', digest: 'etag:1' };
    expect(await send({ ...right, path: '../a.md' })).toBe('400 path');
    expect(await send({ ...right, path: '/a.md' })).toBe('400 path');
    expect(await send({ ...right, digest: 'sha256:12' })).toBe('400 digest');
    expect(await send({ ...right, digest: `sha256:${'0'.repeat(64)}` })).toBe('400 digest');
    expect(await send({ ...right, attributes: '{' })).toBe('400 attributes');
    expect(await send({ ...right, attributes: '{"a":{}}' })).toStartWith('400 attributes');
    expect(await send(right, null)).toBe('400 file');
    expect(await send({ path: 'a.md' })).toBe('400 digest');
    expect(await filesIn(store)).toEqual([]);
    const other = await gateway.api.post(`/v1/vector_stores/${store}/sync/vssync_none`, { progress: {} });
    expect(other.status).toBe(400);
  }, 120_000);
});

describe('a killed sync', () => {
  /** Between the command and the gateway: kills the command when a request has had its effect and before it is answered. */
  const killingProxy = (at: number, kill: () => void) => {
    let count = 0;
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: async (request) => {
        const isHere = ++count === at;
        const { pathname, search } = new URL(request.url);
        const body = await request.bytes();
        const answer = await fetch(gateway.url + pathname + search, {
          ...{ method: request.method, headers: request.headers },
          ...(body.byteLength > 0 && { body }),
        });
        const bytes = await answer.bytes();
        if (isHere) kill();
        return new Response(bytes as Uint8Array<ArrayBuffer>, {
          status: answer.status,
          headers: { 'content-type': 'application/json' },
        });
      },
    });
    return { url: `http://127.0.0.1:${server.port}`, seen: () => count, stop: () => server.stop(true) };
  };

  test('leaves nothing double and nothing lost, at whatever request it was killed', async () => {
    const store = await newStore();
    const folder = folderWith({});
    const key: string = (
      await gateway.api.post('/v1/api-keys', {
        name: 'sync kills',
        scopes: ['assistants.read', 'assistants.write', 'files.write'],
      })
    ).json.key;
    const known = new Set(await allFiles());
    let kills = 0;
    for (let at = 1, isOver = false; !isOver; at++) {
      const wanted = { 'same.md': 'same', 'changed.md': `version ${at}`, [`new-${at}.md`]: 'new' };
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
      for (const [path, text] of Object.entries(wanted)) put(folder, path, text);
      const home = newDataDir();
      let child: Bun.Subprocess | null = null;
      const proxy = killingProxy(at, () => void child?.kill('SIGKILL'));
      child = Bun.spawn([...commands.program, 'sync', 'folder', folder, '--store', store, '--url', proxy.url], {
        env: { PATH: process.env.PATH, HOME: home, GATEWAY_DATA_DIR: join(home, 'data'), GATEWAY_API_KEY: key },
        stdout: 'ignore',
        stderr: 'ignore',
      });
      await child.exited;
      isOver = proxy.seen() < at;
      if (!isOver) kills++;
      proxy.stop();
      removeDataDir(home);
      const ran = await sync(['folder', folder, '--store', store], { key });
      expect(ran.errors).toBe('');
      expect(ran.exitCode).toBe(0);
      expect(await holds(store)).toEqual(
        Object.entries(wanted)
          .map(([path, text]) => `${path}: ${text}`)
          .sort(),
      );
      const files = (await allFiles()).filter((id) => !known.has(id));
      expect(files.sort()).toEqual((await filesIn(store)).map(({ id }) => id).sort());
    }
    expect(kills).toBeGreaterThan(10);
  }, 600_000);
});

describe('a killed gateway', () => {
  test('is waited for, and nothing is double or lost', async () => {
    const dataDir = newDataDir();
    let own = await startProcess({ dataDir });
    const front = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const body = await request.bytes();
        try {
          const answer = await fetch(own.url + pathname + search, {
            ...{ method: request.method, headers: request.headers },
            ...(body.byteLength > 0 && { body }),
          });
          return new Response(await answer.bytes(), { status: answer.status, headers: answer.headers });
        } catch {
          return new Response('away', { status: 502 });
        }
      },
    });
    const texts = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}.md`, `text ${index}`]));
    const folder = folderWith(texts);
    const store: string = (await own.api.post('/v1/vector_stores', {})).json.id;
    const running = sync(['folder', folder, '--store', store], { url: `http://127.0.0.1:${front.port}` });
    const listed = async () => (await own.api.get(`/v1/vector_stores/${store}/files?limit=100`)).json.data;
    await eventually('some files have come', async () => (await listed()).length > 5);
    await own.kill();
    own = await startProcess({ dataDir });
    const ran = await running;
    expect(ran.exitCode).toBe(0);
    const files: Known[] = await listed();
    expect(files.map(({ origin, status }) => `${origin!.path} ${status}`).sort()).toEqual(
      Object.keys(texts)
        .map((path) => `${path} completed`)
        .sort(),
    );
    expect((await own.api.get('/v1/files')).json.data).toHaveLength(30);
    await own.stop();
    front.stop(true);
    removeDataDir(dataDir);
  }, 240_000);
});

describe('a bucket', () => {
  test('is listed, and only objects with another mark are fetched', async () => {
    const s3 = startS3();
    const object = (path: string, text: string) =>
      s3.objects.set(`docs/${path}`, { bytes: new TextEncoder().encode(text), at: Date.now() });
    for (const [path, text] of [
      ['a.md', '---\ntitle: A\n---\nalpha'],
      ['b/c & d.txt', 'gamma'],
      ['b/', ''],
      ['e.txt', 'epsilon'],
    ] as const)
      object(path, text);
    s3.objects.set('elsewhere/z.md', { bytes: new TextEncoder().encode('z'), at: 0 });
    const store = await newStore();
    const address = `s3://${s3.bucket}/docs?endpoint=${s3.origin}&region=${s3.region}`;
    const environment = { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey };
    const first = await sync(['s3', address, '--store', store], { environment });
    expect(first.errors).toBe('');
    expect(first.end).toMatchObject({ added: 3, failed: 0 });
    expect((await filesIn(store)).find(({ origin }) => origin!.path === 'a.md')!.attributes).toMatchObject({
      title: 'A',
    });
    s3.requests.length = 0;
    s3.objects.delete('docs/e.txt');
    object('b/c & d.txt', 'gamma, changed');
    const second = await sync(['s3', address, '--store', store], { environment });
    expect(second.end).toMatchObject({ added: 0, changed: 1, removed: 1, unchanged: 1 });
    // One page of the list, and one object.
    expect(s3.requests).toEqual(['GET', 'GET', 'GET']);
    expect((await holds(store)).map((line) => line.split('\n').at(-1))).toEqual([
      'alpha',
      'b/c & d.txt: gamma, changed',
    ]);
    const other = await sync(['s3', address, '--store', store, '--attribute', 'lang=en'], { environment });
    expect(other.exitCode).toBe(0);
    expect((await filesIn(store)).map(({ attributes }) => attributes.lang)).toEqual(['en', 'en']);
    expect((await filesIn(store)).find(({ origin }) => origin!.path === 'a.md')!.attributes).toMatchObject({
      title: 'A',
    });

    // A storage that fails is no empty one.
    s3.faults.push(...Array(12).fill(500));
    const broken = await sync(['s3', address, '--store', store, '--allow-empty'], { environment });
    expect(broken.exitCode).toBe(1);
    expect(broken.errors).toContain('The bucket cannot be used');
    expect(await filesIn(store)).toHaveLength(2);
    s3.faults.length = 0;

    const refused = await sync(['s3', address, '--store', store], {
      environment: { ...environment, TRUSTED_CUSTOM_HOSTS: '' },
    });
    expect(refused.exitCode).toBe(1);
    expect(refused.errors).not.toContain(s3.secretAccessKey);
    const keyless = await sync(['s3', address, '--store', store]);
    expect(keyless.errors).toContain('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are missing');
    s3.stop();
  }, 240_000);
});

describe('a git repository', () => {
  const git = async (folder: string, ...rest: string[]) => {
    const child = Bun.spawn(['git', '-C', folder, '-c', 'user.name=T', '-c', 'user.email=t@example.com', ...rest], {
      env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
      stdout: 'ignore',
      stderr: 'pipe',
    });
    const errors = await child.stderr.text();
    if ((await child.exited) !== 0) throw new Error(errors);
  };

  test('is read at a ref and below a path; links and pointers are named', async () => {
    const repository = folderWith({ 'docs/a.md': 'alpha', 'docs/deep/b.md': 'beta', 'src/main.ts': 'code' }, 'repo');
    await git(repository, 'init', '-q', '-b', 'main');
    symlinkSync('/etc/passwd', join(repository, 'docs/link.md'));
    await git(repository, 'add', '.');
    await git(repository, 'commit', '-q', '-m', 'one');
    await git(repository, 'tag', 'v1');
    const store = await newStore();
    const first = await sync(['git', repository, '--store', store, '--path', 'docs']);
    expect(first.errors).toBe('');
    expect(first.end).toMatchObject({ added: 2 });
    expect(first.events).toContainEqual({ event: 'left_out', path: 'link.md', why: 'is a link', is_fault: false });
    expect(await holds(store)).toEqual(['a.md: alpha', 'deep/b.md: beta']);

    put(repository, 'docs/a.md', 'alpha two');
    put(repository, 'docs/c.bin.md', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n');
    rmSync(join(repository, 'docs/deep'), { recursive: true });
    await git(repository, 'add', '-A');
    await git(repository, 'commit', '-q', '-m', 'two');
    const second = await sync([
      'git',
      `file://${repository}`,
      '--store',
      store,
      '--path',
      'docs',
      '--as',
      'git:repo#docs',
    ]);
    expect(second.exitCode).toBe(3);
    expect(second.events.find(({ event, is_fault }) => event === 'left_out' && is_fault).why).toContain('Git LFS');
    expect(second.end).toMatchObject({ changed: 1, removed: 1, unreadable: 1, failed: 0 });
    const third = await sync(['git', repository, '--store', store, '--path', 'docs', '--exclude', '*.bin.md']);
    expect(third.exitCode).toBe(0);
    expect(third.end).toMatchObject({ removed: 0, unchanged: 1 });
    expect(await holds(store)).toEqual(['a.md: alpha two']);
    const tagged = await sync(['git', repository, '--store', store, '--path', 'docs', '--ref', 'v1']);
    expect(tagged.end).toMatchObject({ added: 1, changed: 1 });
    expect(await holds(store)).toEqual(['a.md: alpha', 'deep/b.md: beta']);
  }, 240_000);

  test('addresses with credentials, options in disguise and missing places are refused', async () => {
    const store = await newStore();
    const refused = async (...rest: string[]) => {
      const { exitCode, errors } = await sync(['git', ...rest, '--store', store]);
      expect(exitCode).not.toBe(0);
      return errors;
    };
    const credential = await refused('https://anna:hunter2@example.com/repo.git');
    expect(credential).toContain('GATEWAY_SYNC_GIT_TOKEN');
    expect(credential).not.toContain('hunter2');
    expect(await refused('ext::sh -c id')).toContain('is not an address of a git repository');
    expect(await refused(root, '--ref', '--upload-pack=id')).toContain('--ref');
    expect(await refused(root, '--path', '../x')).toContain('is not a path within a repository');
    expect(await refused('/nowhere/at/all')).toContain('There is no git repository');
    expect(await refused(newHome())).toContain('git fetch failed');
  }, 120_000);

  test('the token goes to git by its environment, for that host alone, and into no output', async () => {
    const seen: (string | null)[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request) => {
        seen.push(request.headers.get('authorization'));
        return new Response('no', { status: 403 });
      },
    });
    const ran = await sync(['git', `http://127.0.0.1:${server.port}/repo.git`, '--store', await newStore()], {
      environment: { GATEWAY_SYNC_GIT_TOKEN: 'hunter2-token' },
    });
    server.stop(true);
    expect(ran.exitCode).toBe(1);
    expect(seen[0]).toBe(`Basic ${Buffer.from('x-access-token:hunter2-token').toString('base64')}`);
    expect(ran.errors + ran.output).not.toContain('hunter2');
    expect(ran.errors).not.toContain(Buffer.from('x-access-token:hunter2-token').toString('base64'));
    const inClear = await sync(['git', 'http://example.com/repo.git', '--store', 'x'], {
      environment: { GATEWAY_SYNC_GIT_TOKEN: 'hunter2-token' },
    });
    expect(inClear.errors).toContain('in clear');
  }, 120_000);
});

describe('keys', () => {
  test('one without the scope for files is told which is missing; one of another workspace finds no store', async () => {
    const store = await newStore();
    const folder = folderWith({ 'a.md': 'alpha' });
    const weak: string = (
      await gateway.api.post('/v1/api-keys', { name: 'weak sync', scopes: ['assistants.read', 'assistants.write'] })
    ).json.key;
    const ran = await sync(['folder', folder, '--store', store], { key: weak });
    expect(ran.exitCode).toBe(1);
    expect(ran.events.find(({ event }) => event === 'failed').message).toContain('files.write');
    const workspace = (
      await gateway.api.post('/v1/admin/workspaces', { name: 'Sync elsewhere', slug: 'sync-elsewhere' })
    ).json;
    const foreign: string = (
      await gateway.api.post('/v1/api-keys', { name: 'foreign sync', workspace_id: workspace.id })
    ).json.key;
    const stranger = await sync(['folder', folder, '--store', store], { key: foreign });
    expect(stranger.exitCode).toBe(1);
    expect(stranger.errors).toContain(`No vector store found with id '${store}'`);
    const clear = await sync(['folder', folder, '--store', store], { url: 'http://gateway.example.com' });
    expect(clear.errors).toContain('--plain-http');
    const unknown = await sync(['folder', folder, '--store', store], { key: 'gw-nonsense' });
    expect(unknown.errors).not.toContain('gw-nonsense');
    expect(unknown.exitCode).toBe(1);
  }, 120_000);
});
