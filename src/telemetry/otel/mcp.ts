import type { LogRow } from '../log-columns.ts';
import type { Attributes, AttributeValue } from './encode.ts';

const NAMED = /^(?:tools\/call|prompts\/get)$/;

/** What the conventions say of a call of an MCP server, from what the log keeps of it. */
export function mcpFacts({ model, virtual_key, metadata, error_code }: LogRow): {
  readonly name: string;
  readonly attributes: Attributes;
  readonly error: string | null;
} {
  const noted = metadata === null ? {} : (JSON.parse(metadata) as Record<string, string>);
  const method = noted['mcp.method'] ?? null;
  const attributes: (readonly [string, AttributeValue])[] = [];
  const target = method !== null && NAMED.test(method) && model !== method ? model : null;
  if (method !== null) attributes.push(['mcp.method.name', method]);
  if (virtual_key !== null) attributes.push(['gateway.mcp.server', virtual_key]);
  if (method === 'tools/call') attributes.push(['gen_ai.operation.name', 'execute_tool']);
  if (target !== null) attributes.push([method === 'tools/call' ? 'gen_ai.tool.name' : 'gen_ai.prompt.name', target]);
  attributes.push(['network.transport', 'tcp'], ['network.protocol.name', 'http']);
  const code = /^jsonrpc_(-?\d+)$/.exec(error_code ?? '')?.[1] ?? null;
  if (code !== null) attributes.push(['rpc.response.status_code', code]);
  const error = code ?? (error_code === 'tool_error' ? error_code : null);
  if (error !== null) attributes.push(['error.type', error]);
  return { name: [method ?? 'mcp', target].filter(Boolean).join(' '), attributes, error };
}
