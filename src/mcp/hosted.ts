import { fail, GatewayError } from '../core/errors.ts';
import { newObjectId } from '../core/object-ids.ts';
import { Fields, fault } from '../dialects/fields.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { isObject, objectIn, objectsIn, textIn } from '../dialects/json.ts';
import { type McpCallError, mcpErrorText, mcpFunctionName } from '../dialects/responses/hosted-items.ts';
import type { HostedCall, HostedFunction, HostedTool, Ran } from '../relay/hosted/hosted-tool.ts';
import { type HostedClientDeps, type ServerTalk, talkTo } from './hosted-client.ts';
import type { McpServer } from './server/server.ts';

export interface HostedMcpDeps extends HostedClientDeps {
  readonly find: (slug: string) => Promise<McpServer | null> | McpServer | null;
}

const MOST_TOOLS = 128;
const MOST_PAGES = 20;
const LONGEST_OUTPUT = 256 << 10;

/** `mcp` of the Responses API: a registered server by its label, in the name of the caller. */
export const createHostedMcp = (deps: HostedMcpDeps): HostedTool => ({
  open: async (given, at, caller) => {
    const fields = new Fields(given, at);
    const label = fields.string('server_label');
    if (fields.has('server_url') || fields.has('connector_id')) return null;
    const server = await deps.find(label);
    if (!server || server.workspaceId !== caller.who.workspaceId) {
      if (caller.isWanted) fail('mcp_server_not_found', label.slice(0, 80));
      return null;
    }
    for (const name of ['authorization', 'headers'])
      if (fields.has(name))
        fail('invalid_request', fields.pathOf(name), 'a registered server gets what is stored for it; leave it out');
    if (caller.isWork)
      fail('invalid_request', at, 'goes with calls of clients only: what batches ask is asked again where it fails');
    const rules = { allows: allowedTools(fields), asksFor: approvals(fields) };
    const talk = await talkTo(label, caller, deps);
    try {
      const tools = (await listed(label, talk)).filter((tool) => rules.allows(tool));
      if (tools.length > MOST_TOOLS)
        fail(
          'invalid_request',
          fields.pathOf('allowed_tools'),
          `must leave at most ${MOST_TOOLS} tools, not ${tools.length}`,
        );
      return {
        functions: tools.map((tool) => functionOf(label, tool, { talk, asks: rules.asksFor(tool) })),
        before: listItem(label, tools),
        close: talk.close,
      };
    } catch (error) {
      await talk.close();
      throw error;
    }
  },
});

type ToolRule = (tool: JsonObject) => boolean;

const nameOf = (tool: JsonObject): string => textIn(tool.name) ?? '';

/** A list of names, or a filter of names and of tools that only read. */
function filterOf(value: unknown, path: string): ToolRule {
  if (Array.isArray(value)) {
    const names = new Set(
      value.map((name, index) => (typeof name === 'string' ? name : fault(`${path}[${index}]`, 'a string', name))),
    );
    return (tool) => names.has(nameOf(tool));
  }
  const fields = new Fields(value, path);
  const names = fields.strings('tool_names');
  const readOnly = fields.boolean('read_only');
  return (tool) =>
    (names === undefined || names.includes(nameOf(tool))) &&
    (readOnly === undefined || (objectIn(tool.annotations).readOnlyHint === true) === readOnly);
}

function allowedTools(fields: Fields): ToolRule {
  const given = fields.take('allowed_tools');
  return given === undefined ? () => true : filterOf(given, fields.pathOf('allowed_tools'));
}

/** A tool waits for a person unless the request says that it runs by itself, as at the vendor. */
function approvals(fields: Fields): ToolRule {
  const given = fields.take('require_approval');
  const path = fields.pathOf('require_approval');
  if (given === undefined || given === 'always') return () => true;
  if (given === 'never') return () => false;
  if (!isObject(given)) return fault(path, 'always, never or an object', given);
  const inner = new Fields(given, path);
  const [always, never] = ['always', 'never'].map((name) => {
    const value = inner.take(name);
    return value === undefined ? null : filterOf(value, `${path}.${name}`);
  });
  return (tool) => {
    if (always?.(tool)) return true;
    return never ? !never(tool) : !always;
  };
}

async function listed(label: string, talk: ServerTalk): Promise<JsonObject[]> {
  const tools: JsonObject[] = [];
  let cursor: string | undefined;
  try {
    for (let page = 0; page < MOST_PAGES; page++) {
      const result = await talk.ask('tools/list', cursor === undefined ? {} : { cursor });
      tools.push(...objectsIn(result.tools));
      cursor = textIn(result.nextCursor);
      if (cursor === undefined) break;
    }
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'mcp_tool_failed')
      fail('mcp_tools_unavailable', label, error.message);
    throw error;
  }
  return tools;
}

