import { sql } from 'kysely';
import type { WorkspaceId } from '../../core/ids.ts';
import type { MessageRow, RunRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import type { ContentBlock } from '../messages.ts';
import { uncited } from './citations.ts';
import { bodyOf } from './run.ts';

export type ChatMessage = Readonly<Record<string, unknown>> & { readonly role: string };

/** An image of a message, as a data URL. Throws what ends the run when there is none. */
export type ReadImage = (workspaceId: WorkspaceId, fileId: string) => Promise<string>;

/** A message of the thread, before it has the form that models take. */
export interface Saying {
  readonly role: 'user' | 'assistant';
  readonly blocks: readonly ContentBlock[];
  readonly text: string;
  readonly images: number;
}

/** Of images that stand in messages as data, a thread may have more than a process can hold. */
const MOST_BYTES = 64 << 20;

/** Read at once, so that a long thread does not hold up other requests. */
const PAGE = 200;

/**
 * What was said in the thread before this run, oldest first. Of a thread that has much more than `mostCharacters`, only
 * that much is read from either end: what lies between would not be kept.
 */
export async function historyOf(db: Db, run: RunRow, mostCharacters: number): Promise<Saying[]> {
  const { type, last_messages: last } = bodyOf(run).truncation_strategy;
  if (type === 'last_messages' && last !== null)
    return (
      await readFrom('desc', db, run, { most: last, mostCharacters: Number.POSITIVE_INFINITY })
    ).sayings.reverse();
  const newest = await readFrom('desc', db, run, { mostCharacters });
  if (newest.stoppedAt === null) return newest.sayings.reverse();
  const oldest = await readFrom('asc', db, run, { mostCharacters, before: newest.stoppedAt });
  return [...oldest.sayings, ...newest.sayings.reverse()];
}

interface Reading {
  readonly most?: number;
  readonly mostCharacters: number;
  /** An id that belongs to what was read already. */
  readonly before?: string;
}

/** `stoppedAt`: the last message that was read, when there may be more. */
async function readFrom(
  order: 'asc' | 'desc',
  db: Db,
  run: RunRow,
  { most = Number.POSITIVE_INFINITY, mostCharacters, before }: Reading,
): Promise<{ sayings: Saying[]; stoppedAt: string | null }> {
  const sayings: Saying[] = [];
  let after: string | undefined;
  let characters = 0;
  let bytes = 0;
  for (let left = most; characters <= mostCharacters && bytes <= MOST_BYTES; left -= PAGE) {
    const sizes = await messagesBefore(db, run)
      .select(['id', sql<number>`octet_length(content)`.as('bytes')])
      .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after!))
      .$if(before !== undefined, (query) => query.where('id', '<', before!))
      .orderBy('id', order)
      .limit(Math.min(PAGE, left))
      .execute();
    const ids: string[] = [];
    for (const row of sizes) {
      bytes += Number(row.bytes);
      if (bytes > MOST_BYTES && sayings.length + ids.length > 0) break;
      ids.push(row.id);
    }
    const said = await sayingsOf(db, ids, order);
    sayings.push(...said);
    if (ids.length === sizes.length && (sizes.length < PAGE || left <= PAGE)) return { sayings, stoppedAt: null };
    characters += said.reduce((sum, { text }) => sum + text.length, 0);
    after = ids.at(-1) ?? after;
  }
  return { sayings, stoppedAt: after! };
}

const messagesBefore = (db: Db, run: RunRow) =>
  db
    .selectFrom('messages')
    .where('thread_id', '=', run.thread_id)
    .where('deleted_at', 'is', null)
    .where((where) => where.or([where('run_id', 'is', null), where('run_id', '!=', run.id)]));

async function sayingsOf(db: Db, ids: readonly string[], order: 'asc' | 'desc'): Promise<Saying[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('messages')
    .select(['role', 'content'])
    .where('id', 'in', ids)
    .orderBy('id', order)
    .execute();
  return rows.map(sayingOf).filter((saying) => saying !== null);
}

/** Null for a message of which nothing was ever said. */
function sayingOf({ role, content }: Pick<MessageRow, 'role' | 'content'>): Saying | null {
  const blocks = JSON.parse(content) as ContentBlock[];
  const text = textOf(role === 'assistant' ? uncited(blocks) : blocks);
  const images = blocks.filter(({ type }) => type === 'image_url' || type === 'image_file').length;
  if (role === 'assistant') return text === '' ? null : { role, blocks, text, images: 0 };
  return blocks.length === 0 ? null : { role: 'user', blocks, text, images };
}

export const textOf = (blocks: readonly ContentBlock[]): string =>
  blocks
    .map((block) => (block.type === 'text' ? block.text.value : block.type === 'refusal' ? block.refusal : ''))
    .filter(Boolean)
    .join('\n');

/** As models take it. Of what an assistant has said, only the text: few models take pictures there. */
export async function chatMessageOf(saying: Saying, run: RunRow, readImage: ReadImage): Promise<ChatMessage> {
  const { role, blocks, text } = saying;
  if (role === 'assistant' || (blocks.length === 1 && blocks[0]!.type === 'text')) return { role, content: text };
  const parts: object[] = [];
  for (const block of blocks) parts.push(await partOf(block, run.workspace_id as WorkspaceId, readImage));
  return { role, content: parts };
}

async function partOf(block: ContentBlock, workspaceId: WorkspaceId, readImage: ReadImage): Promise<object> {
  if (block.type === 'image_url') return { type: 'image_url', image_url: block.image_url };
  if (block.type !== 'image_file') return { type: 'text', text: textOf([block]) };
  const { file_id, detail } = block.image_file;
  return { type: 'image_url', image_url: { url: await readImage(workspaceId, file_id), detail } };
}
