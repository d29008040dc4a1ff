import * as z from 'zod';
import { ROLES, WORKSPACE_ROLES } from '../auth/roles.ts';
import type { Users } from '../auth/users.ts';
import type { Members } from '../auth/users-members.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import { deleted } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';

export const email = () => z.email({ error: 'give an email address' }).max(320);
export const password = () =>
  z
    .string()
    .min(8, 'give at least 8 characters')
    .max(1_024, 'give at most 1024 characters')
    .describe('8 to 1024 characters.');
export const personName = () => z.string().trim().min(1, 'give at least one character').max(255).nullable();
export const role = () => z.enum(ROLES, { error: `give ${ROLES.join(', ')}` });
const workspaceRole = () => z.enum(WORKSPACE_ROLES, { error: `give ${WORKSPACE_ROLES.join(', ')}` });
export const memberships = () =>
  z
    .array(z.strictObject({ id: z.string().min(1).describe('Id or slug of a workspace.'), role: workspaceRole() }))
    .max(1_000)
    .describe('Left out: a member of the workspace default.');

const create = () =>
  z.strictObject({
    email: email(),
    username: personName().optional(),
    first_name: personName().optional(),
    last_name: personName().optional(),
    password: password().optional(),
    role: role(),
    workspaces: memberships().optional(),
  });
const update = () =>
  create()
    .omit({ workspaces: true })
    .partial()
    .extend({ password: password().nullable().optional().describe('null takes the password away.') });

export const user = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('user'),
      email: z.string(),
      username: z.string().nullable(),
      first_name: z.string().nullable(),
      last_name: z.string().nullable(),
      role: role(),
      status: z
        .enum(['active', 'deactivated'])
        .describe('deactivated: a directory has shut the user out, and no way leads in.'),
      workspace_ids: z.array(z.string()),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'User' });
const listQuery = () => pageQuery().extend({ email: z.string().optional(), role: role().optional() });

export const userRoutes = (users: Users): Route[] => [
  post(
    '/v1/admin/users',
    {
      scopes: ['users.create', 'organisation.manage'],
      audit: { resource: 'users' },
      summary: 'Create a user',
      body: create,
      response: user,
    },
    (call) => users.create(call.principal, call.body),
  ),
  get(
    '/v1/admin/users',
    { scopes: ['users.list'], summary: 'Users the caller may see', query: listQuery, response: () => pageOf(user) },
    (call) => users.list(call.principal, call.query),
  ),
  get('/v1/admin/users/:id', { scopes: ['users.read'], summary: 'One user', response: user }, (call) =>
    users.read(call.principal, call.params.id),
  ),
  put(
    '/v1/admin/users/:id',
    { scopes: ['users.update'], audit: { resource: 'users' }, summary: 'Change a user', body: update, response: user },
    (call) => users.update(call.principal, call.params.id, call.body),
  ),
  del(
    '/v1/admin/users/:id',
    {
      scopes: ['users.delete'],
      audit: { resource: 'users' },
      summary: 'Delete a user with their API keys and sessions',
      response: () => deleted('user'),
    },
    async (call) => {
      await users.delete(call.principal, call.params.id);
      return { id: call.params.id, object: 'user', deleted: true };
    },
  ),
];

const member = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('workspace-user'),
      email: z.string(),
      first_name: z.string().nullable(),
      last_name: z.string().nullable(),
      org_role: role(),
      role: workspaceRole(),
      workspace_id: z.string(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'WorkspaceUser' });
const userId = () => z.uuid({ error: 'give the id of a user' });
const added = () =>
  z
    .strictObject({
      user_id: userId().optional(),
      role: workspaceRole().optional(),
      users: z
        .array(z.strictObject({ id: userId(), role: workspaceRole() }))
        .length(1, 'give one user')
        .optional()
        .describe('The same as a list of one, as Terraform sends it.'),
    })
    .superRefine(({ user_id, role, users }, context) => {
      const missing = (member: string, message: string) =>
        context.addIssue({ code: 'custom', path: [member], message });
      if (users) {
        if (user_id !== undefined || role !== undefined) missing('users', 'cannot stand beside user_id and role');
        return;
      }
      if (user_id === undefined) missing('user_id', 'is missing; give the id of a user');
      if (role === undefined) missing('role', `is missing; give ${WORKSPACE_ROLES.join(', ')}`);
    })
    .transform(({ user_id, role, users }) => {
      const [listed] = users ?? [];
      return { user_id: (listed?.id ?? user_id)!, role: (listed?.role ?? role)! };
    });
const memberQuery = () => pageQuery().extend({ role: workspaceRole().optional() });
const MEMBERS = '/v1/admin/workspaces/:workspace/users';

export const memberRoutes = (members: Members): Route[] => [
  post(
    MEMBERS,
    {
      scopes: ['workspace_users.create'],
      audit: { resource: 'workspace_users' },
      summary: 'Add a user to a workspace',
      body: added,
      response: member,
    },
    (call) => members.add(call.principal, call.params.workspace, call.body),
  ),
  get(
    MEMBERS,
    {
      scopes: ['workspace_users.list'],
      summary: 'The users of a workspace',
      query: memberQuery,
      response: () => pageOf(member),
    },
    (call) => members.list(call.principal, call.params.workspace, call.query),
  ),
  get(
    `${MEMBERS}/:user`,
    { scopes: ['workspace_users.read'], summary: 'One user of a workspace', response: member },
    (call) => members.read(call.principal, call.params.workspace, call.params.user),
  ),
  put(
    `${MEMBERS}/:user`,
    {
      scopes: ['workspace_users.update'],
      audit: { resource: 'workspace_users' },
      summary: 'Change the role of a user in a workspace',
      body: () => z.strictObject({ role: workspaceRole() }),
      response: member,
    },
    (call) => members.update(call.principal, call.params.workspace, call.params.user, call.body.role),
  ),
  del(
    `${MEMBERS}/:user`,
    {
      scopes: ['workspace_users.delete'],
      audit: { resource: 'workspace_users' },
      summary: 'Take a user out of a workspace',
      response: () => deleted('workspace-user'),
    },
    async (call) => {
      await members.remove(call.principal, call.params.workspace, call.params.user);
      return { id: call.params.user, object: 'workspace-user', deleted: true };
    },
  ),
];
