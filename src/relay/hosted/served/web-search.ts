import { fail } from '../../../core/errors.ts';
import { Fields } from '../../../dialects/fields.ts';
import type { JsonObject } from '../../../dialects/ir.ts';
import { objectIn, objectsIn, parsed, present, textIn } from '../../../dialects/json.ts';
import { WEB_SEARCH } from '../../../dialects/responses/hosted-items.ts';
import type { HostedCall, HostedCaller, HostedTool, OpenTool, Ran } from '../hosted-tool.ts';
import { argumentIn, askServing, type ServedBy, type ServedDeps, servedFor, whyNot } from './served.ts';

/** The names under which requests ask for it. */
export const WEB_SEARCH_TYPES = [
  WEB_SEARCH,
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const;

/** `web_search` of the Responses API, by a model whose provider searches the web. */
export const createWebSearch = (deps: ServedDeps): HostedTool => ({
  standsIn: true,
  isOn: async (who) => (await servedFor(deps, who)) !== null,
  open: async (tool, at, caller) => {
    if (!caller.isWanted && !caller.isKept) return null;
    const by = await servedFor(deps, caller.who);
    if (!by) return caller.isWanted ? fail('hosted_tool_off', at, WEB_SEARCH) : null;
    return openTool(readTool(tool, at), by, caller, deps);
  },
});

/** As the provider that searches is asked for it. */
function readTool(tool: JsonObject, at: string): JsonObject {
  const fields = new Fields(tool, at);
  const asked = present({
    type: WEB_SEARCH,
    search_context_size: fields.oneOf('search_context_size', ['low', 'medium', 'high']),
    user_location: fields.fields('user_location') && fields.take('user_location'),
    filters: fields.fields('filters') && fields.take('filters'),
    external_web_access: fields.boolean('external_web_access'),
  });
  const known = ['search_context_size', 'user_location', 'filters', 'external_web_access', 'type'];
  for (const name of Object.keys(tool))
    if (!known.includes(name)) fail('invalid_request', fields.pathOf(name), 'is not known here; leave it out');
  return asked;
}

const event = (name: string) => ({ type: `response.web_search_call.${name}` });
const actionOf = (query: string) => ({ type: 'search', query, queries: [query] });

const openTool = (tool: JsonObject, by: ServedBy, caller: HostedCaller, deps: ServedDeps): OpenTool => ({
  functions: [
    {
      name: WEB_SEARCH,
      item: 'web_search_call',
      description:
        'Searches the web and answers what was found, with its sources. Name a source where you use it, as a link with its address as it is: [title](address).',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', description: 'What to look for, as a question or in words.' } },
        required: ['query'],
        additionalProperties: false,
      },
      isChosenBy: ({ type }) => WEB_SEARCH_TYPES.some((name) => name === type),
      begins: ({ id, arguments: given }) => ({
        item: {
          ...{ id, type: 'web_search_call', status: 'in_progress' },
          action: actionOf(argumentIn(given, 'query') ?? ''),
        },
        events: [event('in_progress'), event('searching')],
      }),
      runs: (call) => searched(call, tool, by, caller, deps),
    },
  ],
});

const INSTRUCTIONS =
  'Search the web for what is asked, and answer with what you find: facts, figures and dates, each with its source. Do not ask back.';
const QUERY_CHARACTERS = 4_000;
const MOST_FOUND = 40_000;
const MOST_SOURCES = 30;
const LONGEST_URL = 2_000;

async function searched(
  call: HostedCall,
  tool: JsonObject,
  by: ServedBy,
  caller: HostedCaller,
  deps: ServedDeps,
): Promise<Ran> {
  const query = argumentIn(call.arguments, 'query')?.slice(0, QUERY_CHARACTERS) ?? null;
  const item = { id: call.id, type: 'web_search_call' };
  const failed = (why: string): Ran => ({
    item: { ...item, status: 'failed', action: actionOf(query ?? '') },
    events: [],
    output: `Nothing was searched for. ${why}`,
  });
  if (query === null) return failed('Give a JSON object with the query as text, {"query": "…"}.');
  const response = await askServing(deps, by, caller, {
    path: '/responses',
    body: {
      ...{ input: query, instructions: INSTRUCTIONS, tools: [tool], tool_choice: 'required', store: false },
      include: ['web_search_call.action.sources'],
    },
  });
  caller.signal.throwIfAborted();
  if (!response.ok) return failed(`The model that searches answered ${await whyNot(response)}`);
  const answer = objectIn(parsed(await response.text()));
  const output = objectsIn(answer.output);
  const searches = output.filter(({ type }) => type === 'web_search_call');
  // One that has no such tool answers from memory.
  if (searches.length === 0) return failed('The model that is to search has not done so.');
  const parts = output.flatMap(({ type, content }) => (type === 'message' ? objectsIn(content) : []));
  const text = parts.map((part) => textIn(part.text) ?? '').join('\n');
  const cited = parts
    .flatMap(({ annotations }) => objectsIn(annotations))
    .filter(({ type }) => type === 'url_citation');
  const titles = new Map<string, string>();
  for (const { url, title } of [...cited, ...searches.flatMap(({ action }) => objectsIn(objectIn(action).sources))])
    if (isAddress(url) && !titles.has(url) && titles.size < MOST_SOURCES) titles.set(url, titleOf(title, url));
  const sources = [...titles].map(([url, title]) => ({ url, title }));
  return {
    item: {
      ...{ ...item, status: 'completed' },
      action: { ...actionOf(query), sources: sources.map(({ url }) => ({ type: 'url', url })) },
    },
    events: [event('completed')],
    output: [
      text.slice(0, MOST_FOUND) || 'Nothing was found.',
      ...(sources.length > 0 ? ['Sources:', ...sources.map(({ url, title }) => `- [${title}](${url})`)] : []),
    ].join('\n'),
    links: sources.map(({ url, title }) => ({ text: url, annotation: { type: 'url_citation', url, title } })),
  };
}

const isAddress = (url: unknown): url is string =>
  typeof url === 'string' && url.length <= LONGEST_URL && /^https?:\/\/[^\s<>"]+$/.test(url) && URL.canParse(url);

const titleOf = (title: unknown, url: string): string =>
  (textIn(title) ?? '')
    .replaceAll(/[\s[\]]+/g, ' ')
    .trim()
    .slice(0, 200) || new URL(url).hostname;
