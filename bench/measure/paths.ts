import { adminHeaders, CHAT, create, createVirtualKey, spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { short } from '../numbers.ts';
import { cpuMsOf } from '../proc.ts';
import { chatRequest, streamRequest } from '../prompt.ts';
import { readStreams, STREAMS_AT_ONCE } from './chunks.ts';
import {
  type Cost,
  costAtSaturation,
  costsInTurns,
  describeCost,
  type RoundCost,
  type Subject,
  untilCalm,
} from './cost.ts';

export const pathNames = [
  'identity',
  'large',
  'translated',
  'cached',
  'fallback',
  'guarded',
  'tls',
  'streamed',
  'unaskedStream',
  'translatedStream',
] as const;
export type PathName = (typeof pathNames)[number];

export const pathLabels: Readonly<Record<PathName, string>> = {
  identity: 'identity (chat to OpenAI)',
  large: 'identity, a body of 60 KB',
  translated: 'translated (chat to Anthropic)',
  cached: 'cache hit',
  fallback: 'fallback after a 503',
  guarded: 'identity, with a guardrail of three checks',
  tls: 'identity, upstream over TLS',
  streamed: 'identity, streamed',
  unaskedStream: 'identity, streamed, usage not asked for',
  translatedStream: 'translated, streamed',
};

export interface PathSample extends RoundCost {
  readonly path: PathName;
}

export interface Arm extends Subject {
  readonly path: PathName;
  /** What shows in an answer that the call went this way. */
  readonly isThisWay: (headers: Headers, text: string) => boolean;
}

/** Chunks of each measured stream, 8 ms apart. */
export const STREAM_CHUNKS = 50;
/** None of them fires; each has to read the whole prompt to know. */
const CHECKS = [
  { id: 'default.regexMatch', parameters: { rule: 'BEGIN (RSA|EC) PRIVATE KEY', not: true } },
  { id: 'default.contains', parameters: { words: ['confidential', 'forbidden'], operator: 'none' } },
  { id: 'default.wordCount', parameters: { minWords: 1, maxWords: 100_000 } },
];
const CLAUDE = { model: 'claude-sonnet-4-5' };
/** The gateway asks for the usage itself, and takes it out of the stream again. */
const UNASKED = { stream_options: undefined };

export async function measurePaths(lab: Lab): Promise<PathSample[]> {
  // Trust in the upstream's certificate can only be given when the process starts.
  const environment = { NODE_EXTRA_CA_CERTS: lab.upstream.certificate };
  const { origin, running } = await spawnGateway(lab, { core: lab.cores.proxy, environment });
  const arms = await layPaths(lab, origin, running.pid);
  for (const [index, arm] of arms.entries()) {
    await provePath(arm);
    // The first one warms up most of the code that the others run through.
    if (isStream(arm)) await readStreams(lab, arm, arm.body, STREAMS_AT_ONCE);
    else await saturate(lab, arm, arm.body, index === 0 ? lab.lengths.warmUpMs.gateway : lab.lengths.sliceWarmUpMs);
  }
  const samples: PathSample[] = [];
  const { rounds, pathTurns } = lab.lengths;
  for (let round = 0; round < rounds; round++) {
    for (const [{ path, label }, cost] of await costsInTurns(arms, pathTurns, (arm) => costOfPath(lab, arm))) {
      samples.push({ path, ...cost });
      lab.say(`paths round ${round + 1}/${rounds}, ${label}: ${describeCost(cost)}`);
    }
  }
  await running.end();
  return samples;
}

export async function layPaths(lab: Lab, origin: string, pid: number): Promise<Arm[]> {
  const { url: plain, secureUrl } = lab.upstream;
  await createVirtualKey(origin, 'plain', `${plain}/v1`);
  await createVirtualKey(origin, 'claude', `${plain}/v1`, 'anthropic');
  await createVirtualKey(origin, 'overloaded', `${plain}/overloaded/v1`);
  await createVirtualKey(origin, 'secure', `${secureUrl}/v1`);
  const targets = [{ virtual_key: 'overloaded' }, { virtual_key: 'plain' }];
  const store = (slug: string, config: object) => create(origin, '/v1/configs', { name: slug, slug, config });
  await store('cached', { virtual_key: 'plain', cache: { mode: 'simple' } });
  await store('fallback', { strategy: { mode: 'fallback' }, targets });
  const { slug: guardrail } = await create(origin, '/v1/guardrails', { name: 'three checks', checks: CHECKS });
  await store('guarded', { virtual_key: 'plain', input_guardrails: [guardrail] });

  const arm = (path: PathName, by: Record<string, string>, body: string, isThisWay: Arm['isThisWay']): Arm => {
    const headers = { ...adminHeaders, ...by };
    return { path, label: pathLabels[path], url: `${origin}${CHAT}`, headers, body, pid, isThisWay };
  };
  const key = (slug: string) => ({ 'x-gateway-virtual-key': slug });
  const config = (slug: string) => ({ 'x-gateway-config': slug });
  const chat = chatRequest(300);
  const forbidden = await fetch(`${origin}${CHAT}`, {
    method: 'POST',
    headers: { ...adminHeaders, ...config('guarded') },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'forbidden' }] }),
  });
  // Failed, and not denied.
  if (forbidden.status !== 246) throw new Error(`the guardrail did not look: ${forbidden.status}`);
  const id = (start: string) => (_: Headers, text: string) => text.includes(`"id":"${start}`);
  const says = (name: string, value: string) => (headers: Headers) => headers.get(`x-gateway-${name}`) === value;
  return [
    arm('identity', key('plain'), chat, id('chatcmpl-bench')),
    arm('large', key('plain'), chatRequest(60_000), id('chatcmpl-bench')),
    arm('translated', key('claude'), chatRequest(300, CLAUDE), id('msg_01Bench')),
    arm('cached', config('cached'), chat, says('cache-status', 'HIT')),
    arm('fallback', config('fallback'), chat, says('last-used-option-index', 'config.targets[1]')),
    arm('guarded', config('guarded'), chat, says('last-used-option-index', 'config')),
    arm('tls', key('secure'), chat, id('chatcmpl-bench')),
    arm('streamed', key('plain'), streamRequest(STREAM_CHUNKS), id('chatcmpl-bench')),
    arm('unaskedStream', key('plain'), streamRequest(STREAM_CHUNKS, undefined, UNASKED), id('chatcmpl-bench')),
    arm('translatedStream', key('claude'), streamRequest(STREAM_CHUNKS, undefined, CLAUDE), id('msg_01Bench')),
  ];
}

