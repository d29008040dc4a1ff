import * as z from 'zod';
import type { ManagedSettingsStore } from '../auth/managed-settings.ts';
import { headerOf } from '../http/headers.ts';
import { json } from '../http/reply.ts';
import { type Call, get, put, type Route } from '../http/route.ts';

const LARGEST = 256 << 10;

const settings = () => z.record(z.string(), z.unknown()).nullable();
const input = () =>
  z.strictObject({
    settings: settings().optional().describe('What Claude Code is told: a managed-settings.json. null: nothing.'),
    desktop: settings().optional().describe('What Claude Desktop is told when it starts. null: nothing.'),
  });
const managed = () =>
  z
    .object({
      object: z.literal('managed-settings'),
      workspace_id: z.string().nullable().describe('null: of the organisation.'),
      settings: settings(),
      desktop: settings(),
      last_updated_at: z.string().nullable(),
    })
    .meta({ id: 'ManagedSettings' });

const OF_ALL = '/v1/admin/organisation/managed-settings';
const OF_ONE = '/v1/admin/workspaces/:workspace/managed-settings';
/** Such settings can have programs run commands on people's machines: workspaces do not decide that for themselves. */
const MANAGE = ['organisation.manage'] as const;

/** What programs are told that people have signed in: set by administrators, and asked for by the programs. */
export const managedSettingsRoutes = (store: ManagedSettingsStore): Route[] => [
  get(
    OF_ALL,
    { scopes: ['organisation.read'], summary: 'Settings of programs, for every workspace', response: managed },
    (call) => store.read(call.principal, null),
  ),
  put(
    OF_ALL,
    {
      scopes: MANAGE,
      audit: { resource: 'managed_settings' },
      summary: 'Change them; they stand above those of a workspace',
      body: input,
      largestBody: LARGEST,
      response: managed,
    },
    (call) => store.write(call.principal, null, call.body),
  ),
  get(
    OF_ONE,
    { scopes: ['workspaces.read'], summary: 'Settings of programs, in one workspace', response: managed },
    (call) => store.read(call.principal, call.params.workspace),
  ),
  put(
    OF_ONE,
    {
      scopes: MANAGE,
      audit: { resource: 'managed_settings' },
      summary: 'Change them',
      body: input,
      largestBody: LARGEST,
      response: managed,
    },
    (call) => store.write(call.principal, call.params.workspace, call.body),
  ),
  get(
    '/managed/settings',
    { scopes: ['models.list'], dialect: 'anthropic', summary: 'What Claude Code is told to keep to' },
    async (call) => {
      const { settings, checksum } = await store.of(call.principal, 'settings');
      return tagged(call, checksum, { uuid: call.principal.workspaceId, checksum, settings });
    },
  ),
  get(
    '/user/bootstrap',
    { scopes: ['models.list'], dialect: 'anthropic', summary: 'What Claude Desktop is told when it starts' },
    async (call) => {
      const { settings, checksum } = await store.of(call.principal, 'desktop');
      return tagged(call, checksum, settings);
    },
  ),
];

function tagged({ headers }: Call, checksum: string, body: unknown): Response {
  const etag = `"${checksum}"`;
  const isKnown = (headerOf(headers, 'if-none-match') ?? '').split(',').some((each) => each.trim() === etag);
  const answer = isKnown ? new Response(null, { status: 304 }) : json(body);
  answer.headers.set('etag', etag);
  answer.headers.set('cache-control', 'private, no-cache');
  return answer;
}
