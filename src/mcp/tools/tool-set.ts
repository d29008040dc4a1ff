import * as z from 'zod';
import type { McpTools } from '../../core/principal.ts';
import type { Checked } from '../../core/schema.ts';
import type { ToolDefinition } from './ranking.ts';

/** Some tools of some servers, under names of their own, behind an address of their own. */
export interface ToolSet {
  readonly id: string;
  readonly workspaceId: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  /** Null: as the client has it elsewhere. */
  readonly shows: McpTools | null;
  readonly tools: readonly SetTool[];
  /** Tells versions apart. */
  readonly version: string;
}

export interface SetTool {
  readonly serverId: string;
  /** The slug of that server, for when it is gone. */
  readonly server: string;
  /** What the server calls the tool. */
  readonly tool: string;
  /** What the set calls it. */
  readonly name: string;
  /** Null: the server's own. */
  readonly description: string | null;
}

/** What no tool of a set may be called: a client that searches knows them as something else. */
const OWN_NAMES = new Set(['search_tools', 'describe_tools', 'call_tool', 'run_code']);
const MOST_TOOLS = 500;

export const setTools = () =>
  z
    .array(
      z.strictObject({
        server: z.string('give the slug or id of an MCP server').min(1).max(80),
        tool: z.string("give the server's own name of a tool").min(1).max(256),
        name: z
          .string()
          .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'give 1 to 64 letters, digits, dashes or underscores')
          .refine((name) => !OWN_NAMES.has(name), 'is a name of the gateway itself; give another')
          .optional()
          .describe('What clients of the set call it; {server}__{tool} when left out.'),
        description: z
          .string()
          .min(1, 'give a text, or null for that of the server')
          .max(4_000, 'give at most 4000 characters')
          .nullable()
          .optional()
          .describe("In the place of the server's own."),
      }),
      { error: 'give a list of tools' },
    )
    .min(1, 'give at least one tool')
    .max(MOST_TOOLS, `give at most ${MOST_TOOLS} tools`);
export type SetToolInput = Checked<typeof setTools>[number];

/** The definition as clients of the set see it. A title is another name, and goes with the one that it was for. */
export function toolInSet(definition: ToolDefinition, { name, description }: SetTool): ToolDefinition {
  const isRenamed = definition.name !== name;
  if (!isRenamed && description === null) return definition;
  const { title, ...rest } = definition;
  return {
    ...rest,
    ...(!isRenamed && title !== undefined && { title }),
    name,
    ...(description !== null && { description }),
  };
}
