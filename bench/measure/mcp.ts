import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { create, type GatewayProcess, json, spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import type { BurstJob, BurstResult } from '../load/job.ts';
import { percentile, short } from '../numbers.ts';

export interface McpSample {
  /** Milliseconds of a call of a tool: straight to the server, and through the gateway with its identity signed before. */
  readonly directP50: number;
  readonly relayedP50: number;
  /** Milliseconds of another call, in quiet and while users that the gateway has not seen before all call at once. */
  readonly quietMost: number;
  readonly burstMost: number;
  /** Milliseconds until the last of those users has an answer; and all of it again, now that they are known. */
  readonly burstTook: number;
  readonly knownMost: number;
  readonly knownTook: number;
  /** Milliseconds of a call of a tool: of one server, and of the same at the address of all. */
  readonly singleP50: number;
  readonly commonP50: number;
  /** Milliseconds of the list of all tools, when the gateway has asked for it before. */
  readonly listP50: number;
}

/** Servers behind the address of all, with 25 tools each. */
export const SERVERS = 20;
export const TOOLS = SERVERS * 25;
const LISTS = 50;

export const USERS = 100;
const CALLS = 400;
const ASK_EVERY_MS = 5;
const QUIET_MS = 1_000;
/** As a client that speaks 2026-07-28 sends it. */
const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'forecast', arguments: { city: 'Zürich', days: 3, units: 'metric' } },
});
const PROTOCOL = {
  ...json,
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'forecast',
};

/** What relaying a call of a tool takes, and what it takes of others when many identities have to be signed. */
export async function measureMcp(lab: Lab): Promise<McpSample[]> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const gateway = await spawnGateway(lab, { core: lab.cores.proxy, environment: { JWT_PRIVATE_KEY: pem } });
  const url = `${lab.upstream.url}/mcp`;
  const configurations = { user_identity_forwarding: { method: 'jwt_header' } };
  await create(gateway.origin, '/v1/mcp-servers', { name: 'signed', slug: 'signed', url, configurations });
  await create(gateway.origin, '/v1/mcp-servers', { name: 'plain', slug: 'plain', url });
  const [warm, other] = await keys(gateway, 2);
  const direct = () => timed(url, '');
  const relayed = () => timed(`${gateway.origin}/signed/mcp`, warm!);
  const another = () => timed(`${gateway.origin}/plain/mcp`, other!);
  await inTurns(CALLS, [direct, relayed, another]);
  const offering = await offer(gateway, `${lab.upstream.url}/offering`);
  await inTurns(CALLS, [offering.single, offering.common]);
  await inTurns(LISTS, [offering.list]);
  const samples: McpSample[] = [];
  for (let round = 0; round < lab.lengths.rounds; round++) {
    const [alone, through] = await inTurns(CALLS, [direct, relayed]);
    const [single, common] = await inTurns(CALLS, [offering.single, offering.common]);
    const [lists] = await inTurns(LISTS, [offering.list]);
    const strangers = await keys(gateway, USERS);
    const sample: McpSample = {
      directP50: percentile(alone!, 0.5),
      relayedP50: percentile(through!, 0.5),
      quietMost: Math.max(...(await asking(another, () => Bun.sleep(QUIET_MS)))),
      singleP50: percentile(single!, 0.5),
      commonP50: percentile(common!, 0.5),
      listP50: percentile(lists!, 0.5),
      ...(await burst(lab, `${gateway.origin}/signed/mcp`, strangers, another)),
    };
    samples.push(sample);
    lab.say(
      `mcp round ${round + 1}/${lab.lengths.rounds}: direct ${short(sample.directP50)} ms, relayed ` +
        `${short(sample.relayedP50)} ms; ${USERS} new users took ${short(sample.burstTook)} ms, other calls at most ` +
        `${short(sample.burstMost)} ms, in quiet ${short(sample.quietMost)} ms; at the address of all a call ` +
        `${short(sample.commonP50)} ms, of one ${short(sample.singleP50)} ms, ${TOOLS} tools ${short(sample.listP50)} ms`,
    );
  }
  await gateway.running.end();
  return samples;
}

