import * as z from 'zod';
import { newMetadata } from '../core/metadata-rule.ts';
import { type Checked, schemaOf } from '../core/schema.ts';
import { chunkingStrategy } from './vector-stores/chunking.ts';

/** Tools and what they work on, as assistants, threads and runs share them. */

/** More than any schema has that a model understands; far more would not go through JSON.stringify. */
const DEEPEST = 100;

/** Whatever a JSON Schema may be. No z.record: it would leave out a member named `__proto__` without a word. */
const jsonSchema = () =>
  z
    .custom<Record<string, unknown>>()
    .superRefine((value, context) => {
      if (value === null || typeof value !== 'object' || Array.isArray(value))
        return void context.addIssue({ code: 'invalid_type', expected: 'object', input: value as unknown });
      if (isDeeperThan(DEEPEST, value))
        context.addIssue({ code: 'custom', message: `it may be nested at most ${DEEPEST} levels deep` });
    })
    .meta({ type: 'object', additionalProperties: true });

/** Level by level, without recursion: a body may be nested deeper than the stack. */
function isDeeperThan(most: number, value: object): boolean {
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === most) return true;
    level = level.flatMap((each) =>
      Object.values(each).filter((member) => member !== null && typeof member === 'object'),
    );
  }
  return false;
}

const toolName = () => z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'give 1 to 64 letters, digits, dashes or underscores');

const functionTool = () =>
  z.strictObject({
    type: z.literal('function'),
    function: z.strictObject({
      name: toolName(),
      description: z.string().optional(),
      parameters: schemaOf(jsonSchema).optional(),
      strict: z.boolean().nullish(),
    }),
  });
const codeInterpreter = () => z.strictObject({ type: z.literal('code_interpreter') });
const fileSearch = () =>
  z.strictObject({
    type: z.literal('file_search'),
    file_search: z
      .strictObject({
        max_num_results: z.int().min(1).max(50).optional(),
        ranking_options: z
          .strictObject({
            ranker: z.enum(['auto', 'default_2024_08_21']).optional(),
            score_threshold: z.number().min(0).max(1),
          })
          .optional(),
      })
      .optional(),
  });

export const tool = () => z.discriminatedUnion('type', [codeInterpreter(), fileSearch(), functionTool()]);
export type Tool = Checked<typeof tool>;

/** Models know built-in tools by their types: a function of that name beside one could not be told from it. */
export const toolsUpTo = (most: number) =>
  z
    .array(schemaOf(tool))
    .max(most)
    .superRefine((tools, context) => {
      const types = new Set<string>(tools.map(({ type }) => type));
      for (const [index, each] of tools.entries())
        if (each.type === 'function' && each.function.name !== 'function' && types.has(each.function.name)) {
          const message = `the tool '${each.function.name}' has that name already`;
          context.addIssue({ code: 'custom', path: [index, 'function', 'name'], message });
        }
    });

/** An attachment names the kind of tool only. */
export const attachmentTool = () =>
  z.discriminatedUnion('type', [codeInterpreter(), z.strictObject({ type: z.literal('file_search') })]);

const fileIds = () => z.array(z.string()).max(20);
const storeIds = () => z.array(z.string()).max(1);

/** The form in which resources are read back, and the only one a change takes. */
export const toolResources = () =>
  z.strictObject({
    code_interpreter: z.strictObject({ file_ids: fileIds().optional() }).optional(),
    file_search: z.strictObject({ vector_store_ids: storeIds().optional() }).optional(),
  });
export type ToolResources = Checked<typeof toolResources>;

/** Absent leaves them, null takes all away, and a tool that is named gets what is given for it. */
export const changedResources = (old: ToolResources, given: ToolResources | null | undefined): ToolResources =>
  given === null ? {} : { ...old, ...given };

const MOST_NEW_FILES = 10_000;
const newStore = () =>
  z.strictObject({
    file_ids: z.array(z.string().min(1)).max(MOST_NEW_FILES).optional(),
    chunking_strategy: schemaOf(chunkingStrategy).nullish(),
    metadata: newMetadata,
  });

/** The form in which resources are asked for with something new: a vector store may be made on the way. */
export const newToolResources = () =>
  toolResources().extend({
    file_search: z
      .strictObject({ vector_store_ids: storeIds().optional(), vector_stores: z.array(newStore()).max(1).optional() })
      .superRefine(({ vector_store_ids, vector_stores }, context) => {
        if (!vector_store_ids || !vector_stores) return;
        const message = "give either 'vector_store_ids' or 'vector_stores', not both";
        context.addIssue({ code: 'custom', path: ['vector_stores'], message });
      })
      .optional(),
  });
export type NewToolResources = Checked<typeof newToolResources>;

/** JSON mode, a schema, or text. */
export const responseFormat = () =>
  z.union([
    z.enum(['auto', 'none']),
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.enum(['text', 'json_object']) }),
      z.strictObject({
        type: z.literal('json_schema'),
        json_schema: z.strictObject({
          name: toolName(),
          description: z.string().optional(),
          schema: schemaOf(jsonSchema).optional(),
          strict: z.boolean().nullish(),
        }),
      }),
    ]),
  ]);
export type ResponseFormat = Checked<typeof responseFormat>;

export const toolChoice = () =>
  z.union([
    z.enum(['none', 'auto', 'required']),
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.enum(['file_search', 'code_interpreter']) }),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string().min(1) }) }),
    ]),
  ]);
export type ToolChoice = Checked<typeof toolChoice>;

export const truncationStrategy = () =>
  z.strictObject({
    type: z.enum(['auto', 'last_messages']),
    last_messages: z.int().min(1).nullish(),
  });

export const reasoningEffort = () => z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

export const temperature = () => z.number().min(0).max(2);
export const topP = () => z.number().min(0).max(1);
