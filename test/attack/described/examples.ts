import type { Json, Known } from './values.ts';

export const HELLO = { role: 'user', content: 'Hello' };

/** What most endpoints of providers find something of theirs in. */
export const ANY_BODY: Json = {
  model: 'gpt-4o',
  messages: [HELLO],
  input: 'Hello',
  prompt: 'Hello',
  query: 'x',
  documents: ['a'],
  max_tokens: 5,
};

const rate = {
  conditions: [{ key: 'api_key', value: '$id:api_keys' }],
  group_by: [{ key: 'api_key' }],
  type: 'requests',
};

/**
 * Right bodies where no schema tells a right one: providers' own formats, and members that belong together. `$id:files` is
 * a file that an earlier call has made.
 */
export const EXAMPLES: Readonly<Record<string, Json>> = {
  '/v1/chat/completions': {
    model: 'gpt-4o',
    messages: [
      HELLO,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'x' }] },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { a: {} } } } }],
    stream: false,
    max_tokens: 5,
  },
  '/v1/messages': { model: 'claude', max_tokens: 5, system: 'x', messages: [HELLO], stream: false },
  '/v1/messages/count_tokens': { model: 'claude', messages: [HELLO] },
  '/v1/responses': { model: 'gpt-4o', input: [HELLO], tools: [], stream: false },
  '/v1/embeddings': { model: 'e', input: ['a', 'b'] },
  '/v1/virtual-keys': { name: 'fuzz', provider: 'openai', key: 'sk-fuzz' },
  '/v1/policies/rate-limits': { ...rate, unit: 'rpm', value: 100 },
  '/v1/policies/usage-limits': { ...rate, type: 'cost', credit_limit: 100 },
  '/v1/guardrails': {
    name: 'fuzz',
    checks: [{ id: 'default.contains', parameters: { words: ['xyzzy'], operator: 'none' } }],
    actions: { deny: false, async: false },
  },
  '/v1/configs': { name: 'fuzz', config: { virtual_key: 'sim', retry: { attempts: 1 } } },
  '/v1/webhooks': { name: 'fuzz', url: 'http://127.0.0.1:9/hook', events: ['batch.completed'] },
  '/v1/alert-channels': { name: 'fuzz', kind: 'webhook', settings: { url: 'http://127.0.0.1:9/hook' } },
  '/v1/alerts': { name: 'fuzz', condition: { type: 'budget', thresholds: [50, 80] }, channels: [], repeat_after: 3600 },
  '/v1/views': { name: 'fuzz', page: 'explore', query: { metric: 'cost', group: 'model' }, is_shared: true },
  '/v1/threads/runs': { assistant_id: '$id:assistants', thread: { messages: [HELLO] } },
  '/v1/threads/{thread_id}/runs': { assistant_id: '$id:assistants' },
  '/v1/threads/{thread_id}/messages': HELLO,
  '/v1/assistants': { model: 'gpt-4o', tools: [{ type: 'file_search' }] },
  '/v1/vector_stores/{vector_store_id}/files': { file_id: '$id:files' },
  '/v1/vector_stores/{vector_store_id}/file_batches': { file_ids: ['$id:files'] },
  '/v1/vector_stores/{vector_store_id}/sync': { source: 'folder:fuzz', holder: 'fuzz@example' },
  '/v1/batches': { input_file_id: '$id:files', endpoint: '/v1/chat/completions', completion_window: '24h' },
  '/v1/fine_tuning/jobs': { model: 'gpt-4o-mini', training_file: '$id:files' },
  '/v1/uploads': { filename: 'a.txt', purpose: 'assistants', bytes: 4, mime_type: 'text/plain' },
  '/v1/admin/users': { email: 'person@example.com', role: 'member', password: 'a long password for tests' },
  '/v1/sessions': { email: 'person@example.com', password: 'a long password for tests' },
  '/mcp': { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x', arguments: {} } },
  '/mcp/search': {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'call_tool', arguments: { name: 'x', arguments: {} } },
  },
  '/{server}/mcp': {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  },
  '/oauth/register': { redirect_uris: ['http://127.0.0.1/x'], client_name: 'x', grant_types: ['authorization_code'] },
};

/** The example with things that exist in place of `$id:…`. */
export function withKnown(example: Json, known: Known): Json {
  if (typeof example === 'string') return example.startsWith('$id:') ? (known(example.slice(4)) ?? 'none') : example;
  if (Array.isArray(example)) return example.map((item) => withKnown(item, known));
  if (example === null || typeof example !== 'object') return example;
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, withKnown(value, known)]));
}
