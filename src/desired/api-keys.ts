import { createHash } from 'node:crypto';
import { modelsIn } from '../core/allowed-models.ts';
import { rulesIn } from '../core/forbidden.ts';
import type { ApiKeyId } from '../core/ids.ts';
import { reachesOrganisation } from '../core/principal.ts';
import { type ApiKeyWish, isoOf, sameMoment } from './desired.ts';
import { type Context, type KindOf, scopesOf } from './kind.ts';
import { limitsIn, withLimits } from './limits.ts';

/** A UUID that follows from the name alone, so that the same file always makes the same key. */
function idFrom(name: string): ApiKeyId {
  const bytes = createHash('sha256').update(name).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-') as ApiKeyId;
}

const idOf = (ref: string, hash: string): ApiKeyId => idFrom(`api-key/${ref}/${hash}`);

const rows = ({ db, who }: Context) =>
  db
    .selectFrom('api_keys')
    .innerJoin('workspaces', 'workspaces.id', 'api_keys.workspace_id')
    .selectAll('api_keys')
    .select('workspaces.slug as workspace')
    .where('api_keys.organisation_id', '=', who.organisationId)
    .$if(!reachesOrganisation(who), (query) => query.where('api_keys.workspace_id', '=', who.workspaceId));

const holderOf = ({ db }: Context, hash: string) =>
  db.selectFrom('api_key_secrets').select('api_key_id').where('hash', '=', hash).executeTakeFirst();

export const apiKeyKind: KindOf<ApiKeyWish> = {
  kind: 'api-key',
  scopes: scopesOf('api_keys'),
  wishes: ({ apiKeys }) => apiKeys,
  title: ({ workspace, fields }) => `API key ${workspace}/${fields.name}`,
  shape: ({ fields, secret }) => ({
    facts: { ...fields, expires_at: sameMoment(fields.expires_at) },
    secrets: secret.mayReplace ? { key: secret.hash } : {},
  }),

  async find(context, { secret, workspace, fields, ref }, markedId) {
    // The secret says which key is meant, also when the file gives it another name.
    const holder = (await holderOf(context, secret.hash))?.api_key_id ?? null;
    // One that another file made of the same words has had its secret rotated since.
    const made = idOf(ref, secret.hash);
    const isMade =
      holder === null && markedId === null && (await rows(context).where('api_keys.id', '=', made).executeTakeFirst());
    if (isMade) return `was made with this secret as API key ${made}, which has another one now; give a new secret`;
    const id = holder ?? markedId;
    const row = id === null ? undefined : await rows(context).where('api_keys.id', '=', id).executeTakeFirst();
    // Out of the caller's reach, which learns no more of it than that the secret is taken.
    if (!row && holder !== null) return 'its secret is that of another key already; give it one of its own';
    if (!row || id === null) return null;
    if (row.origin === 'bootstrap') return 'its secret is that of the bootstrap key, which GATEWAY_ADMIN_KEY sets';
    if (row.workspace !== workspace)
      return `its secret is already that of API key ${row.id} in workspace ${row.workspace}, and keys do not move`;
    const { name, description } = row;
    const current = await context.db
      .selectFrom('api_key_secrets')
      .select('hash')
      .where('api_key_id', '=', id)
      .where('valid_until', 'is', null)
      .executeTakeFirst();
    return {
      id,
      facts: {
        name,
        description,
        scopes: JSON.parse(row.scopes),
        defaults: JSON.parse(row.defaults),
        ...('forbidden' in fields && { forbidden: rulesIn(row.forbidden) }),
        ...('models' in fields && { models: modelsIn(row.models) }),
        expires_at: isoOf(row.expires_at),
        ...limitsIn(row),
      },
      secrets: secret.mayReplace ? { key: current?.hash } : {},
    };
  },

  async create({ apiKeys, who, now }, { workspace, fields, secret, ref }) {
    const id = idOf(ref, secret.hash);
    await apiKeys.adopt(who, { workspace_id: workspace, ...withLimits(fields) }, { id, ...secret }, now);
    return id;
  },

  async change({ apiKeys, who, now }, { fields, secret }, { id, secrets }) {
    await apiKeys.update(who, id, withLimits(fields), now);
    if (secret.mayReplace && secrets.key !== secret.hash) await apiKeys.replaceSecret(who, id, secret, now);
  },

  async titleOf(context, id) {
    const row = await rows(context).where('api_keys.id', '=', id).executeTakeFirst();
    return row ? `API key ${row.workspace}/${row.name}` : null;
  },

  blocker: async () => null,

  async delete({ apiKeys, who }, id) {
    await apiKeys.delete(who, id);
  },
};
