import type { ProgramEnd } from '../../core/code-runner.ts';
import type { McpServer } from '../server/server.ts';
import { functionNames, identifierOf, stubOf } from '../tools/python-stubs.ts';
import type { ToolDefinition } from '../tools/ranking.ts';
import type { Json } from './conversation.ts';
import { MOST_DESCRIBED, membersOf, SEARCH_TOOLS, UnfitArguments } from './search-tools.ts';

/** What one program may do with tools. */
export const MOST_CALLS = 200;
export const MOST_PARALLEL = 10;
export const MOST_ARGUMENT_BYTES = 1 << 20;
export const MOST_ANSWER_BYTES = 4 << 20;

export interface CodeBounds {
  readonly seconds: number;
  readonly memoryMb: number;
  readonly mostCodeBytes: number;
}

/** The three tools that a model has which writes programs. */
export const codeTools = ({ seconds, memoryMb }: CodeBounds): readonly Json[] => [
  SEARCH_TOOLS[0]!,
  {
    name: 'describe_tools',
    description: 'The Python signatures of tools that were found.',
    inputSchema: SEARCH_TOOLS[1]!.inputSchema,
    annotations: SEARCH_TOOLS[1]!.annotations,
  },
  {
    name: 'run_code',
    description: [
      'Runs a Python program that calls tools. Every tool that search_tools finds is an async function in it: await weather__forecast(city="Bern"). Look up parameters with describe_tools first.',
      'A call gives what the tool answers: its structured content, else the JSON in its text, else its text. A tool that fails raises ToolError, with .message.',
      'Only what the program prints comes back, so do loops, filters and sums in it and print little.',
      `Each program starts empty, without network: ${seconds} s, ${memoryMb} MB, ${MOST_CALLS} calls, ${MOST_PARALLEL} at a time with asyncio.gather.`,
    ].join(' '),
    inputSchema: {
      type: 'object',
      properties: { code: { type: 'string', description: 'Python, with await at the top level.' } },
      required: ['code'],
      additionalProperties: false,
    },
  },
];

export function readCode(given: unknown, { mostCodeBytes }: CodeBounds): string {
  const { code } = membersOf(given, ['code']);
  if (typeof code !== 'string' || code.trim() === '') throw new UnfitArguments('code must be a text that is not empty');
  const size = Buffer.byteLength(code);
  if (size > mostCodeBytes) throw new UnfitArguments(`code has ${size} bytes; give at most ${mostCodeBytes}`);
  return code;
}

/** The functions of tools, by their names. `servers` are all that the caller has, also those that did not answer. */
export function functionsOf(
  tools: readonly ToolDefinition[],
  servers: readonly McpServer[],
): ReadonlyMap<string, string> {
  const known = new Set<string>();
  const shared = new Set<string>();
  for (const { slug } of servers) (known.has(identifierOf(slug)) ? shared : known).add(identifierOf(slug));
  const isContested = (name: string) => shared.has(identifierOf(name.split('__', 1)[0]!));
  return functionNames(
    tools.map(({ name }) => String(name)),
    isContested,
  );
}

const LONGEST_BEGINNING = 50;

/** The servers whose tools a program may mean. */
export const serversIn = (code: string, servers: readonly McpServer[]): readonly McpServer[] =>
  servers.filter(({ slug }) => code.includes(`${identifierOf(slug)}__`.slice(0, LONGEST_BEGINNING)));

/** What `describe_tools` answers: declarations, and which were not found. */
export function stubsOf(
  names: readonly string[],
  tools: readonly ToolDefinition[],
  functions: ReadonlyMap<string, string>,
): string {
  const wanted = new Set(names.slice(0, MOST_DESCRIBED));
  const found = tools.filter(({ name }) => {
    const own = functions.get(String(name));
    const isWanted = wanted.has(String(name)) || (own !== undefined && wanted.has(own));
    wanted.delete(String(name));
    if (own !== undefined) wanted.delete(own);
    return isWanted;
  });
  const stubs = found.map((tool) => stubOf(tool, functions.get(String(tool.name)) ?? null));
  const missing =
    wanted.size > 0 ? [`# Not available: ${[...wanted].map((name) => name.slice(0, 80)).join(', ')}`] : [];
  return [...stubs, ...missing].join('\n\n');
}

/** The calls of a program, for the case that it cannot tell of them itself. */
export interface CallsMade {
  readonly answered: number;
  readonly underWay: readonly string[];
}

/** What the model reads of a program that has ended. */
export function programText({ printed, how }: ProgramEnd, calls: CallsMade, bounds: CodeBounds): string {
  const { answered, underWay } = calls;
  const begun = [
    `Calls of tools that were answered: ${answered}.`,
    ...(underWay.length > 0
      ? [`Given up before their answers: ${[...new Set(underWay)].slice(0, 20).join(', ')}.`]
      : []),
    'What they have done stays done.',
  ].join(' ');
  switch (how) {
    case 'well':
    case 'failed':
      return printed === '' ? 'The program ended and printed nothing. Print what you want to see.' : printed;
    case 'too_long':
      return `The program was stopped: it ran for more than ${bounds.seconds} seconds, and what it had printed is lost. ${begun}`;
    case 'crashed':
      return `The program was stopped: its sandbox broke, probably because it needs more than ${bounds.memoryMb} MB of memory or made more than ${MOST_CALLS} calls. ${begun}`;
    case 'busy':
      return 'The program was not run: all sandboxes of this gateway are busy. Try again.';
    case 'broken':
      return 'The program was not run: the sandbox of this gateway does not start. Its operator has been told.';
  }
}
