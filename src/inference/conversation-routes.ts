import * as z from 'zod';
import { listQuery } from '../core/list.ts';
import { metadataRule, newMetadata } from '../core/metadata-rule.ts';
import { del, get, post, type Route } from '../http/route.ts';
import type { ConversationStore } from './conversations-store.ts';
import { included } from './response-routes.ts';

const details = { scopes: ['completions.write'] as const, wording: 'openai' as const };
const MOST_ITEMS = 20;

const items = () => z.array(z.looseObject({})).max(MOST_ITEMS);
const creation = () => z.strictObject({ items: items().nullish(), metadata: newMetadata });
const change = () => z.strictObject({ metadata: metadataRule });
const addition = () => z.strictObject({ items: items().min(1) });
const conversation = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('conversation'),
      created_at: z.int(),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: 'Conversation' });
const inclusion = () => ({ include: z.unknown().optional(), 'include[]': z.unknown().optional() });
const page = () => listQuery().omit({ before: true }).extend(inclusion());
const one = () => z.strictObject(inclusion());

/** Conversations that responses go on in. They are the gateway's, for models of every provider. */
export const conversationRoutes = (conversations: ConversationStore): Route[] => [
  post(
    '/v1/conversations',
    { ...details, summary: 'Begin a conversation', body: creation, response: conversation },
    ({ principal, body }) => conversations.create(principal, body.items ?? [], body.metadata),
  ),
  get(
    '/v1/conversations/:conversation_id',
    { ...details, summary: 'One conversation', response: conversation },
    ({ principal, params }) => conversations.read(principal, params.conversation_id),
  ),
  post(
    '/v1/conversations/:conversation_id',
    { ...details, summary: "Change a conversation's metadata", body: change, response: conversation },
    ({ principal, params, body }) => conversations.update(principal, params.conversation_id, body.metadata),
  ),
  del('/v1/conversations/:conversation_id', { ...details, summary: 'Delete a conversation' }, ({ principal, params }) =>
    conversations.delete(principal, params.conversation_id),
  ),
  post(
    '/v1/conversations/:conversation_id/items',
    { ...details, summary: 'Add items to a conversation', query: one, body: addition },
    ({ principal, params, body }) => conversations.add(principal, params.conversation_id, body.items),
  ),
  get(
    '/v1/conversations/:conversation_id/items',
    { ...details, summary: 'The items of a conversation', query: page },
    ({ principal, params, query, search }) =>
      conversations.list(principal, params.conversation_id, query, included(search)),
  ),
  get(
    '/v1/conversations/:conversation_id/items/:item_id',
    { ...details, summary: 'One item of a conversation', query: one },
    ({ principal, params, search }) =>
      conversations.item(principal, params.conversation_id, params.item_id, included(search)),
  ),
  del(
    '/v1/conversations/:conversation_id/items/:item_id',
    { ...details, summary: 'Take an item out of a conversation' },
    ({ principal, params }) => conversations.removeItem(principal, params.conversation_id, params.item_id),
  ),
];
