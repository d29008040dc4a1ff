import type { ApiTool, ApiTools } from '../openapi/tools.ts';
import { isForwardable, normalised } from './header-names.ts';

/** The tools of an API, as a server offers them. */
export interface OfferedTools {
  readonly title: string | null;
  readonly version: string | null;
  readonly byName: ReadonlyMap<string, ApiTool>;
  /** Their definitions, as JSON. */
  readonly list: string;
}

/** Credentials, identities and what the gateway sets itself are no arguments: what `taken` names, and what no client may send. */
export function offeredTools({ title, version, tools }: ApiTools, taken: readonly string[]): OfferedTools {
  const kept = new Set(taken.map(normalised));
  const isOffered = (header: string) => isForwardable(normalised(header)) && !kept.has(normalised(header));
  const offered = tools.map((tool) => withoutHeaders(tool, (header) => !isOffered(header)));
  let list: string | null = null;
  return {
    title,
    version,
    byName: new Map(offered.map((tool) => [tool.definition.name, tool])),
    get list() {
      list ??= JSON.stringify(offered.map(({ definition }) => definition));
      return list;
    },
  };
}

function withoutHeaders(tool: ApiTool, isKept: (header: string) => boolean): ApiTool {
  const gone = tool.arguments.filter((each) => each.in === 'header' && isKept(each.name));
  if (gone.length === 0) return tool;
  const names = new Set(gone.map(({ argument }) => argument));
  const { properties, required = [], ...schema } = tool.definition.inputSchema;
  const needed = required.filter((name) => !names.has(name));
  const inputSchema = {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name))),
    ...(needed.length > 0 && { required: needed }),
  };
  const rest = tool.arguments.filter((each) => !names.has(each.argument));
  return { ...tool, definition: { ...tool.definition, inputSchema }, arguments: rest };
}
