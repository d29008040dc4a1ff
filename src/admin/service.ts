import * as z from 'zod';
import type { Health } from '../core/health.ts';
import { docsPage } from '../http/docs-page.ts';
import { json } from '../http/reply.ts';
import { get, type Route } from '../http/route.ts';
import type { Store } from '../storage/store.ts';

export interface ServiceParts {
  readonly store: Store;
  readonly health: Health;
  readonly version: string;
  /** The description of all routes, these among them. */
  readonly openapi: () => unknown;
}

const healthy = () =>
  z.object({
    status: z.literal('ok'),
    degraded: z.array(z.object({ part: z.string(), since: z.iso.datetime(), effect: z.string() })),
    notes: z.array(z.string()).optional().describe('What an operator should know, and what makes nothing worse.'),
  });
const ready = () => z.object({ status: z.enum(['ready', 'unavailable']), store: z.enum(['ok', 'unavailable']) });

const html = (page: string) => new Response(page, { headers: { 'content-type': 'text/html; charset=utf-8' } });

/** What a stranger and an orchestrator ask first; none of it needs a key. */
export const serviceRoutes = ({ store, health, version, openapi }: ServiceParts): Route[] => [
  get('/', { scopes: 'public', summary: 'What this is' }, () => ({
    name: 'gateway',
    version,
    docs: '/docs',
    openapi: '/openapi.json',
  })),
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
  get('/docs', { scopes: 'public', summary: 'This API to look at' }, () => html(docsPage)),
];
