import { type Fields, fault } from '../fields.ts';
import type { Settings, Tool, ToolChoice } from '../ir.ts';
import { present } from '../json.ts';
import { eachOf, extOf, innerFields, wordOf } from './fields.ts';
import { jsonSchema } from './json-schema.ts';

/** A tool here holds many functions, or is one of Google's own. */
export function decodeTools(fields: Fields): Settings['tools'] {
  const tools = eachOf(fields, 'tools', (tool): Tool[] => {
    const functions = eachOf(tool, 'functionDeclarations', readFunction) ?? [];
    const raw = tool.rest();
    return raw ? [...functions, { type: 'opaque', dialect: 'gemini', raw, at: tool.path }] : functions;
  })?.flat();
  return tools && tools.length > 0 ? tools : undefined;
}

function readFunction(fields: Fields): Tool {
  const schema = fields.json('parameters');
  return present<Tool>({
    type: 'function',
    name: fields.string('name'),
    description: fields.optionalString('description'),
    parameters: fields.json('parametersJsonSchema') ?? (schema && jsonSchema(schema)),
    ext: extOf(fields),
    at: fields.path,
  });
}

/** What of the tool config has no meaning elsewhere is left over. */
export function decodeToolConfig(fields: Fields): { toolChoice?: ToolChoice; leftOver?: object } {
  const config = innerFields(fields, 'toolConfig');
  const calling = config && innerFields(config, 'functionCallingConfig');
  if (!calling) return { leftOver: config?.rest() };
  const toolChoice = readChoice(calling);
  const own = calling.rest();
  const rest = { ...config.rest(), ...(own && { functionCallingConfig: own }) };
  return { toolChoice, leftOver: Object.keys(rest).length > 0 ? rest : undefined };
}

function readChoice(fields: Fields): ToolChoice | undefined {
  const mode = wordOf(fields, 'mode');
  const names = fields.strings('allowedFunctionNames');
  const hasNames = names !== undefined && names.length > 0;
  switch (mode) {
    case undefined:
      return undefined;
    case 'AUTO':
      return { type: 'auto' };
    case 'NONE':
      return { type: 'none' };
    case 'ANY':
      if (!hasNames) return { type: 'required' };
      return names.length === 1 ? { type: 'tool', name: names[0]! } : { type: 'allowed', mode: 'required', names };
    case 'VALIDATED':
      return hasNames ? { type: 'allowed', mode: 'auto', names } : { type: 'auto' };
    default:
      return fault(fields.pathOf('mode'), 'one of AUTO, ANY, NONE, VALIDATED', mode);
  }
}