const listItem = (label: string, tools: readonly JsonObject[]) => ({
  item: {
    id: newObjectId('mcpList'),
    type: 'mcp_list_tools',
    server_label: label,
    tools: tools.map(({ name, description, inputSchema, annotations }) => ({
      name,
      description: description ?? null,
      input_schema: inputSchema ?? { type: 'object' },
      annotations: annotations ?? null,
    })),
  },
  events: [{ type: 'response.mcp_list_tools.in_progress' }, { type: 'response.mcp_list_tools.completed' }],
});

function functionOf(
  label: string,
  tool: JsonObject,
  { talk, asks }: { talk: ServerTalk; asks: boolean },
): HostedFunction {
  const name = nameOf(tool);
  const shown = (call: HostedCall) => ({
    id: call.id,
    type: 'mcp_call',
    server_label: label,
    name,
    arguments: call.arguments,
  });
  return {
    name: mcpFunctionName(label, name),
    item: 'mcp_call',
    description: textIn(tool.description) ?? '',
    parameters: isObject(tool.inputSchema) ? tool.inputSchema : { type: 'object' },
    isChosenBy: ({ type, server_label, name: chosen }) =>
      type === 'mcp' && server_label === label && (chosen === undefined || chosen === null || chosen === name),
    asks: (call) =>
      asks
        ? {
            id: newObjectId('mcpApproval'),
            type: 'mcp_approval_request',
            server_label: label,
            name,
            arguments: call.arguments,
          }
        : null,
    begins: (call) => ({
      item: {
        ...shown(call),
        arguments: '',
        status: 'in_progress',
        approval_request_id: call.approvalId ?? null,
        output: null,
        error: null,
      },
      events: [
        { type: 'response.mcp_call.in_progress' },
        { type: 'response.mcp_call_arguments.delta', delta: call.arguments },
        { type: 'response.mcp_call_arguments.done', arguments: call.arguments },
      ],
    }),
    runs: async (call) => {
      const { output, error } = await called(name, call.arguments, talk);
      const status = error === null ? 'completed' : 'failed';
      return {
        item: { ...shown(call), status, approval_request_id: call.approvalId ?? null, output, error },
        events: [{ type: `response.mcp_call.${status}` }],
        output: error === null ? (output ?? '') : `Error: ${mcpErrorText(error)}`,
      } satisfies Ran;
    },
    ...(!comesToTheSame(tool) && {
      interrupted: (call: HostedCall): Ran => ({
        item: {
          ...shown(call),
          ...{ status: 'failed', approval_request_id: call.approvalId ?? null, output: null, error: INTERRUPTED },
        },
        events: [{ type: 'response.mcp_call.failed' }],
        output: `Error: ${INTERRUPTED.message}`,
      }),
    }),
  };
}

const INTERRUPTED = {
  type: 'http_error',
  code: 502,
  message:
    'The gateway was interrupted while the tool ran, so it is not known whether the tool has done its work. It was not called again.',
} as const;

/** By the word of its server, a second call changes nothing that the first has not changed. */
function comesToTheSame({ annotations }: JsonObject): boolean {
  const { readOnlyHint, idempotentHint } = objectIn(annotations);
  return readOnlyHint === true || idempotentHint === true;
}

/** What came of a call; what the server or a policy refused is told to the model. */
async function called(
  name: string,
  text: string,
  talk: ServerTalk,
): Promise<{ output: string | null; error: McpCallError | null }> {
  const args = argumentsIn(text);
  if (!args) return { output: null, error: NO_ARGUMENTS };
  try {
    const result = await talk.ask('tools/call', { name, arguments: args });
    const output = contentText(result).slice(0, LONGEST_OUTPUT);
    if (result.isError !== true) return { output, error: null };
    const content = [{ type: 'text', text: output || 'The tool failed.' }];
    return { output: null, error: { type: 'mcp_tool_execution_error', content } };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status >= 500) throw error;
    return { output: null, error: { type: 'http_error', code: error.status, message: error.message } };
  }
}

/** JSON-RPC's number for arguments that do not fit. */
const NO_ARGUMENTS: McpCallError = {
  ...{ type: 'mcp_protocol_error', code: -32_602, message: 'The arguments were no JSON object.' },
};

function argumentsIn(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function contentText(result: JsonObject): string {
  const parts = objectsIn(result.content).map((part) =>
    part.type === 'text' ? (textIn(part.text) ?? '') : JSON.stringify(part),
  );
  if (parts.length > 0) return parts.join('\n');
  return result.structuredContent === undefined ? '' : JSON.stringify(result.structuredContent);
}
