import { createHash } from 'node:crypto';
import { fail } from '../core/errors.ts';
import type { Changed, Dropped } from './dialect.ts';
import { Fields } from './fields.ts';
import type { DialectName, JsonObject, ModelRequest, OpaquePart, Part, Tool, ToolCallPart, Turn } from './ir.ts';
import { isObject, objectIn, parsed, present, textIn } from './json.ts';
import { readTool } from './responses/decode-tools.ts';

/**
 * Tools that only one dialect has, as functions, which every dialect has: tools in a namespace, custom tools, the client's
 * own shell. `PlainCalls` turns the calls in the answer back. Tools that run at the one provider, such as a search in the web, are
 * left out: a model can answer without them.
 */
export interface PlainTools {
  readonly request: ModelRequest;
  /** By the name of the function: the tool that the client knows. Empty: the answer's calls stay as they are. */
  readonly known: ReadonlyMap<string, KnownTool>;
  readonly dropped: readonly Dropped[];
  readonly changed: readonly Changed[];
}

export interface KnownTool {
  readonly name: string;
  readonly namespace?: string;
  /** `custom`: takes free text. `shell`: the client's own shell, which has no name. */
  readonly kind: 'function' | 'custom' | 'shell';
}

type FunctionTool = Extract<Tool, { type: 'function' }>;

/** What the gateway runs itself where it can: a client that asks for one would miss it. */
const RUN_HERE = new Set(['file_search', 'code_interpreter', 'mcp', 'image_generation']);
const NONE: ReadonlySet<string> = new Set();
const SHELL = 'local_shell';
/** The member of a function's arguments that holds the free text of a custom tool. */
const INPUT = 'input';

/** `standingBy`: tools that run here where the provider has none; others of their kind are left out. */
export function plainTools(
  request: ModelRequest,
  into: DialectName,
  standingBy: ReadonlySet<string> = NONE,
): PlainTools {
  const made = new Flattening(into, standingBy);
  const tools = request.tools?.flatMap((tool, index) => made.tool(tool, tool.at ?? `tools[${index}]`));
  if (!made.isNeeded && !request.turns.some(({ parts }) => parts.some(isForeign(into))))
    return { request, known: made.known, dropped: [], changed: [] };
  const turns = request.turns.flatMap((turn) => made.turn(turn));
  const { dropped, changed, known } = made;
  if (tools?.length === 0 && request.toolChoice && request.toolChoice.type !== 'auto')
    fail('invalid_request', 'tool_choice', 'asks for tools, and the provider has none of those that are given');
  const { tools: _given, toolChoice, ...others } = request;
  const hasTools = tools !== undefined && tools.length > 0;
  return {
    request: present<ModelRequest>({
      ...others,
      turns,
      tools: hasTools ? tools : undefined,
      toolChoice: hasTools ? toolChoice : undefined,
    }),
    known,
    dropped,
    changed,
  };
}

/** Parts of a conversation that need another form here. */
const isForeign =
  (into: DialectName) =>
  (part: Part): boolean =>
    (part.type === 'opaque' && part.dialect === 'responses' && into !== 'responses') ||
    (part.type === 'tool-call' && (part.custom === true || namespaceOf(part) !== undefined));

const namespaceOf = (part: ToolCallPart): string | undefined => textIn(part.ext?.responses?.namespace);

class Flattening {
  readonly known = new Map<string, KnownTool>();
  readonly dropped: Dropped[] = [];
  readonly changed: Changed[] = [];
  readonly #into: DialectName;
  readonly #standingBy: ReadonlySet<string>;
  readonly #names = new Set<string>();
  isNeeded = false;

  constructor(into: DialectName, standingBy: ReadonlySet<string>) {
    this.#standingBy = standingBy;
    this.#into = into;
  }

