import type { ToolDefinition } from '../tools/ranking.ts';
import { isObject, type Json } from './conversation.ts';

/** The three tools that stand for all others. Their definitions are all that a model has to read beforehand. */

const READS = { readOnlyHint: true };
export const MOST_FOUND = 20;
const USUALLY_FOUND = 5;
export const MOST_DESCRIBED = 20;

export const SEARCH_TOOLS: readonly Json[] = [
  {
    name: 'search_tools',
    description:
      'Finds tools by what they do. Many tools stand behind this one: search before you say that something cannot be done. Answers names and short descriptions, best first; if the right one is missing, search again in other words.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What is to be done, in a few words.' },
        server: { type: 'string', description: 'Only tools of this server: the part of their names before "__".' },
        limit: { type: 'integer', minimum: 1, maximum: MOST_FOUND, default: USUALLY_FOUND },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: READS,
  },
  {
    name: 'describe_tools',
    description: 'The full definitions of tools that were found, with the form of their arguments.',
    inputSchema: {
      type: 'object',
      properties: { names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MOST_DESCRIBED } },
      required: ['names'],
      additionalProperties: false,
    },
    annotations: READS,
  },
  {
    name: 'call_tool',
    description: 'Calls a tool that was found. Its arguments have the form that describe_tools tells.',
    inputSchema: {
      type: 'object',
      properties: { name: { type: 'string' }, arguments: { type: 'object' } },
      required: ['name'],
      additionalProperties: false,
    },
  },
];

/** The arguments do not fit. A model reads why, and tries again. */
export class UnfitArguments extends Error {}

export interface Search {
  readonly query: string;
  readonly server: string | null;
  readonly limit: number;
}

const LONGEST_QUERY = 1_000;

export function readSearch(given: unknown): Search {
  const { query, server = null, limit = USUALLY_FOUND } = membersOf(given, ['query', 'server', 'limit']);
  if (typeof query !== 'string' || query.trim() === '')
    throw new UnfitArguments('query must be a text that is not empty');
  if (query.length > LONGEST_QUERY) throw new UnfitArguments(`query must have at most ${LONGEST_QUERY} characters`);
  if (server !== null && typeof server !== 'string') throw new UnfitArguments('server must be a text');
  if (!Number.isInteger(limit) || Number(limit) < 1 || Number(limit) > MOST_FOUND)
    throw new UnfitArguments(`limit must be a whole number from 1 to ${MOST_FOUND}`);
  return { query, server, limit: Number(limit) };
}

export function readNames(given: unknown): readonly string[] {
  const { names } = membersOf(given, ['names']);
  const isList = Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string');
  if (!isList || names.length > MOST_DESCRIBED)
    throw new UnfitArguments(`names must be a list of 1 to ${MOST_DESCRIBED} names of tools`);
  return names;
}

/** Checks the arguments of `call_tool`; they are taken from the bytes that were sent. */
export function checkCall(given: unknown): { readonly name: string; readonly hasArguments: boolean } {
  const { name, arguments: inner } = membersOf(given, ['name', 'arguments']);
  if (typeof name !== 'string' || name === '') throw new UnfitArguments('name must be the name of a tool');
  if (inner !== undefined && !isObject(inner)) throw new UnfitArguments('arguments must be an object');
  return { name, hasArguments: inner !== undefined };
}

export function membersOf(given: unknown, known: readonly string[]): Json {
  const members = given ?? {};
  if (!isObject(members)) throw new UnfitArguments('arguments must be an object');
  const unknown = Object.keys(members).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UnfitArguments(`${JSON.stringify(unknown.slice(0, 40))} is not known; give ${known.join(', ')}`);
  return members;
}

const LONGEST_SUMMARY = 160;

/** As much of a tool as tells it from others. */
export function summaryOf({ name, title, description }: ToolDefinition): Json {
  const text = typeof description === 'string' ? description : typeof title === 'string' ? title : '';
  const line = text.replace(/\s+/g, ' ').trim();
  return { name, description: line.length <= LONGEST_SUMMARY ? line : `${line.slice(0, LONGEST_SUMMARY - 1)}…` };
}

/** What a tool answers. */
export const toolResult = (value: Json | string, isError = false): Json => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
  ...(isError && { isError }),
});
