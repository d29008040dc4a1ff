import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '../gateway.ts';

const FOLDER = join(import.meta.dir, '../fixtures/mcp-tools');

export interface CatalogueTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

const LISTS = /^(?:files|labels|attendees|reviewers|issues|items|lines|tags|users|stops|columns|message_ids|names)$/;
const NUMBERS = /(?:amount|number|limit|page|minutes|percent|days|quantity|replicas|degrees|hours|price|port)/;

/** `create_branch(owner, branch, from_branch?): Create a branch …`, as servers write it out. */
function toolOf(line: string): CatalogueTool {
  const [, name, parameters, description] = /^(\w+)\((.*?)\): (.*)$/.exec(line)!;
  const given = parameters!.split(', ').filter(Boolean);
  const properties = given.map((each) => {
    const own = each.replace('?', '');
    const words = own.replaceAll('_', ' ');
    const type = LISTS.test(own) ? 'array' : NUMBERS.test(own) ? 'number' : 'string';
    const items = type === 'array' && { items: { type: 'string' } };
    return [own, { type, ...items, description: `${words[0]!.toUpperCase()}${words.slice(1)}.` }];
  });
  const required = given.filter((each) => !each.endsWith('?'));
  const inputSchema = { type: 'object', properties: Object.fromEntries(properties), required };
  return { name: name!, description: description!, inputSchema };
}

/** Tools of twenty servers, by the name of the server. */
export const catalogue: ReadonlyMap<string, readonly CatalogueTool[]> = new Map(
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.txt'))
    .map((file) => [file.replace('.txt', ''), readFileSync(join(FOLDER, file), 'utf8').trim().split('\n').map(toolOf)]),
);

export interface Task {
  readonly said: string;
  readonly tool: string;
}

/** What somebody wants, and the one tool that does it. */
export const tasksIn = (file: string): readonly Task[] =>
  readFileSync(join(FOLDER, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [said, tool] = line.split('\t');
      return { said: said!, tool: tool! };
    });

/** All servers of the catalogue, each at its own path; a tool answers with its name and what it was given. */
export function startCatalogue() {
  const calls: { readonly server: string; readonly body: string; readonly headers: Headers }[] = [];
  const { origin, stop } = serve(async (request) => {
    const server = new URL(request.url).pathname.slice(1);
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const body = await request.text();
    const { id, method, params = {} } = JSON.parse(body);
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === 'tools/call') calls.push({ server, body, headers: request.headers });
    const result = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: server, version: '1' },
      },
      'tools/list': { tools: catalogue.get(server) },
      'tools/call': { content: [{ type: 'text', text: `${params.name} ${JSON.stringify(params.arguments)}` }] },
    }[method as string];
    return Response.json(
      result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } },
    );
  });
  return { urlOf: (server: string) => `${origin}/${server}`, calls, stop };
}
