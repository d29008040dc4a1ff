import type { ModelRequest, Tool, Turn } from '../ir.ts';
import { present } from '../json.ts';
import { cachePoint, type Notes } from './encode-messages.ts';
import { takesToolCachePoints } from './models.ts';
import type { ToolChoice, ToolConfig, ToolSpec, Tool as WireTool } from './wire.ts';

const EVERYTHING = { type: 'object', properties: {} };

/** The service wants tools declared in every call of a conversation that has used one. */
export function encodeToolConfig(request: ModelRequest, notes: Notes): ToolConfig | undefined {
  const { losses } = notes;
  const { toolChoice } = request;
  const called = calledIn(request.turns);
  const tools = toolChoice?.type === 'none' && called.length === 0 ? leftOut(request, notes) : declared(request, notes);
  if (toolChoice?.type === 'none' && called.length > 0)
    losses.need('toolChoice', 'converse cannot forbid tools in a conversation that has used them');
  if (tools.length === 0 && called.length > 0) {
    losses.changeSetting('tools', 'the tools of earlier calls are declared, because converse wants that');
    return { tools: called.map(formerTool) };
  }
  if (tools.length > 0) return present<ToolConfig>({ tools, toolChoice: encodeToolChoice(request) });
  if (toolChoice && !(toolChoice.type === 'none' && request.tools)) losses.hint('toolChoice', 'no tools are sent');
  return undefined;
}

/** None is the only choice that cannot be said; a model that knows no tools makes it. */
function leftOut({ tools }: ModelRequest, { losses }: Notes): WireTool[] {
  if (tools && tools.length > 0)
    losses.changeSetting('toolChoice', 'the tools are not sent, so that none can be called');
  return [];
}

const calledIn = (turns: readonly Turn[]): string[] => [
  ...new Set(turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool-call' ? [part.name] : [])))),
];

const formerTool = (name: string): WireTool => ({
  toolSpec: {
    name,
    description: 'Was used earlier in this conversation and cannot be called any more.',
    inputSchema: { json: EVERYTHING },
  },
});

function declared({ tools = [], toolChoice }: ModelRequest, notes: Notes): WireTool[] {
  const allowed = toolChoice?.type === 'allowed' ? new Set(toolChoice.names) : null;
  if (allowed && tools.length > 0) notes.losses.changeSetting('toolChoice', 'only the allowed tools are sent');
  return tools.flatMap((tool, index) =>
    allowed && 'name' in tool && !allowed.has(tool.name) ? [] : encodeTool(tool, `tools[${index}]`, notes),
  );
}

function encodeTool(tool: Tool, path: string, { losses, vendor }: Notes): WireTool[] {
  if (tool.type === 'opaque' && tool.dialect === 'converse') return [tool.raw as unknown as WireTool];
  if (tool.type !== 'function') {
    const why = tool.type === 'custom' ? 'converse has no custom tools' : `only ${tool.dialect} has this tool`;
    losses.node(tool, path, why);
    return [];
  }
  const toolSpec = present<ToolSpec>({
    name: tool.name,
    description: tool.description,
    inputSchema: { json: tool.parameters ?? EVERYTHING },
    strict: tool.strict,
  });
  const made: WireTool = { toolSpec: { ...losses.ext(tool, path), ...toolSpec } };
  if (!tool.cache) return [made];
  if (takesToolCachePoints(vendor)) return [made, cachePoint(tool.cache)];
  losses.member(tool, path, 'cache', 'this model refuses cache points among its tools');
  return [made];
}

function encodeToolChoice({ toolChoice }: ModelRequest): ToolChoice | undefined {
  switch (toolChoice?.type) {
    case 'auto':
      return { auto: {} };
    case 'required':
      return { any: {} };
    case 'tool':
      return { tool: { name: toolChoice.name } };
    case 'allowed':
      return toolChoice.mode === 'required' ? { any: {} } : { auto: {} };
    default:
      return undefined;
  }
}
