import * as z from 'zod';
import type { Health } from '../core/health.ts';
import { answerDocs } from '../http/docs-page.ts';
import { headerOf } from '../http/headers.ts';
import { json } from '../http/reply.ts';
import { get, type Route } from '../http/route.ts';
import type { Store } from '../storage/store.ts';

export interface ServiceParts {
  readonly store: Store;
  readonly health: Health;
  readonly version: string;
  /** The description of all routes, these among them. */
  readonly openapi: () => unknown;
  /** Where browsers find the pages for people; missing: there are none. */
  readonly consolePath?: string;
}

const healthy = () =>
  z.object({
    status: z.literal('ok'),
    degraded: z.array(z.object({ part: z.string(), since: z.iso.datetime(), effect: z.string() })),
    notes: z.array(z.string()).optional().describe('What an operator should know, and what makes nothing worse.'),
  });
const ready = () => z.object({ status: z.enum(['ready', 'unavailable']), store: z.enum(['ok', 'unavailable']) });

/** What a stranger and an orchestrator ask first; none of it needs a key. */
export const serviceRoutes = ({ store, health, version, openapi, consolePath }: ServiceParts): Route[] => [
  get('/', { scopes: 'public', summary: 'What this is; browsers are sent to the console' }, ({ headers }) =>
    consolePath !== undefined && headerOf(headers, 'accept')?.includes('text/html')
      ? new Response(null, { status: 302, headers: { location: consolePath, vary: 'accept' } })
      : { name: 'gateway', version, docs: '/docs', openapi: '/openapi.json' },
  ),
  get('/health', { scopes: 'public', summary: '200 while the process lives', response: healthy }, () => {
    const notes = health.notes();
    return { status: 'ok', degraded: health.snapshot(), ...(notes.length > 0 && { notes }) };
  }),
  get('/ready', { scopes: 'public', summary: '200 when the store answers, else 503', response: ready }, async () => {
    try {
      await store.ping();
      return { status: 'ready', store: 'ok' };
    } catch {
      return json({ status: 'unavailable', store: 'unavailable' }, 503);
    }
  }),
  get('/openapi.json', { scopes: 'public', summary: 'This API as OpenAPI 3.1' }, openapi),
  get('/docs', { scopes: 'public', summary: 'This API to look at' }, () => answerDocs()),
];