  tool(tool: Tool, at: string): Tool[] {
    if (tool.type === 'function') return this.#named(tool, at);
    this.isNeeded ||= tool.type === 'custom' || tool.dialect !== this.#into;
    if (tool.type === 'custom') {
      this.changed.push({ path: at, how: 'as a function' });
      return this.#custom(tool, { name: tool.name, kind: 'custom' }, at);
    }
    if (tool.dialect === this.#into) return [tool];
    if (tool.dialect === 'responses' && tool.raw.type === 'namespace') return this.#namespace(tool.raw, at);
    if (tool.dialect === 'responses' && tool.raw.type === SHELL) return this.#shell(at);
    const type = textIn(tool.raw.type) ?? '';
    if (tool.dialect === 'responses' && (RUN_HERE.has(type) || this.#standingBy.has(type)))
      fail('hosted_tool_off', at, String(tool.raw.type));
    const why = `only ${tool.dialect} has this tool`;
    this.dropped.push({ path: textIn(tool.raw.type) ? `${at} (${tool.raw.type})` : at, why, matters: false });
    return [];
  }

  #namespace(raw: JsonObject, at: string): Tool[] {
    const fields = new Fields(raw, at);
    const namespace = fields.string('name');
    this.changed.push({ path: at, how: 'its tools as functions' });
    const inner = fields.each('tools', readTool) ?? [];
    return inner.flatMap((tool) => {
      const place = tool.at ?? at;
      if (tool.type === 'opaque') return this.tool(tool, place);
      const known: KnownTool = { name: tool.name, namespace, kind: tool.type };
      if (tool.type === 'custom') return this.#custom(tool, known, place);
      const name = flatName(namespace, tool.name);
      this.known.set(name, known);
      return this.#named({ ...tool, name }, place);
    });
  }

  #custom(tool: Extract<Tool, { type: 'custom' }>, known: KnownTool, at: string): Tool[] {
    const name = known.namespace === undefined ? tool.name : flatName(known.namespace, tool.name);
    this.known.set(name, known);
    const { description, format } = tool;
    const grammar = textIn(objectIn(format?.grammar).definition);
    const text = [description, grammar && `The input must follow this grammar:\n${grammar}`]
      .filter(Boolean)
      .join('\n\n');
    const input = { type: 'string', description: 'The whole input of the tool, as plain text.' };
    const parameters = {
      type: 'object',
      properties: { [INPUT]: input },
      required: [INPUT],
      additionalProperties: false,
    };
    return this.#named(
      present<FunctionTool>({ type: 'function', name, description: text || undefined, parameters, at }),
      at,
    );
  }

