import { fail } from '../../core/errors.ts';
import { Fields, fault } from '../../dialects/fields.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectsIn, textIn } from '../../dialects/json.ts';

/** A registered server that a call of chat or messages names. */
export interface AskedServer {
  /** As the Responses API names it. */
  readonly tool: JsonObject;
  readonly at: string;
  readonly has: (tool: string) => boolean;
}

export interface PlainRequest {
  /** Without what runs here. */
  readonly body: JsonObject;
  readonly servers: readonly AskedServer[];
  /** The client's own tools, and the provider's. */
  readonly tools: readonly unknown[];
}

const split = (body: JsonObject, isOurs: (tool: unknown) => boolean) => {
  const given = Array.isArray(body.tools) ? body.tools : [];
  return {
    ours: given.flatMap((tool, index) => (isOurs(tool) ? [{ tool: tool as JsonObject, at: `tools[${index}]` }] : [])),
    tools: given.filter((tool) => !isOurs(tool)),
  };
};

/** Chat: `{"type": "mcp", "server_label": …}` as in Responses, without an address. Null: there is none. */
export function readChat(body: JsonObject): PlainRequest | null {
  const { ours, tools } = split(
    body,
    (tool) => isObject(tool) && tool.type === 'mcp' && tool.server_url === undefined && tool.connector_id === undefined,
  );
  if (ours.length === 0) return null;
  if (body.n !== undefined && body.n !== null && body.n !== 1)
    fail('invalid_request', 'n', 'must be 1 beside tools that the gateway runs');
  return { body, tools, servers: ours.map((each) => ({ ...each, has: () => true })) };
}

const TOOLSET = ['type', 'mcp_server_name', 'default_config', 'configs', 'cache_control'];

/**
 * Messages: `{"type": "mcp_toolset", "mcp_server_name": …}` as at the vendor. `mcp_servers` has no entry of that name, or one
 * without an address. Null: there is none.
 */
export function readMessages(body: JsonObject): PlainRequest | null {
  const named = new Map(objectsIn(body.mcp_servers).map((server) => [textIn(server.name) ?? '', server]));
  const isHere = (name: string) => named.get(name)?.url === undefined;
  const { ours, tools } = split(
    body,
    (tool) => isObject(tool) && tool.type === 'mcp_toolset' && isHere(textIn(tool.mcp_server_name) ?? ''),
  );
  if (ours.length === 0) return null;
  const servers = ours.map(({ tool, at }) => toolset(tool, at));
  const labels = new Set(servers.map(({ tool }) => tool.server_label));
  for (const [index, server] of objectsIn(body.mcp_servers).entries())
    if (labels.has(server.name) && server.authorization_token !== undefined && server.authorization_token !== null)
      fail(
        'invalid_request',
        `mcp_servers[${index}].authorization_token`,
        'a registered server gets what is stored for it; leave it out',
      );
  const others = objectsIn(body.mcp_servers).filter(({ name }) => !labels.has(name));
  const { mcp_servers: _, ...rest } = body;
  return { body: others.length > 0 ? { ...rest, mcp_servers: others } : rest, tools, servers };
}

function toolset(given: JsonObject, at: string): AskedServer {
  const fields = new Fields(given, at);
  const server_label = fields.string('mcp_server_name');
  const unknown = Object.keys(given).find((name) => !TOOLSET.includes(name));
  if (unknown !== undefined) fail('invalid_request', `${at}.${unknown}`, 'is no member of an mcp_toolset');
  const isOnByDefault = isEnabled(given.default_config, `${at}.default_config`) ?? true;
  const { configs = {} } = given;
  if (!isObject(configs)) return fault(`${at}.configs`, 'an object', configs);
  const switches = new Map(
    Object.entries(configs).map(([name, config]) => [name, isEnabled(config, `${at}.configs.${name}`)]),
  );
  const has = (tool: string) => switches.get(tool) ?? isOnByDefault;
  const allowed_tools = [...switches.keys()].filter(has);
  // To name a server here is to allow its tools: this API asks no person.
  const tool = { type: 'mcp', server_label, require_approval: 'never', ...(!isOnByDefault && { allowed_tools }) };
  return { tool, at, has };
}

function isEnabled(config: unknown, at: string): boolean | undefined {
  if (config === undefined || config === null) return undefined;
  const fields = new Fields(config, at);
  if (fields.boolean('defer_loading') === true)
    fail('invalid_request', `${at}.defer_loading`, 'goes with tools of the provider only; leave it out');
  return fields.boolean('enabled');
}
