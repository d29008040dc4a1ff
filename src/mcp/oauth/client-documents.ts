import { BoundedMap } from '../../core/bounded-map.ts';
import { GatewayError } from '../../core/errors.ts';
import { fetchSmall, type Upstream, UpstreamFailure } from '../../http/upstream.ts';
import { type Client, isRenewable, readClientMetadata, shownName } from './client.ts';

/** Clients whose id is the address of a document that describes them (OAuth Client ID Metadata Document). */
export interface ClientDocuments {
  /** One that was read before and still holds. */
  known(id: string): Client | null;
  /** Reads it, once however many wait for it. Throws `DocumentRefused`. */
  read(id: string): Promise<Client>;
}

/** Why a document does not do, in words that follow its address. */
export class DocumentRefused extends Error {
  override readonly name = 'DocumentRefused';
}

/** A document is public: a client that writes a secret into it has given it away. */
const SECRETS = ['client_secret', 'client_secret_expires_at'];
const MOST_KNOWN = 1_000;
const MOST_BYTES = 64 << 10;
const TIMEOUT_MS = 5_000;
const ASSUMED_SECONDS = 600;
const LEAST_SECONDS = 60;
const MOST_SECONDS = 86_400;

/** An address with a path, written as the URL parser would, so that one client has one id. */
export function isDocumentAddress(id: string): boolean {
  const url = URL.parse(id);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  return url.href === id && url.pathname !== '/' && !id.includes('#') && url.username === '' && url.password === '';
}

export function createClientDocuments({ upstream, now }: { upstream: Upstream; now: () => number }): ClientDocuments {
  const documents = new BoundedMap<string, { readonly client: Client; readonly until: number }>(MOST_KNOWN);
  const reading = new Map<string, Promise<Client>>();

  const known = (id: string): Client | null => {
    const found = documents.get(id);
    return found && found.until > now() ? found.client : null;
  };
  const read = async (id: string): Promise<Client> => {
    const answer = await ask(upstream, id);
    const client = await clientIn(id, answer);
    documents.set(id, { client, until: now() + 1_000 * lifetimeOf(answer.headers.get('cache-control') ?? '') });
    return client;
  };
  return {
    known,
    read: (id) => {
      const found = known(id);
      if (found) return Promise.resolve(found);
      const running = reading.get(id) ?? read(id).finally(() => reading.delete(id));
      reading.set(id, running);
      return running;
    },
  };
}

async function ask(upstream: Upstream, id: string): Promise<Response> {
  try {
    return await fetchSmall(upstream, id, {
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_BYTES,
    });
  } catch (error) {
    if (error instanceof UpstreamFailure)
      throw new DocumentRefused(`cannot be read: ${error.toGatewayError().message}`);
    if (error instanceof GatewayError) throw new DocumentRefused(`cannot be read: ${error.message}`);
    throw error;
  }
}

async function clientIn(id: string, answer: Response): Promise<Client> {
  if (answer.status !== 200) throw new DocumentRefused(`answers with status ${answer.status} instead of 200`);
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(answer.headers.get('content-type') ?? ''))
    throw new DocumentRefused('is not of the type application/json');
  const said: unknown = await answer.json().catch(() => null);
  if (said === null || typeof said !== 'object') throw new DocumentRefused('is no JSON object');
  if ((said as { client_id?: unknown }).client_id !== id)
    throw new DocumentRefused('does not name its own address as client_id');
  const secret = SECRETS.find((member) => Object.hasOwn(said, member));
  if (secret !== undefined) throw new DocumentRefused(`holds ${secret}, which anybody can read; leave it out`);
  const metadata = readClientMetadata(said);
  if ('why' in metadata) throw new DocumentRefused(`has a fault: ${metadata.member} ${metadata.why}`);
  // A document is public, so it holds no secret; other ways to prove oneself are not offered here.
  const method = metadata.token_endpoint_auth_method ?? 'none';
  if (method !== 'none')
    throw new DocumentRefused(`asks for token_endpoint_auth_method ${method}; only none is possible`);
  return {
    id,
    name: shownName(metadata, new URL(id).host),
    redirectUris: metadata.redirect_uris,
    isRenewable: isRenewable(metadata),
    origin: 'document',
  };
}

function lifetimeOf(cacheControl: string): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return LEAST_SECONDS;
  const given = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl)?.[1];
  return Math.min(Math.max(Number(given ?? ASSUMED_SECONDS), LEAST_SECONDS), MOST_SECONDS);
}
