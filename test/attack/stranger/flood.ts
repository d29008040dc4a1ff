import { Database } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestGateway } from '../../gateway.ts';
import { query } from '../../state-tables.ts';

type Place = Pick<TestGateway, 'dataDir' | 'databaseUrl'>;

/** What somebody without a key may send: every door, with as much as fits through it. */

const text = (characters: number) => randomBytes(characters).toString('base64url').slice(0, characters);
const token = () =>
  [
    { alg: 'RS256', kid: text(8) },
    { iss: 'https://nobody.example', sub: text(400) },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .concat(text(342))
    .join('.');

const DOORS: (() => { method: string; path: string; key?: string; body?: string })[] = [
  () => ({
    method: 'POST',
    path: `/v1/chat/completions?q=${text(3_000)}`,
    body: JSON.stringify({ model: 'm', messages: text(20_000) }),
  }),
  () => ({ method: 'POST', path: '/v1/api-keys', body: JSON.stringify({ name: text(20_000) }) }),
  () => ({ method: 'PUT', path: `/v1/virtual-keys/${text(3_000)}`, body: '{}' }),
  () => ({ method: 'DELETE', path: `/v1/admin/workspaces/${text(3_000)}` }),
  () => ({ method: 'POST', path: `/v1/api-keys/${text(3_000)}/no/such/path` }),
  () => ({ method: 'GET', path: `/v1/logs?after=${text(3_000)}` }),
  () => ({ method: 'POST', path: '/v1/chat/completions', key: token(), body: '{}' }),
  () => ({ method: 'POST', path: `/v1/mcp/${text(3_000)}`, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }),
  () => ({ method: 'POST', path: `/mcp/${text(20)}`, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }),
  () => ({
    method: 'POST',
    path: '/v1/sessions',
    body: JSON.stringify({ email: `${text(8)}@nobody.example`, password: text(40) }),
  }),
];

/** Sends so many requests, a few at a time, and answers how often each status came. */
export async function flood(url: string, requests: number): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  let next = 0;
  const one = async () => {
    while (next < requests) {
      const { method, path, key, body } = DOORS[next++ % DOORS.length]!();
      const headers = {
        'x-gateway-api-key': key ?? `gw-${text(40)}`,
        'content-type': 'application/json',
        'user-agent': text(3_000),
        'x-whatever': text(3_000),
        'x-gateway-trace-id': text(256),
      };
      const response = await fetch(url + path, { method, headers, body, redirect: 'manual' });
      await response.arrayBuffer();
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
  return statuses;
}

/** How many minutes of the clock have been touched since: each has records of its own. */
export const minutesSince = (began: number): number => minuteOf(Date.now()) - minuteOf(began) + 1;
const minuteOf = (moment: number) => Math.floor(moment / 60_000);

const foldersSize = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).reduce((total, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return total + foldersSize(path);
    // A database is counted by its pages: the file beside it is used again and again.
    return /\.db(-\w+)?$/.test(entry.name) ? total : total + statSync(path).size;
  }, 0);

function pagesOf(file: string): number {
  const database = new Database(file);
  const [one] = database.query('select page_count * page_size as bytes from pragma_page_count, pragma_page_size').all();
  database.close();
  return (one as { bytes: number }).bytes;
}

/** What an installation has stored. */
export async function storedBytes({ dataDir, databaseUrl }: Place): Promise<number> {
  const files = foldersSize(dataDir);
  if (!databaseUrl) return files + pagesOf(join(dataDir, 'state.db')) + pagesOf(join(dataDir, 'logs.db'));
  const size = 'select pg_database_size(current_database()) as bytes';
  const [row] = await query<{ bytes: string }>({ dataDir, databaseUrl }, size);
  return files + Number(row!.bytes);
}
