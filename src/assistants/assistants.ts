import * as z from 'zod';
import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { type List, type ListQuery, listPage } from '../core/list.ts';
import { changedMetadata, metadataRule, newMetadata } from '../core/metadata-rule.ts';
import { newObjectId } from '../core/object-ids.ts';
import { type Checked, schemaOf } from '../core/schema.ts';
import { unixSeconds } from '../core/unix-seconds.ts';
import type { Proofs } from '../guardrails/proof.ts';
import { withinBounds } from '../storage/keyset.ts';
import type { AssistantRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import {
  changedResources,
  type NewToolResources,
  newToolResources,
  reasoningEffort,
  responseFormat,
  type ToolResources,
  temperature,
  tool,
  toolResources,
  toolsUpTo,
  topP,
} from './tools.ts';
import type { FileGiver } from './vector-stores/adding.ts';

const members = () => ({
  model: z.string().min(1).max(256),
  name: z.string().max(256).nullish(),
  description: z.string().max(512).nullish(),
  instructions: z.string().max(256_000).nullish(),
  reasoning_effort: reasoningEffort().nullish(),
  tools: toolsUpTo(128).optional(),
  temperature: temperature().nullish(),
  top_p: topP().nullish(),
  response_format: schemaOf(responseFormat).nullish(),
});
export const createAssistant = () =>
  z.strictObject({
    ...members(),
    tool_resources: schemaOf(newToolResources).nullish(),
    metadata: newMetadata,
  });
export const updateAssistant = () =>
  z
    .strictObject({ ...members(), tool_resources: schemaOf(toolResources).nullish(), metadata: metadataRule.nullish() })
    .partial();

export const assistantObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('assistant'),
      created_at: z.number().int(),
      name: z.string().nullable(),
      description: z.string().nullable(),
      model: z.string(),
      instructions: z.string().nullable(),
      tools: z.array(schemaOf(tool)),
      tool_resources: schemaOf(toolResources),
      metadata: z.record(z.string(), z.string()),
      temperature: z.number().nullable(),
      top_p: z.number().nullable(),
      response_format: schemaOf(responseFormat),
      reasoning_effort: reasoningEffort().nullable(),
    })
    .meta({ id: 'Assistant' });
export type Assistant = Checked<typeof assistantObject>;

type Body = Omit<Assistant, 'id' | 'object' | 'created_at'>;
/** As the client asked for it: settings that it did not choose are null, so that models get their own. */
export type StoredAssistant = Body & Pick<Assistant, 'id'>;

function shown(row: AssistantRow): Assistant {
  const body = JSON.parse(row.body) as Body;
  return {
    id: row.id,
    object: 'assistant',
    created_at: unixSeconds(row.created_at),
    ...body,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
  };
}

/** What is kept of an assistant. */
export const assistantBody = (input: Checked<typeof createAssistant>, tool_resources: ToolResources): Body => ({
  name: input.name ?? null,
  description: input.description ?? null,
  model: input.model,
  instructions: input.instructions ?? null,
  tools: input.tools ?? [],
  tool_resources,
  metadata: { ...input.metadata },
  temperature: input.temperature ?? null,
  top_p: input.top_p ?? null,
  response_format: input.response_format ?? 'auto',
  reasoning_effort: input.reasoning_effort ?? null,
});

/** Throws when a tool or resource cannot be used here. Given by the composition. */
export type CheckTools = (
  db: Db,
  workspaceId: WorkspaceId,
  asked: { tools?: Body['tools']; tool_resources?: NewToolResources | null },
) => Promise<void>;

/** Makes what resources ask to be made, in the transaction of what they are for. `days`: how long it lives unused. */
export type SettleResources = (
  db: Db,
  giver: FileGiver,
  asked: NewToolResources | null | undefined,
  days: number | null,
) => Promise<ToolResources>;

export function createAssistants({
  store,
  check,
  settle,
  now = Date.now,
}: {
  store: Store;
  check: CheckTools;
  settle: SettleResources;
  now?: () => number;
}) {
  const living = (db: Db, workspaceId: WorkspaceId) =>
    db.selectFrom('assistants').selectAll().where('workspace_id', '=', workspaceId).where('deleted_at', 'is', null);

  const find = async (db: Db, workspaceId: WorkspaceId, id: string): Promise<AssistantRow> =>
    (await living(db, workspaceId).where('id', '=', id).executeTakeFirst()) ??
    fail('object_not_found', 'assistant', id);

  /** The same, and until the transaction ends no other transaction changes it. */
  const locked = async (db: Db, workspaceId: WorkspaceId, id: string): Promise<AssistantRow> => {
    if (store.engine === 'postgres')
      await db.selectFrom('assistants').select('id').where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
    return find(db, workspaceId, id);
  };

  return {
    /** The assistant as a run finds it. */
    async find(db: Db, workspaceId: WorkspaceId, id: string): Promise<StoredAssistant> {
      const row = await find(db, workspaceId, id);
      return { id, ...(JSON.parse(row.body) as Body) };
    },

    async create(
      workspaceId: WorkspaceId,
      input: Checked<typeof createAssistant>,
      proofs?: Proofs,
    ): Promise<Assistant> {
      await check(store.db, workspaceId, input);
      return store.transaction(async (db) => {
        const tool_resources = await settle(db, { workspaceId, proofs }, input.tool_resources, null);
        const row: AssistantRow = {
          id: newObjectId('assistant', now()),
          workspace_id: workspaceId,
          body: JSON.stringify(assistantBody(input, tool_resources)),
          created_at: now(),
          deleted_at: null,
        };
        await db.insertInto('assistants').values(row).execute();
        return shown(row);
      });
    },

    async read(workspaceId: WorkspaceId, id: string): Promise<Assistant> {
      return shown(await find(store.db, workspaceId, id));
    },

    async list(workspaceId: WorkspaceId, query: ListQuery): Promise<List<Assistant>> {
      const page = await listPage(query, 'assistant', {
        has: (id) => isKnown(store.db, workspaceId, id),
        between: (bounds) => withinBounds(living(store.db, workspaceId), bounds).execute(),
      });
      return { ...page, data: page.data.map(shown) };
    },

    async update(workspaceId: WorkspaceId, id: string, input: Checked<typeof updateAssistant>): Promise<Assistant> {
      await check(store.db, workspaceId, input);
      return store.transaction(async (db) => {
        const row = await locked(db, workspaceId, id);
        const old = JSON.parse(row.body) as Body;
        const { metadata, tool_resources, response_format, ...plain } = input;
        const body: Body = {
          ...old,
          ...withoutUndefined(plain),
          response_format: response_format === undefined ? old.response_format : (response_format ?? 'auto'),
          tool_resources: changedResources(old.tool_resources, tool_resources),
          metadata: { ...changedMetadata(old.metadata, metadata) },
        };
        const next = { ...row, body: JSON.stringify(body) };
        await db.updateTable('assistants').set({ body: next.body }).where('id', '=', id).execute();
        return shown(next);
      });
    },

    async delete(workspaceId: WorkspaceId, id: string) {
      await store.transaction(async (db) => {
        await locked(db, workspaceId, id);
        await db.updateTable('assistants').set({ deleted_at: now() }).where('id', '=', id).execute();
      });
      return { id, object: 'assistant.deleted' as const, deleted: true as const };
    },
  };
}

export type Assistants = ReturnType<typeof createAssistants>;

const withoutUndefined = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Value;

async function isKnown(db: Db, workspaceId: WorkspaceId, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('assistants')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row !== undefined;
}
