import type { JsonObject, ModelRequest, Tool } from '../ir.ts';
import { present } from '../json.ts';
import type { Losses } from '../losses.ts';
import { writtenOut } from './references.ts';
import { openApiSchema } from './schema.ts';
import type { FunctionDeclaration, Schema, ToolConfig, Tool as WireTool } from './wire.ts';

/** In the vendor's own form where it fits, which the oldest models read too, else as JSON Schema. */
export function schemaFor(
  schema: JsonObject,
  path: string,
): { readonly openApi: Schema | null; readonly json: JsonObject; readonly hasReferences: boolean } {
  const { schema: json, hasReferences, isRecursive } = writtenOut(schema, path);
  return { openApi: isRecursive ? null : openApiSchema(json), json, hasReferences };
}

/** All functions are in one tool; a tool of Gemini itself is one of its own. */
export function encodeTools({ tools }: ModelRequest, losses: Losses): WireTool[] | undefined {
  const declarations: FunctionDeclaration[] = [];
  const others: WireTool[] = [];
  for (const [index, tool] of (tools ?? []).entries()) {
    const path = `tools[${index}]`;
    if (tool.type === 'function') declarations.push(declaration(tool, path, losses));
    else if (tool.type === 'opaque' && tool.dialect === 'gemini') others.push(tool.raw as WireTool);
    else
      losses.node(
        tool,
        path,
        tool.type === 'custom' ? 'gemini has no custom tools' : `only ${tool.dialect} has this tool`,
      );
  }
  const made = declarations.length > 0 ? [{ functionDeclarations: declarations }, ...others] : others;
  return made.length > 0 ? made : undefined;
}

function declaration(tool: Extract<Tool, { type: 'function' }>, path: string, losses: Losses): FunctionDeclaration {
  if (tool.strict !== undefined) losses.member(tool, path, 'strict', 'gemini has no such setting');
  if (tool.cache) losses.member(tool, path, 'cache', 'gemini decides by itself what it caches');
  return {
    ...losses.ext(tool, path),
    ...present({ name: tool.name, description: tool.description }),
    ...parameters(tool, path, losses),
  };
}

function parameters(
  tool: Extract<Tool, { type: 'function' }>,
  path: string,
  losses: Losses,
): Pick<FunctionDeclaration, 'parameters' | 'parametersJsonSchema'> {
  if (!tool.parameters || takesNothing(tool.parameters)) return {};
  const { openApi, json, hasReferences } = schemaFor(tool.parameters, tool.at ?? path);
  if (hasReferences) losses.change(tool, path, 'the references in its schema are written out');
  return openApi ? { parameters: openApi } : { parametersJsonSchema: json };
}

/** The vendor refuses an object without members, and wants no parameters at all then. */
function takesNothing(schema: JsonObject): boolean {
  const { type, properties, additionalProperties } = schema;
  if (type !== 'object' || (additionalProperties !== undefined && additionalProperties !== false)) return false;
  for (const _ in properties as object) return false;
  for (const name in schema) if (!PLAIN.has(name)) return false;
  return true;
}

const PLAIN = new Set(['type', 'properties', 'additionalProperties', 'required', '$schema']);

export function encodeToolConfig({ toolChoice }: ModelRequest): ToolConfig['functionCallingConfig'] {
  switch (toolChoice?.type) {
    case undefined:
      return undefined;
    case 'none':
      return { mode: 'NONE' };
    case 'auto':
      return { mode: 'AUTO' };
    case 'required':
      return { mode: 'ANY' };
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [toolChoice.name] };
    case 'allowed':
      // VALIDATED lets the model choose between words and these functions; AUTO would take no list.
      return {
        mode: toolChoice.mode === 'required' ? 'ANY' : 'VALIDATED',
        allowedFunctionNames: [...toolChoice.names],
      };
    default:
      return toolChoice satisfies never;
  }
}