  #shell(at: string): Tool[] {
    this.known.set(SHELL, { name: SHELL, kind: 'shell' });
    this.changed.push({ path: at, how: 'as a function' });
    const properties = {
      command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
      working_directory: { type: 'string' },
      timeout_ms: { type: 'integer' },
    };
    const parameters = { type: 'object', properties, required: ['command'], additionalProperties: false };
    const description = 'Runs a command on the computer of the user and gives its output.';
    return this.#named({ type: 'function', name: SHELL, description, parameters, at }, at);
  }

  /** Two functions of one name would be refused by the provider, in words that the client does not know. */
  #named(tool: FunctionTool, at: string): Tool[] {
    if (this.#names.has(tool.name) && this.known.has(tool.name))
      fail(
        'invalid_request',
        `${at}.name`,
        `makes a second function "${tool.name}" for the provider; rename one of them`,
      );
    this.#names.add(tool.name);
    return [tool];
  }

  /** Without the items that only their provider can read, and calls of tools as calls of functions. */
  turn(turn: Turn): Turn[] {
    if (!turn.parts.some(isForeign(this.#into))) return [turn];
    const turns: Turn[] = [];
    const parts: Part[] = [];
    for (const part of turn.parts) {
      const made = this.#part(part);
      if (made?.type === 'tool-result' && turn.role !== 'tool')
        turns.push({ role: 'tool', parts: [made], at: part.at });
      else if (made) parts.push(made);
    }
    if (parts.length > 0) turns.unshift({ ...turn, parts });
    return turns;
  }

  #part(part: Part): Part | null {
    if (part.type === 'tool-call') return plainCall(part);
    if (part.type !== 'opaque' || part.dialect !== 'responses') return part;
    if (part.raw.type === 'local_shell_call') return shellCall(part);
    if (part.raw.type === 'local_shell_call_output') return shellResult(part);
    const type = textIn(part.raw.type) ?? '';
    // What such a call has found stands in the answer that followed it.
    if (!type.endsWith('_call')) return part;
    this.dropped.push({ path: `${part.at ?? 'input'} (${type})`, why: 'only responses has this item', matters: false });
    return null;
  }
}

function plainCall(part: ToolCallPart): ToolCallPart {
  const { custom, ext, ...call } = part;
  const { namespace: _namespace, ...members } = ext?.responses ?? {};
  const namespace = namespaceOf(part);
  const rest = Object.keys(members).length > 0 ? { ...ext, responses: members } : { ...ext, responses: undefined };
  return present<ToolCallPart>({
    ...call,
    name: namespace === undefined ? part.name : flatName(namespace, part.name),
    argsText: custom ? JSON.stringify({ [INPUT]: part.argsText }) : part.argsText,
    ext: Object.values(rest).some(Boolean) ? present(rest) : undefined,
  });
}

const shellCall = ({ raw, at }: OpaquePart): Part => {
  const { command, working_directory, timeout_ms } = objectIn(raw.action);
  const argsText = JSON.stringify(present({ command, working_directory, timeout_ms }));
  return present<Part>({ type: 'tool-call', id: textIn(raw.call_id) ?? '', name: SHELL, argsText, at });
};

const shellResult = ({ raw, at }: OpaquePart): Part => {
  const text = textIn(raw.output) ?? '';
  const id = textIn(raw.call_id) ?? textIn(raw.id) ?? '';
  return present<Part>({ type: 'tool-result', id, parts: text ? [{ type: 'text', text }] : [], at });
};

/** The longest name that every provider takes. */
const LONGEST_NAME = 64;

/** The name of a function for a tool in a namespace: the same in every call, whatever else is given. */
export function flatName(namespace: string, name: string): string {
  const joined = namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`;
  const plain = joined.replace(/[^A-Za-z0-9_-]/g, '_');
  if (plain === joined && plain.length <= LONGEST_NAME) return plain;
  const hash = createHash('sha256')
    .update(JSON.stringify([namespace, name]))
    .digest('hex')
    .slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - 9)}_${hash}`;
}

/** A call of a function as a call of the tool that the client knows. */
export function knownCall(part: ToolCallPart, tool: KnownTool): Part {
  if (tool.kind === 'shell') return shellItem(part);
  const { name, namespace } = tool;
  const ext = namespace === undefined ? part.ext : { ...part.ext, responses: { ...part.ext?.responses, namespace } };
  const call = present<ToolCallPart>({ ...part, name, ext });
  return tool.kind === 'custom' ? { ...call, custom: true, argsText: freeText(part.argsText) } : call;
}

/** What the model meant as the input, even where it forgot the form. */
function freeText(argsText: string): string {
  const args = parsed(argsText);
  return (isObject(args) ? textIn(args[INPUT]) : textIn(args)) ?? argsText;
}

function shellItem({ id, argsText }: ToolCallPart): OpaquePart {
  const args = objectIn(parsed(argsText));
  const command = Array.isArray(args.command) ? args.command.map(String) : ['bash', '-lc', String(args.command ?? '')];
  const { working_directory = null, timeout_ms = null } = args;
  const action = { type: 'exec', command, env: {}, timeout_ms, user: null, working_directory };
  const raw = { type: 'local_shell_call', id: `lsh_${id}`, call_id: id, status: 'completed', action };
  return { type: 'opaque', dialect: 'responses', raw };
}