/** Servers in a workspace of their own, and ways to use them. */
async function offer({ origin }: GatewayProcess, url: string) {
  const { id: workspace_id } = await create(origin, '/v1/admin/workspaces', { name: 'Offering' });
  const { key } = await create(origin, '/v1/api-keys', { name: 'offering', workspace_id });
  for (let number = 0; number < SERVERS; number++)
    await create(origin, '/v1/mcp-servers', { name: `Offer ${number}`, slug: `offer-${number}`, url, workspace_id });
  const ask = async (path: string, method: string, name?: string) => {
    const params = { _meta: META, ...(name !== undefined && { name, arguments: { city: 'Zürich' } }) };
    const { 'mcp-name': _, ...protocol } = PROTOCOL;
    const headers = {
      ...{ ...protocol, 'mcp-method': method, 'x-gateway-api-key': String(key) },
      ...(name !== undefined && { 'mcp-name': name }),
    };
    const began = performance.now();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(origin + path, { method: 'POST', headers, body });
    const text = await response.text();
    const ms = performance.now() - began;
    const said = text.slice(0, 300);
    if (!response.ok || !text.includes('"result"')) throw new Error(`${path} answered ${response.status}: ${said}`);
    if (method === 'tools/list' && text.split('"inputSchema"').length - 1 !== TOOLS)
      throw new Error(`the list has not ${TOOLS} tools: ${said}`);
    return ms;
  };
  return {
    single: () => ask('/offer-7/mcp', 'tools/call', 'tool_7'),
    common: () => ask('/mcp', 'tools/call', 'offer-7__tool_7'),
    list: () => ask('/mcp', 'tools/list'),
  };
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** From a process of its own: what it has to do itself must not hold up the calls that are watched. */
async function burst(
  lab: Lab,
  url: string,
  users: readonly string[],
  another: () => Promise<number>,
): Promise<Pick<McpSample, 'burstMost' | 'burstTook' | 'knownMost' | 'knownTook'>> {
  const callers = users.map((key) => ({ ...PROTOCOL, 'x-gateway-api-key': key }));
  const job: BurstJob = { url, body: CALL, callers, pauseMs: 200 };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/burst.ts'), job, lab.cores.load);
  const next = () => generator.next<BurstResult>(60_000);
  const once = async () => {
    await next();
    let took = 0;
    const watched = await asking(another, async () => {
      took = (await next()).ms;
    });
    return { most: Math.max(...watched), took };
  };
  const [cold, known] = [await once(), await once()];
  await generator.close();
  return { burstMost: cold.most, burstTook: cold.took, knownMost: known.most, knownTook: known.took };
}

/** Each key is an identity of its own. */
async function keys({ origin }: GatewayProcess, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let number = 0; number < count; number++) {
    const { key } = await create(origin, '/v1/api-keys', { name: `user ${number}` });
    made.push(String(key));
  }
  return made;
}

async function timed(url: string, key: string): Promise<number> {
  const began = performance.now();
  const response = await fetch(url, { method: 'POST', headers: { ...PROTOCOL, 'x-gateway-api-key': key }, body: CALL });
  const text = await response.text();
  const ms = performance.now() - began;
  if (!response.ok || !text.includes('"result"')) throw new Error(`${url} answered ${response.status}: ${text}`);
  return ms;
}

/** One call at a time, so that whatever slows the machine slows all ways. */
async function inTurns(count: number, ways: readonly (() => Promise<number>)[]): Promise<number[][]> {
  const took = ways.map((): number[] => []);
  for (let number = 0; number < count; number++)
    for (const [index, way] of ways.entries()) took[index]!.push(await way());
  return took;
}

/** Asks at fixed times while the work goes on, whether or not the last answer is there, and once more after it. */
async function asking(ask: () => Promise<number>, work: () => Promise<unknown>): Promise<number[]> {
  const asked: Promise<number>[] = [ask()];
  const timer = setInterval(() => asked.push(ask()), ASK_EVERY_MS);
  await work();
  clearInterval(timer);
  asked.push(ask());
  return Promise.all(asked);
}
