import { exampleOf } from './example.ts';
import { type Faults, withoutDirective } from './faults.ts';
import { isObject, type JsonObject } from './json.ts';

/** What a request says, whichever vendor's shape it had. */
export interface Prompt {
  /** The last text of the user. */
  readonly said: string;
  /** Set when the last message brings the result of a tool. */
  readonly toolResult?: string;
  readonly tools: readonly string[];
  /** Tools of which the first must be called, whatever was said. */
  readonly forced?: readonly string[];
  /** What the arguments of that tool must be like; undefined: nothing is said of it. */
  readonly argumentsOf?: (tool: string) => unknown;
  readonly oneCallAtMost?: boolean;
  /** The answer must be JSON: any object, or one that fits the schema. */
  readonly json?: 'object' | JsonObject;
}

export interface ToolCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** A call that a text asks for; null: it says no arguments. */
interface AskedCall {
  readonly name: string;
  readonly input: JsonObject | null;
}

/** What is answered, whichever vendor's shape it will have. With calls there is no text. */
export interface Reply {
  readonly calls: readonly ToolCall[];
  text(): string;
  /** The same text in the pieces it is streamed in, made one by one. */
  pieces(): Iterable<string>;
}

export function replyTo(prompt: Prompt, faults: Faults): Reply {
  const calls = callsFor(prompt);
  if (calls.length > 0) return { calls, text: () => '', pieces: () => [] };
  const text = prompt.json === undefined ? sentence(prompt) : jsonText(prompt, prompt.json);
  const { length, chunks } = faults;
  if (prompt.json !== undefined || (length === undefined && chunks === undefined)) {
    return { calls, text: () => text, pieces: () => inPieces(text) };
  }
  const total = Math.max(length ?? 0, chunks ?? 0);
  const pieces = () => inChunks(words(text, total), total, chunks ?? total);
  return { calls, text: () => [...pieces()].join(''), pieces };
}

/** About four characters are a token. */
export const tokensFor = (characters: number): number => Math.max(1, Math.ceil(characters / 4));

/** Arguments as they are streamed: a few characters at a time. */
export const jsonParts = (text: string): Iterable<string> => text.match(/.{1,8}/gsu) ?? [];

function sentence({ said, toolResult }: Prompt): string {
  if (toolResult !== undefined) return `This is a simulated answer. The tool said: "${shortened(toolResult)}"`;
  if (said === '') return 'This is a simulated answer.';
  return `This is a simulated answer. You said: "${shortened(withoutDirective(said))}"`;
}

const QUOTED_CHARACTERS = 80;

function shortened(text: string): string {
  // A prompt may be a megabyte; only its beginning is worth tidying.
  const line = text.slice(0, 1000).replace(/\s+/g, ' ').trim();
  if (line.length <= QUOTED_CHARACTERS) return line;
  const start = line.slice(0, QUOTED_CHARACTERS);
  return `${start.isWellFormed() ? start : start.slice(0, -1)}…`;
}

const jsonText = (prompt: Prompt, json: 'object' | JsonObject): string =>
  JSON.stringify(json === 'object' ? { simulated: true, answer: sentence(prompt) } : exampleOf(json));

/** About a word each, with the space before it; a long run without spaces is cut too. */
const inPieces = (text: string): Iterable<string> => text.match(/\s*\S{1,16}|\s+$/gu) ?? [];

// Letters of one to four bytes, so that split streams are split inside characters.
const FILLER = ['and', 'so', 'it', 'goes', 'on,', 'naïve', 'or', 'wise,', 'for', '言葉', 'after', 'word', '🌊'];

function* words(text: string, total: number): Generator<string> {
  const first = text.match(/\s*\S+/g) ?? [];
  for (let index = 0; index < total; index += 1) {
    yield first[index] ?? ` ${FILLER[(index - first.length) % FILLER.length]}`;
  }
}

function* inChunks(pieces: Iterable<string>, total: number, chunks: number): Generator<string> {
  let chunk = '';
  let taken = 0;
  let made = 0;
  for (const piece of pieces) {
    chunk += piece;
    taken += 1;
    if (taken >= Math.floor(((made + 1) * total) / chunks)) {
      yield chunk;
      chunk = '';
      made += 1;
    }
  }
}

function callsFor({ said, toolResult, tools, forced, argumentsOf, oneCallAtMost }: Prompt): ToolCall[] {
  if (tools.length === 0) return [];
  const asked = toolResult === undefined || forced ? callsIn(said, forced ?? tools) : [];
  if (asked.length === 0 && forced?.[0] !== undefined) asked.push({ name: forced[0], input: null });
  // A client that forces a call validates its arguments; a client that asks for one in words says them.
  const example = (name: string) => (forced ? exampleArguments(argumentsOf?.(name)) : {});
  const calls = asked.map(({ name, input }) => ({ name, input: input ?? example(name) }));
  return oneCallAtMost ? calls.slice(0, 1) : calls;
}

function exampleArguments(schema: unknown): JsonObject {
  const example = isObject(schema) ? exampleOf({ type: 'object', ...schema }) : {};
  return isObject(example) ? example : {};
}

const MOST_CALLS = 128;

/** Finds `call get_weather {"city":"Oslo"} and get_time` among the tools there are. */
export function callsIn(said: string, tools: readonly string[]): AskedCall[] {
  const calls: AskedCall[] = [];
  // The longest name first: `get_weather_now` is not `get_weather`.
  const names = [...tools].sort((one, other) => other.length - one.length);
  const start = /\bcall\s+/gi;
  const joint = /\s*(?:,\s*and\s|,|\sand\s)\s*(?:call\s+)?/iy;
  while (calls.length < MOST_CALLS && start.exec(said)) {
    let at = start.lastIndex;
    while (calls.length < MOST_CALLS) {
      const name = names.find((tool) => said.startsWith(tool, at) && !/[\w-]/.test(said[at + tool.length] ?? ' '));
      if (name === undefined) break;
      const { input, end } = argumentsAt(said, at + name.length);
      calls.push({ name, input });
      start.lastIndex = end;
      joint.lastIndex = end;
      if (!joint.test(said)) break;
      at = joint.lastIndex;
    }
  }
  return calls;
}

function argumentsAt(said: string, from: number): { input: JsonObject | null; end: number } {
  const start = from + (/^\s*/.exec(said.slice(from))?.[0].length ?? 0);
  const end = said[start] === '{' ? endOfObject(said, start) : start;
  try {
    const input: unknown = JSON.parse(said.slice(start, end));
    if (isObject(input)) return { input, end };
  } catch {
    // No JSON follows the name.
  }
  return { input: null, end: from };
}

const LONGEST_ARGUMENTS = 65_536;

function endOfObject(text: string, start: number): number {
  const limit = Math.min(text.length, start + LONGEST_ARGUMENTS);
  let depth = 0;
  let inString = false;
  for (let at = start; at < limit; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth += 1;
    else if (character === '}') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return limit;
}