const STREAMED: ReadonlySet<PathName> = new Set(['streamed', 'unaskedStream', 'translatedStream']);
const isStream = ({ path }: Arm): boolean => STREAMED.has(path);

/** Nothing is measured that does not go the way its name says, and end in a whole answer in OpenAI's format. */
export async function provePath(arm: Arm): Promise<void> {
  const { label, url, headers, body } = arm;
  const ask = () => fetch(url, { method: 'POST', headers, body });
  // The cache has to be filled first.
  await (await ask()).arrayBuffer();
  const response = await ask();
  const text = await response.text();
  const said = `${response.status} ${JSON.stringify([...response.headers])} ${text.slice(-2_000)}`;
  const tellsUsage = text.includes('"total_tokens":120');
  if (response.status !== 200 || tellsUsage === (arm.path === 'unaskedStream')) throw new Error(`${label}: ${said}`);
  if (!arm.isThisWay(response.headers, text)) throw new Error(`${label} went another way: ${said}`);
  if (!isStream(arm)) return;
  const chunks = text.split('\n\n').filter((event) => event.includes('"delta":{"content":" '));
  if (chunks.length !== STREAM_CHUNKS || !text.endsWith('data: [DONE]\n\n')) throw new Error(`${label}: ${said}`);
}

export const costOfPath = (lab: Lab, arm: Arm): Promise<Cost> =>
  isStream(arm) ? costOfStreams(lab, arm) : costAtSaturation(lab, arm, lab.lengths.sliceMs);

/** Streams keep the pace of their chunks, so they are counted, and not how many fit. */
async function costOfStreams(lab: Lab, arm: Arm): Promise<Cost> {
  await untilCalm(arm.pid);
  const before = cpuMsOf(arm.pid);
  const { finished, failed, ms } = await readStreams(lab, arm, arm.body, lab.lengths.sliceStreams);
  const during = cpuMsOf(arm.pid) - before;
  await untilCalm(arm.pid);
  if (failed > 0) lab.note(`${arm.label}: ${short(failed)} of ${short(failed + finished)} streams failed.`);
  return {
    microsecondsPerCall: ((cpuMsOf(arm.pid) - before) * 1_000) / finished,
    callsPerSecond: (finished * 1_000) / ms,
    busy: during / ms,
  };
}
