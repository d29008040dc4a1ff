import * as z from 'zod';
import { WORKSPACE_ROLES } from '../auth/roles.ts';
import { fail } from '../core/errors.ts';
import { integerInQuery } from '../core/list.ts';
import type { Principal } from '../core/principal.ts';
import { deleted } from '../http/resource.ts';
import { del, get, post, type Route } from '../http/route.ts';
import { nameKeyOf } from './groups.ts';
import type { createScimMappings } from './mappings.ts';

/** Mappings of groups to workspaces in the words of Portkey's clients; see docs/terraform.md. */

const role = () => z.enum(WORKSPACE_ROLES, { error: `give ${WORKSPACE_ROLES.join(', ')}` });
const body = () =>
  z
    .strictObject({
      workspace_id: z.string({ error: 'give the id or slug of a workspace' }).min(1).describe('Id or slug.'),
      role: role(),
      scim_group_id: z.string().min(1).optional().describe('Of a group that the directory has sent.'),
      scim_group_name: z.string().trim().min(1, 'give the name of a group').max(255).optional(),
    })
    .refine(({ scim_group_id, scim_group_name }) => (scim_group_id === undefined) !== (scim_group_name === undefined), {
      path: ['scim_group_name'],
      message: 'give one of scim_group_name and scim_group_id',
    });
const mapping = () =>
  z
    .object({
      id: z.string(),
      workspace_id: z.string(),
      scim_group: z.string(),
      scim_group_id: z.string().describe('Empty until the directory has sent the group.'),
      role: z.string(),
    })
    .meta({ id: 'ScimWorkspaceMapping' });
const query = () =>
  z.strictObject({
    page: integerInQuery(0).default(0),
    page_size: integerInQuery(1, 1_000).default(100),
    workspace_id: z.string().optional(),
    scim_group_id: z.string().optional(),
    role: role().optional(),
  });

type Mappings = ReturnType<typeof createScimMappings>;

/** Roles in the organisation have no workspace, and are not among them. */
async function mappingsOf(mappings: Mappings, who: Principal) {
  const [{ data }, ids] = await Promise.all([mappings.list(who), mappings.groupIds(who)]);
  return data.flatMap(({ id, workspace_id, workspace_slug, group, role }) =>
    workspace_id === null
      ? []
      : [
          {
            id,
            workspace_id,
            slug: workspace_slug,
            scim_group: group,
            scim_group_id: ids.get(nameKeyOf(group)) ?? '',
            role,
          },
        ],
  );
}

export const workspaceMappingRoutes = (mappings: Mappings): Route[] => [
  post(
    '/v1/scim/workspaces',
    {
      scopes: ['users.update', 'organisation.manage'],
      audit: { resource: 'scim_mappings' },
      summary: 'Give the members of a group a role in a workspace',
      body,
      response: mapping,
    },
    async ({ principal, body: { workspace_id: workspace, role, scim_group_id, scim_group_name } }) => {
      const group = scim_group_name ?? (await mappings.groupNamed(principal, scim_group_id!));
      const { id, workspace_id } = await mappings.create(principal, { group, workspace, role });
      const ids = await mappings.groupIds(principal);
      return { id, workspace_id, scim_group: group, scim_group_id: ids.get(nameKeyOf(group)) ?? '', role };
    },
  ),
  get(
    '/v1/scim/workspaces',
    {
      scopes: ['users.list', 'organisation.manage'],
      summary: 'Which groups have a role in a workspace',
      query,
      response: () => z.object({ total_count: z.number().int(), mappings: z.array(mapping()) }),
    },
    async ({ principal, query: { page, page_size, workspace_id, scim_group_id, role } }) => {
      const found = (await mappingsOf(mappings, principal)).filter(
        (each) =>
          (workspace_id === undefined || workspace_id === each.workspace_id || workspace_id === each.slug) &&
          (scim_group_id === undefined || scim_group_id === each.scim_group_id) &&
          (role === undefined || role === each.role),
      );
      const shown = found.slice(page * page_size, (page + 1) * page_size).map(({ slug: _, ...each }) => each);
      return { total_count: found.length, mappings: shown };
    },
  ),
  del(
    '/v1/scim/workspaces/:id',
    {
      scopes: ['users.update', 'organisation.manage'],
      audit: { resource: 'scim_mappings' },
      summary: 'Take the role in a workspace from the members of a group',
      response: () => deleted('scim-mapping'),
    },
    async ({ principal, params: { id } }) => {
      const isOfWorkspace = (await mappingsOf(mappings, principal)).some((each) => each.id === id);
      if (!isOfWorkspace) fail('scim_mapping_not_found', id.slice(0, 80));
      await mappings.delete(principal, id);
      return { id, object: 'scim-mapping', deleted: true };
    },
  ),
];
