import * as z from 'zod';
import { WORKSPACE_ROLES } from '../auth/roles.ts';
import { fail } from '../core/errors.ts';
import { deleted } from '../http/resource.ts';
import { del, get, patch, post, put, type Route } from '../http/route.ts';
import { resourceTypes, schemas, serviceProviderConfig } from './descriptions.ts';
import type { ScimGroups } from './groups.ts';
import type { MappingInput, ScimMappings } from './mappings.ts';
import { BASE, listOf, PATCH_OPERATIONS } from './resource.ts';
import type { ScimUsers } from './users.ts';

export interface ScimParts {
  readonly users: ScimUsers;
  readonly groups: ScimGroups;
  readonly mappings: ScimMappings;
  readonly publicUrl: () => string;
}

const MEDIA_TYPE = 'application/scim+json';
const MOST_OPERATIONS = 1_000;
const LARGEST_BODY = 4 << 20;

const numberIn = (name: string) =>
  z
    .string()
    .regex(/^-?\d{1,9}$/, `give ${name} as a whole number`)
    .transform(Number);
const shownQuery = () =>
  z.object({
    attributes: z
      .string()
      .max(1_000)
      .optional()
      .describe('Names of attributes that are answered, with commas between.'),
    excludedAttributes: z.string().max(1_000).optional().describe('Names of attributes that are left out.'),
  });
const listQuery = () =>
  shownQuery().extend({
    filter: z.string().optional().describe('attribute eq "value", several with and between them.'),
    startIndex: numberIn('startIndex').optional().describe('From 1.'),
    count: numberIn('count').optional().describe('At most 200; 100 unless given.'),
  });

const userBody = () =>
  z.looseObject({
    userName: z.unknown().optional().describe('The name that the user signs in with, most often an address.'),
    externalId: z.unknown().optional(),
    name: z.unknown().optional(),
    displayName: z.unknown().optional(),
    emails: z.unknown().optional(),
    active: z.unknown().optional().describe('false shuts the user out.'),
  });
const groupBody = () =>
  z.looseObject({
    displayName: z.unknown().optional().describe('The name, by which mappings find the group.'),
    externalId: z.unknown().optional(),
    members: z.unknown().optional().describe('A list of { value: id of a user }.'),
  });
const patchBody = () =>
  z.looseObject({
    schemas: z.array(z.string()).optional().describe(PATCH_OPERATIONS),
    Operations: z
      .array(
        z.looseObject(
          {
            op: z.string('give add, replace or remove'),
            path: z.string('give a text').max(500, 'give at most 500 characters').nullish(),
            value: z.unknown().optional(),
          },
          { error: 'give an object with op, path and value' },
        ),
        { error: 'give a list of operations' },
      )
      .min(1, 'give at least one operation')
      .max(MOST_OPERATIONS, `give at most ${MOST_OPERATIONS} operations`),
  });
const resource = () => z.looseObject({ schemas: z.array(z.string()), id: z.string() }).meta({ id: 'ScimResource' });
const list = () =>
  z
    .looseObject({
      totalResults: z.number(),
      startIndex: z.number(),
      itemsPerPage: z.number(),
      Resources: z.array(z.looseObject({})),
    })
    .meta({ id: 'ScimList' });

const mappingBody = () =>
  z.strictObject({
    group: z.string().trim().min(1, 'give the name of a group').max(255),
    workspace: z.string().min(1).nullish().describe('Id or slug of a workspace. Left out: a role in the organisation.'),
    role: z.enum(WORKSPACE_ROLES, { error: `give ${WORKSPACE_ROLES.join(', ')}` }),
  });
const mapping = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('scim-mapping'),
      group: z.string(),
      workspace_id: z.string().nullable(),
      workspace_slug: z.string().nullable(),
      role: z.string(),
      created_at: z.string(),
    })
    .meta({ id: 'ScimMapping' });
const mappingList = () => z.object({ object: z.literal('list'), total: z.number(), data: z.array(mapping()) });

const scim = {
  scopes: ['scim.manage'],
  dialect: 'scim',
  stamp: () => ({ 'content-type': MEDIA_TYPE }),
} as const;
const ofUsers = { resource: 'scim_users' } as const;
const ofGroups = { resource: 'scim_groups' } as const;
const CREATED = 201;
const NO_CONTENT = 204;

const created = (made: { readonly meta?: { readonly location: string } }): Response =>
  new Response(JSON.stringify(made), {
    status: CREATED,
    headers: { 'x-content-type-options': 'nosniff', ...(made.meta && { location: made.meta.location }) },
  });
const nothing = (): Response => new Response(null, { status: NO_CONTENT });

