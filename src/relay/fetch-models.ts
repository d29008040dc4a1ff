import { type Model, readModels } from '../dialects/endpoints/models.ts';
import { parsed } from '../dialects/json.ts';
import { asGatewayError } from '../http/reply.ts';
import type { Incoming, Upstream } from '../http/upstream.ts';
import { upstreamUrl } from '../providers/address.ts';
import type { TokenSource } from '../providers/provider.ts';
import { tlsFor } from './client-certificate.ts';
import { askInProcess } from './in-process.ts';
import { listingOf } from './model-list.ts';
import type { Target } from './target.ts';

export interface FetchModelsDeps {
  readonly upstream: Upstream;
  readonly simulate: (request: Request) => Promise<Response>;
  readonly tokens: TokenSource;
  readonly now: () => number;
}

/** What a provider lists, and why that is not everything where it is not. */
export interface FetchedModels {
  readonly models: readonly Model[];
  /** A status, or the code of one of our errors. */
  readonly failure: string | null;
}

const TIMEOUT_MS = 8_000;
const TIMEOUTS = { connectMs: TIMEOUT_MS, firstByteMs: TIMEOUT_MS, idleMs: TIMEOUT_MS, totalMs: TIMEOUT_MS };
const MOST_BYTES = 16 << 20;

/** Asks one provider for its models, on the gateway's own account: no limit counts it. Never throws. */
export async function fetchModels(target: Target, deps: FetchModelsDeps): Promise<FetchedModels> {
  try {
    let incoming = await ask(target, deps);
    const renewed = incoming.status === 401 ? await target.renewed?.().catch(() => null) : null;
    if (renewed) {
      incoming.cancel();
      incoming = await ask(renewed, deps);
    }
    if (incoming.status !== 200) {
      incoming.cancel();
      return { models: [], failure: String(incoming.status) };
    }
    const { models, hasMore } = readModels(listingOf(target), parsed(await textOf(incoming)));
    return { models, failure: hasMore ? 'too_many' : null };
  } catch (error) {
    return { models: [], failure: failureOf(error) };
  }
}

/** What is no failure of ours is an answer that could not be read. */
function failureOf(error: unknown): string {
  const { code } = asGatewayError(error, '');
  return code === 'internal_error' ? 'unreadable_answer' : code;
}

async function ask(target: Target, { upstream, simulate, tokens, now }: FetchModelsDeps): Promise<Incoming> {
  const { provider, options, credential, machine } = target;
  const [path = '', query] = listingOf(target).path.split('?');
  const url = upstreamUrl(provider, options, target.customHost, path, query ? `?${query}` : '');
  const headers = new Headers({
    accept: 'application/json',
    'accept-encoding': 'identity',
    ...provider.headers,
    ...target.headers,
  });
  const call = { method: 'GET', url, headers, body: null };
  await provider.authorize({
    ...{ ...call, provider: provider.name, credential, options, tokens, now: now() },
    ...(machine && { machine }),
  });
  return provider.inProcess
    ? askInProcess(simulate, { ...call, signal: AbortSignal.timeout(TIMEOUT_MS) })
    : upstream.send({ ...call, tls: tlsFor(target, now()), timeouts: TIMEOUTS });
}

async function textOf(incoming: Incoming): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
    size += piece.byteLength;
    if (size > MOST_BYTES) {
      incoming.cancel();
      throw new Error('the list is too long');
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
