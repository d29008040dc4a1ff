import { sql } from 'kysely';
import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import { isUuid } from '../../core/ids.ts';
import { integerInQuery } from '../../core/list.ts';
import { isMoment, MOMENT_FORM, momentOf } from '../../core/moments.ts';
import { type Principal, reachesOrganisation } from '../../core/principal.ts';
import type { Checked } from '../../core/schema.ts';
import type { Store } from '../../storage/store.ts';
import { workspaceFor } from '../../storage/workspace-lookup.ts';
import { endpointOf } from './shown.ts';

/** The servers a caller may use, in the format of the public MCP registry. */
export const listingQuery = () =>
  z.strictObject({
    limit: integerInQuery(1, 100).default(50),
    cursor: z.string().optional(),
    search: z.string().max(255).optional().describe('A part of the name or the slug.'),
    updated_since: z.string().refine(isMoment, MOMENT_FORM).optional().describe('ISO 8601; UTC when it names no zone.'),
    workspace_id: z.string().min(1).optional(),
  });

const META = 'io.modelcontextprotocol.registry/official';

export const createListing =
  ({ store, publicUrl }: { store: Store; publicUrl: () => string }) =>
  async (who: Principal, query: Checked<typeof listingQuery>) => {
    const after = query.cursor === undefined ? '' : cursorOf(query.cursor);
    const workspace = query.workspace_id === undefined ? null : await workspaceFor(store.db, who, query.workspace_id);
    let matching = store.db
      .selectFrom('mcp_servers')
      .innerJoin('workspaces', 'workspaces.id', 'mcp_servers.workspace_id')
      .where('mcp_servers.organisation_id', '=', who.organisationId)
      .where('mcp_servers.id', '>', after);
    if (!reachesOrganisation(who)) matching = matching.where('mcp_servers.workspace_id', '=', who.workspaceId);
    if (!reachesOrganisation(who)) {
      // What a user may not use is none of theirs.
      matching = matching.where(({ or, and, not, exists, eb, selectFrom }) => {
        const said = (enabled: number) =>
          exists(
            selectFrom('mcp_user_access')
              .select('server_id')
              .whereRef('server_id', '=', 'mcp_servers.id')
              .where('user_id', '=', who.userId ?? '')
              .where('enabled', '=', enabled),
          );
        return or([said(1), and([eb('default_user_access', '=', 'allow'), not(said(0))])]);
      });
    }
    if (workspace !== null) matching = matching.where('mcp_servers.workspace_id', '=', workspace);
    if (query.updated_since !== undefined)
      matching = matching.where('mcp_servers.updated_at', '>=', momentOf(query.updated_since));
    if (query.search !== undefined) {
      const part = `%${query.search.toLowerCase().replace(/[\\%_]/g, (each) => `\\${each}`)}%`;
      matching = matching.where(
        sql<boolean>`(lower(mcp_servers.name) like ${part} escape '\\' or mcp_servers.slug like ${part} escape '\\')`,
      );
    }
    const rows = await matching
      .select([
        'mcp_servers.id',
        'mcp_servers.slug',
        'mcp_servers.name',
        'mcp_servers.description',
        'mcp_servers.created_at',
        'mcp_servers.updated_at',
        'workspaces.slug as workspace',
      ])
      .orderBy('mcp_servers.id')
      .limit(query.limit + 1)
      .execute();
    const shown = rows.slice(0, query.limit);
    const last = rows.length > query.limit ? shown.at(-1) : undefined;
    return {
      servers: shown.map((row) => ({
        server: {
          name: `ai.gateway.${row.workspace}/${row.slug}`,
          title: row.name,
          description: row.description ?? row.name,
          version: '0.0.0',
          remotes: [{ type: 'streamable-http', url: endpointOf(publicUrl(), row.slug) }],
        },
        _meta: {
          [META]: {
            status: 'active',
            publishedAt: new Date(row.created_at).toISOString(),
            updatedAt: new Date(row.updated_at).toISOString(),
            isLatest: true,
          },
        },
      })),
      metadata: { count: shown.length, ...(last && { nextCursor: Buffer.from(last.id).toString('base64url') }) },
    };
  };

function cursorOf(text: string): string {
  const id = Buffer.from(text, 'base64url').toString();
  return isUuid(id) ? id : fail('invalid_request', 'cursor', 'is none that this list gave out');
}