export const scimRoutes = ({ users, groups, mappings, publicUrl }: ScimParts): Route[] => [
  get(`${BASE}/ServiceProviderConfig`, { ...scim, summary: 'What the SCIM server can do' }, () =>
    serviceProviderConfig(publicUrl()),
  ),
  get(`${BASE}/ResourceTypes`, { ...scim, summary: 'The resources of SCIM', response: list }, () => {
    const all = resourceTypes(publicUrl());
    return listOf(all, all.length);
  }),
  get(`${BASE}/ResourceTypes/:name`, { ...scim, summary: 'One resource of SCIM' }, ({ params }) =>
    namedIn(resourceTypes(publicUrl()), 'resource type', params.name),
  ),
  get(`${BASE}/Schemas`, { ...scim, summary: 'The attributes of users and groups', response: list }, () => {
    const all = schemas(publicUrl());
    return listOf(all, all.length);
  }),
  get(`${BASE}/Schemas/:name`, { ...scim, summary: 'One schema of SCIM' }, ({ params }) =>
    namedIn(schemas(publicUrl()), 'schema', params.name),
  ),

  get(
    `${BASE}/Users`,
    { ...scim, summary: 'Users of the organisation, as a directory looks for them', query: listQuery, response: list },
    (call) => users.list(call.principal, call.query),
  ),
  post(
    `${BASE}/Users`,
    {
      ...scim,
      audit: { ...ofUsers, changedStatus: CREATED },
      summary: 'Create a user for a directory',
      body: userBody,
      response: resource,
    },
    async (call) => created(await users.create(call.principal, call.body)),
  ),
  get(
    `${BASE}/Users/:id`,
    { ...scim, summary: 'One user, for a directory', query: shownQuery, response: resource },
    (call) => users.read(call.principal, call.params.id, call.query),
  ),
  put(
    `${BASE}/Users/:id`,
    { ...scim, audit: ofUsers, summary: 'Replace a user of a directory', body: userBody, response: resource },
    (call) => users.replace(call.principal, call.params.id, call.body),
  ),
  patch(
    `${BASE}/Users/:id`,
    {
      ...scim,
      audit: ofUsers,
      summary: 'Change a user of a directory, or shut the user out',
      body: patchBody,
      response: resource,
    },
    (call) => users.patch(call.principal, call.params.id, call.body.Operations),
  ),
  del(
    `${BASE}/Users/:id`,
    {
      ...scim,
      audit: { ...ofUsers, changedStatus: NO_CONTENT },
      summary: 'Delete a user of a directory with their API keys and sessions',
    },
    async (call) => {
      await users.delete(call.principal, call.params.id);
      return nothing();
    },
  ),

  get(`${BASE}/Groups`, { ...scim, summary: 'Groups of a directory', query: listQuery, response: list }, (call) =>
    groups.list(call.principal, call.query),
  ),
  post(
    `${BASE}/Groups`,
    {
      ...scim,
      audit: { ...ofGroups, changedStatus: CREATED },
      summary: 'Create a group of a directory',
      body: groupBody,
      largestBody: LARGEST_BODY,
      response: resource,
    },
    async (call) => created(await groups.create(call.principal, call.body)),
  ),
  get(
    `${BASE}/Groups/:id`,
    { ...scim, summary: 'One group of a directory', query: shownQuery, response: resource },
    (call) => groups.read(call.principal, call.params.id, call.query),
  ),
  put(
    `${BASE}/Groups/:id`,
    {
      ...scim,
      audit: ofGroups,
      summary: 'Replace a group of a directory',
      body: groupBody,
      largestBody: LARGEST_BODY,
      response: resource,
    },
    (call) => groups.replace(call.principal, call.params.id, call.body),
  ),
  patch(
    `${BASE}/Groups/:id`,
    {
      ...scim,
      audit: { ...ofGroups, changedStatus: NO_CONTENT },
      summary: 'Change a group of a directory: its name, or who belongs to it',
      body: patchBody,
      largestBody: LARGEST_BODY,
    },
    async (call) => {
      await groups.patch(call.principal, call.params.id, call.body.Operations);
      return nothing();
    },
  ),
  del(
    `${BASE}/Groups/:id`,
    { ...scim, audit: { ...ofGroups, changedStatus: NO_CONTENT }, summary: 'Delete a group of a directory' },
    async (call) => {
      await groups.delete(call.principal, call.params.id);
      return nothing();
    },
  ),

  post(
    '/v1/admin/scim/mappings',
    {
      scopes: ['users.update', 'organisation.manage'],
      audit: { resource: 'scim_mappings' },
      summary: 'Give the members of a group a role, in a workspace or in the organisation',
      body: mappingBody,
      response: mapping,
    },
    (call) => mappings.create(call.principal, asMapping(call.body)),
  ),
  get(
    '/v1/admin/scim/mappings',
    {
      scopes: ['users.list', 'organisation.manage'],
      summary: 'What groups of a directory mean',
      response: mappingList,
    },
    (call) => mappings.list(call.principal),
  ),
  del(
    '/v1/admin/scim/mappings/:id',
    {
      scopes: ['users.update', 'organisation.manage'],
      audit: { resource: 'scim_mappings' },
      summary: 'Take the role from the members of a group',
      response: () => deleted('scim-mapping'),
    },
    async (call) => {
      await mappings.delete(call.principal, call.params.id);
      return { id: call.params.id, object: 'scim-mapping', deleted: true };
    },
  ),
];

/** In the organisation a group can make administrators: members are members anyway, and owners are made by owners. */
function asMapping({ group, workspace, role }: z.infer<ReturnType<typeof mappingBody>>): MappingInput {
  if (workspace) return { group, workspace, role };
  return role === 'admin'
    ? { group, role }
    : fail('invalid_request', 'role', 'without a workspace, give admin: the role in the organisation');
}

const namedIn = <Named extends { readonly id: string }>(all: readonly Named[], kind: string, name: string): Named =>
  all.find(({ id }) => id.toLowerCase() === name.toLowerCase()) ?? fail('scim_unknown', kind, name.slice(0, 120));
