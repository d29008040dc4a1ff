import { join } from 'node:path';
import { tryAddress } from '../../src/http/server.ts';
import type { TestGateway } from '../gateway.ts';
import { givenUser, PASSWORD } from '../people.ts';
import { root } from '../process.ts';
import { Person } from './oauth.ts';

const SUITE = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

export interface AuthorizationScore {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly output: string;
}

/**
 * The suite's scenarios for authorization servers, against ours. It waits for a person who consents: this code does.
 */
export async function runAuthorization(gateway: TestGateway, server: string): Promise<AuthorizationScore> {
  const port = await tryAddress('127.0.0.1', 0);
  const redirect = 'http://127.0.0.1/callback';
  const registered = await gateway.api.post('/oauth/register', { redirect_uris: [redirect] }, { key: null });
  if (registered.status !== 201) throw new Error(`The suite could not be registered: ${registered.text}`);
  const user = await givenUser(gateway, { password: PASSWORD });
  const options = ['--url', gateway.url, '--client-id', registered.json.client_id];
  const place = ['--resource', `${gateway.url}/${server}/mcp`, '-p', String(port)];
  const child = Bun.spawn([process.execPath, SUITE, 'authorization', ...options, ...place], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH, NO_COLOR: '1' },
  });
  let output = '';
  let isVisited = false;
  const decoder = new TextDecoder();
  for await (const piece of child.stdout as unknown as AsyncIterable<Uint8Array>) {
    output += decoder.decode(piece, { stream: true });
    const address = /^(http\S+\/oauth\/authorize\S+)\s/m.exec(output)?.[1];
    if (address === undefined || isVisited || !output.includes('Callback server started')) continue;
    isVisited = true;
    await visit(new Person(gateway.url, user.email), address);
  }
  output += await child.stderr.text();
  await child.exited;
  return { ...scoreOf(output), output };
}

async function visit(person: Person, address: string) {
  const page = await person.authorize(new URL(address).search);
  const { location } = await person.submit(page, { decision: 'allow' });
  await fetch(location!);
}

function scoreOf(output: string) {
  const [, summary = ''] = output.split('=== SUMMARY ===');
  const marks = [...summary.matchAll(/^([✓✗]) (\S+): /gm)];
  const names = (mark: string) => marks.filter((each) => each[1] === mark).map((each) => each[2]!);
  return { passed: names('✓'), failed: names('✗') };
}
