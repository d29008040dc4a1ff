import { ADMIN_KEY, startProvider } from '../../gateway.ts';
import { startSmallServer } from '../../mcp/small-server.ts';
import { eventually, forTests, startProcess } from '../../process.ts';
import { type FuzzCall, fuzzCall, type Made, operationsIn } from './calls.ts';
import { watchDelay } from './delay.ts';
import type { Known, Random } from './values.ts';

const PATIENCE_MS = 180_000;

export interface Fuzzed {
  /** What was wrong with which answer, with the seed and number that repeat the call. */
  readonly faults: readonly string[];
  /** How many answers had which status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly operations: number;
  /** Operations that no call got through to: their handlers were not reached. */
  readonly unreached: readonly string[];
  /** What the gateway wrote to its standard error: unhandled rejections show there. */
  readonly errors: string;
  readonly isWell: boolean;
  /** How late `/health` answered at the latest, seen by a process that does nothing else. */
  readonly delay: { readonly worstMs: number; readonly p99Ms: number };
}

/**
 * Sends calls made from `/openapi.json` to a gateway in a process of its own: right ones, ones with a fault in one place, and
 * ones that name things which earlier calls made.
 */
export async function fuzzDescribed({
  seed,
  cases,
  environment = {},
  progress,
}: {
  seed: number;
  cases: number;
  environment?: Record<string, string>;
  progress?: (done: number) => void;
}): Promise<Fuzzed> {
  const provider = startProvider();
  const tools = startSmallServer({ era: 'older', tools: ['x', 'y'] });
  const gateway = await startProcess({ environment: { ...forTests, ...environment } });
  const watching = watchDelay(gateway.url);
  try {
    await gateway.given.virtualKey(provider.url);
    await gateway.api.post('/v1/mcp-servers', { name: 'small', slug: 'small', url: tools.url });
    const member = (await gateway.api.post('/v1/api-keys', { name: 'member', defaults: { virtual_key: 'sim' } })).json;
    const { operations, schemas } = operationsIn((await gateway.api.get('/openapi.json')).json);
    const makers = operations.filter(({ method, path }) => method === 'POST' && /^\/v1\/.*s$/.test(path));
    const plan = {
      operations,
      makers,
      schemas,
      keys: [...Array<string>(12).fill(ADMIN_KEY), member.key, member.key, 'gw-nobody'],
    };
    const made = new MadeThings();
    made.keep('/v1/admin/organisations', (await gateway.api.get('/v1/admin/organisation')).json.id);
    made.keep('/v1/mcp-servers', 'small');

    const faults: string[] = [];
    const statuses: Record<string, number> = {};
    const unreached = new Set(operations.map(({ method, path }) => `${method} ${path}`));
    let next = 0;
    const worker = async () => {
      while (next < cases && faults.length < 20 && gateway.isAlive) {
        const number = next++;
        const call = fuzzCall(seed, number, plan, made);
        const { status, fault, id } = await send(gateway.url, call);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status.startsWith('2')) unreached.delete(call.name);
        if (id && call.method === 'POST') made.keep(call.template, id, call.path);
        if (fault) faults.push(`seed ${seed}, case ${number} (${call.name}): ${fault}`);
        if (number % 1_000 === 999) progress?.(number + 1);
      }
    };
    await Promise.all(Array.from({ length: 12 }, worker));
    const isWell = gateway.isAlive && (await answersAgain(gateway));
    return {
      faults,
      statuses,
      operations: operations.length,
      unreached: [...unreached],
      errors: gateway.errors,
      isWell,
      delay: await watching.stop(),
    };
  } finally {
    await watching.stop();
    await gateway.kill();
    tools.stop();
    provider.stop();
  }
}

/** Ids and slugs that the gateway gave away, and the addresses they are found at. */
class MadeThings implements Made {
  readonly #ids = new Map<string, string[]>();
  readonly #addresses = new Map<string, string[]>();

  /** A thing that a call to the collection has made. */
  keep(template: string, id: string, path = template) {
    const collection = template.split('/').at(-1)!.replaceAll('-', '_');
    const address = `${path.replace(/\?.*/, '')}/${encodeURIComponent(id)}`;
    remember(this.#ids, collection, id);
    remember(this.#addresses, `${nameless(template)}/{}`, address);
  }

  /** `file_id` and `file_ids` are known as `files`, `virtual_key` as `virtual-keys`, `server` as `mcp-servers`. */
  known(random: Random): Known {
    return (name) => {
      const stem = name.replace(/_ids?$/, '').replaceAll('-', '_');
      for (const [collection, ids] of this.#ids)
        if (collection === `${stem}s` || collection === stem || collection.endsWith(`_${stem}s`))
          return random.pick(ids);
      return null;
    };
  }

  instance(template: string, random: Random) {
    const segments = template.split('/');
    for (let length = segments.length; length > 0; length--) {
      const found = this.#addresses.get(nameless(segments.slice(0, length).join('/')));
      const left = segments.slice(length);
      if (found) return { path: random.pick(found), rest: left.map((segment) => `/${segment}`).join('') };
    }
    return { path: '', rest: template };
  }
}

const nameless = (template: string) => template.replace(/\{\w+\}/g, '{}');

function remember(things: Map<string, string[]>, name: string, thing: string) {
  things.set(name, [...(things.get(name) ?? []).slice(-20), thing]);
}

/** Things that the fuzzer cannot do without. */
const isSpared = ({ method, path }: FuzzCall) => method === 'DELETE' && /\/(sim|small)$/.test(path);

async function send(url: string, call: FuzzCall): Promise<{ status: string; fault: string | null; id: string | null }> {
  if (isSpared(call)) return { status: 'spared', fault: null, id: null };
  try {
    const { method, headers, body } = call;
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(url + call.path, { method, headers, body, redirect: 'manual', signal });
    const text = await textOf(response);
    const fault = faultIn(response, text);
    return { status: String(response.status), fault, id: response.status === 200 ? idIn(text) : null };
  } catch (error) {
    const { name, message } = error as Error;
    return { status: 'none', fault: `no answer: ${name} ${message}`, id: null };
  }
}

/** A stream is read as far as its first bytes: a subscription has no end. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return await response.text();
  const reader = response.body!.getReader();
  const first = await Promise.race([reader.read(), Bun.sleep(200).then(() => null)]);
  await reader.cancel().catch(() => {});
  return new TextDecoder().decode(first?.value);
}

/** Failures of a host that the gateway called are told as 502 and 504; every other 5xx is a fault of ours. */
function faultIn({ status, headers }: Response, text: string): string | null {
  if (status < 500 || headers.get('x-gateway-error-origin') === 'provider') return null;
  return status === 502 || status === 504 ? null : `${status} ${text.slice(0, 300)}`;
}

function idIn(text: string): string | null {
  try {
    const { slug, id } = JSON.parse(text) as { slug?: unknown; id?: unknown };
    return [slug, id].find((each): each is string => typeof each === 'string') ?? null;
  } catch {
    return null;
  }
}

/** Limits and guardrails that the calls have set may refuse a model call; the gateway's own routes answer all the same. */
async function answersAgain(gateway: Awaited<ReturnType<typeof startProcess>>): Promise<boolean> {
  await eventually('the gateway answers', async () => (await gateway.api.get('/ready')).status === 200);
  const replies = [
    await gateway.api.get('/v1/api-keys'),
    await gateway.api.get('/v1/logs'),
    await gateway.api.get('/health'),
  ];
  return replies.every(({ status }) => status === 200);
}
