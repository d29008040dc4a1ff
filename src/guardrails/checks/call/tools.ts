type Body = Readonly<Record<string, unknown>>;

export interface NamedTool {
  readonly type: string;
  readonly name: string | null;
}

const isObject = (value: unknown): value is Body =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const objectsIn = (value: unknown): Body[] => (Array.isArray(value) ? value.filter(isObject) : []);
const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The tools that a request offers to its model, in the shapes of all APIs, so that no shape goes round a rule. */
export function toolsIn(body: Body): NamedTool[] {
  const config = isObject(body.toolConfig) ? body.toolConfig : {};
  return [
    ...[...objectsIn(body.tools), ...objectsIn(config.tools)].flatMap(named),
    // The older form of OpenAI's API.
    ...objectsIn(body.functions).map((tool): NamedTool => ({ type: 'function', name: textIn(tool.name) })),
  ];
}

function named(tool: Body): NamedTool[] {
  const declared = [...objectsIn(tool.functionDeclarations), ...objectsIn(tool.function_declarations)];
  if (declared.length > 0) return declared.map(({ name }) => ({ type: 'function', name: textIn(name) }));
  const inner = [tool.function, tool.toolSpec, tool.custom].filter(isObject);
  const names = [tool, ...inner].map(({ name }) => textIn(name)).filter((name) => name !== null);
  const type = textIn(tool.type) ?? 'function';
  return names.length > 0 ? [...new Set(names)].map((name) => ({ type, name })) : [{ type, name: null }];
}
