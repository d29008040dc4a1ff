import { randomBytes } from 'node:crypto';
import { fail } from '../../core/errors.ts';
import { parseJson, readBytes } from '../../http/input.ts';
import { json } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Db, Store } from '../../storage/store.ts';
import { SCOPE } from '../server/resources.ts';
import { type Apps, isAppId } from './apps.ts';
import { type Client, type ClientMetadata, GRANT_TYPES, isRenewable, readClientMetadata, shownName } from './client.ts';
import { type ClientDocuments, DocumentRefused, isDocumentAddress } from './client-documents.ts';

export interface ClientsDeps {
  readonly store: Store;
  readonly documents: ClientDocuments;
  readonly apps: Pick<Apps, 'find'>;
  readonly mayRegister: boolean;
  readonly now: () => number;
}

const MOST_BYTES = 64 << 10;
const REGISTERED = /^mcp-client-[\w-]{22}$/;
const DAY_MS = 86_400_000;
/** A registration is kept for as long as it is in use, and for a while in which it may come into use. */
const UNUSED_MS = 7 * DAY_MS;
const FORGOTTEN_MS = 400 * DAY_MS;
/**
 * An attacker who registers clients in masses must neither fill the store nor keep others out: the oldest make room.
 */
const MOST_UNUSED = 10_000;
/** In which a client that has just registered comes back with its user. */
const COMING_BACK_MS = 3_600_000;

export function createClients({ store, documents, apps, mayRegister, now }: ClientsDeps) {
  const registered = async (id: string): Promise<Client> => {
    const row = REGISTERED.test(id)
      ? await store.db.selectFrom('mcp_clients').select('metadata').where('id', '=', id).executeTakeFirst()
      : null;
    if (!row) return fail('authorization_refused', 'its client_id is unknown here');
    const metadata = JSON.parse(row.metadata) as ClientMetadata;
    return {
      id,
      name: shownName(metadata, id),
      redirectUris: metadata.redirect_uris,
      isRenewable: isRenewable(metadata),
      origin: 'registration',
    };
  };

  return {
    /**
     * The client of an id; null while its document would have to be fetched: the gateway asks strangers' addresses only
     * for people who have signed in.
     */
    async find(id: string, { mayFetch }: { mayFetch: boolean }): Promise<Client | null> {
      if (isAppId(id)) return (await apps.find(id)) ?? fail('authorization_refused', 'its client_id is unknown here');
      if (!isDocumentAddress(id)) return registered(id);
      if (!mayFetch) return documents.known(id);
      return documents.read(id).catch((error: unknown) => {
        if (error instanceof DocumentRefused)
          return fail('authorization_refused', `its client_id ${id.slice(0, 200)} ${error.message}`);
        throw error;
      });
    },

    /** RFC 7591. */
    async register({ request }: AnonymousCall): Promise<Response> {
      if (!mayRegister) return fail('oauth_registration_closed');
      const metadata = readClientMetadata(await bodyOf(request));
      if ('why' in metadata) {
        if (metadata.member === 'redirect_uris') return fail('oauth_invalid_redirect_uri', metadata.why);
        return fail('oauth_invalid_client_metadata', metadata.member, metadata.why);
      }
      const id = `mcp-client-${randomBytes(16).toString('base64url')}`;
      const { redirect_uris, client_name } = metadata;
      const grant_types = isRenewable(metadata) ? GRANT_TYPES : GRANT_TYPES.slice(0, 1);
      await store.transaction(async (db) => {
        await checkRoom(db, now());
        const kept = JSON.stringify({ redirect_uris, client_name, grant_types });
        await db.insertInto('mcp_clients').values({ id, metadata: kept, created_at: now(), used_at: null }).execute();
      });
      const answer = json(
        {
          client_id: id,
          client_id_issued_at: Math.floor(now() / 1_000),
          redirect_uris,
          client_name,
          grant_types,
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
          scope: SCOPE,
        },
        201,
      );
      answer.headers.set('cache-control', 'no-store');
      return answer;
    },
  };
}

export type Clients = ReturnType<typeof createClients>;

async function bodyOf(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json\b/i.test(type)) fail('oauth_invalid_request', 'content-type', 'must be application/json');
  const bytes = await readBytes(request, MOST_BYTES);
  try {
    return parseJson(bytes);
  } catch {
    return fail('oauth_invalid_request', 'body', 'is not valid JSON');
  }
}

async function checkRoom(db: Db, at: number) {
  await sweepClients(db, at);
  const { unused } = await db
    .selectFrom('mcp_clients')
    .select((select) => select.fn.countAll<number>().as('unused'))
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (Number(unused) < MOST_UNUSED) return;
  const oldest = db
    .selectFrom('mcp_clients')
    .select('id')
    .where('used_at', 'is', null)
    .where('created_at', '<=', at - COMING_BACK_MS)
    .orderBy('created_at')
    .limit(Number(unused) - MOST_UNUSED + 1);
  const { numDeletedRows } = await db.deleteFrom('mcp_clients').where('id', 'in', oldest).executeTakeFirst();
  if (Number(numDeletedRows) === 0) fail('oauth_too_many_requests', COMING_BACK_MS / 1_000);
}

async function sweepClients(db: Db, at: number) {
  await db
    .deleteFrom('mcp_clients')
    .where('used_at', 'is', null)
    .where('created_at', '<=', at - UNUSED_MS)
    .execute();
  await db
    .deleteFrom('mcp_clients')
    .where('used_at', '<=', at - FORGOTTEN_MS)
    .execute();
}
