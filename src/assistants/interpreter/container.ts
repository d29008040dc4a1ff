import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import type { ResponseRow } from '../../storage/schema.ts';
import { INPUT_BYTES } from './limits.ts';

/** What the vendor's words for memory are. */
export const MEGABYTES: Readonly<Record<string, number>> = { '1g': 1_024, '4g': 4_096, '16g': 16_384, '64g': 65_536 };
/** Of a container, beside those that code wrote. */
export const MOST_FILES = 50;
/** Of a workspace, at once. */
export const MOST_CONTAINERS = 1_000;
const MOST_MINUTES = 30 * 1_440;
/** What the vendor gives a container that says nothing of its end. */
const USUAL_MINUTES = 20;

/** What is kept of a container beside its code. */
export interface ContainerBody {
  /** Given or uploaded, in this order. */
  readonly file_ids: readonly string[];
  /** Those of them that were uploaded into it, and go with it. */
  readonly uploaded?: readonly string[];
  /** Files that were taken out of it again, given or written. */
  readonly removed?: readonly string[];
  readonly name?: string;
  /** After its last use. Left out: it was made by a response, and stays for 30 days. */
  readonly minutes?: number;
  readonly memory_limit?: string;
  readonly last_active_at?: number;
}

export const containerInput = () =>
  z.strictObject({
    name: z.string().min(1).max(256).describe('What people call it.'),
    expires_after: z
      .strictObject({ anchor: z.literal('last_active_at'), minutes: z.int().min(1).max(MOST_MINUTES) })
      .nullish()
      .describe('When it goes, counted from its last use; 20 minutes when left out.'),
    file_ids: z
      .array(z.string().min(1).max(200))
      .max(MOST_FILES)
      .nullish()
      .describe('Files that lie in it from the start.'),
    memory_limit: z.enum(['1g', '4g', '16g', '64g']).nullish(),
    network_policy: z.strictObject({ type: z.literal('disabled') }).nullish(),
  });
export type ContainerInput = z.infer<ReturnType<typeof containerInput>>;

export const containerFileInput = () => z.strictObject({ file_id: z.string().min(1).max(200) });

export const containerObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('container'),
      created_at: z.int(),
      name: z.string(),
      status: z.enum(['active', 'expired']),
      expires_after: z.object({ anchor: z.literal('last_active_at'), minutes: z.int() }),
      last_active_at: z.int(),
      memory_limit: z.enum(['1g', '4g', '16g', '64g']).optional(),
      network_policy: z.object({ type: z.literal('disabled') }),
    })
    .meta({ id: 'Container' });
export type ContainerObject = z.infer<ReturnType<typeof containerObject>>;

export const containerFileObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('container.file'),
      created_at: z.int(),
      bytes: z.int(),
      container_id: z.string(),
      path: z.string(),
      source: z.enum(['user', 'assistant']),
    })
    .meta({ id: 'ContainerFile' });
export type ContainerFileObject = z.infer<ReturnType<typeof containerFileObject>>;

/** After its last code: as long as a response that could go on from it. */
const KEPT_MINUTES = MOST_MINUTES;

export const bodyOf = (row: Pick<ResponseRow, 'body'>): ContainerBody => JSON.parse(row.body);

export const expiryOf = ({ minutes = KEPT_MINUTES }: ContainerBody, lastActiveAt: number): number =>
  lastActiveAt + minutes * 60_000;

export function newBody(input: ContainerInput, memoryMb: number): ContainerBody {
  const memory = input.memory_limit;
  if (memory && MEGABYTES[memory]! > memoryMb)
    fail('invalid_request', 'memory_limit', `code has ${memoryMb} MB here; leave it out`);
  return {
    file_ids: [...new Set(input.file_ids ?? [])],
    name: input.name,
    minutes: input.expires_after?.minutes ?? USUAL_MINUTES,
    ...(memory && { memory_limit: memory }),
  };
}

export function shownContainer(row: ResponseRow, now: number): ContainerObject {
  const { name = '', minutes = KEPT_MINUTES, memory_limit, last_active_at } = bodyOf(row);
  const seconds = (ms: number) => Math.floor(ms / 1_000);
  return {
    id: row.id,
    object: 'container',
    created_at: seconds(Number(row.created_at)),
    name,
    status: Number(row.expires_at) > now ? 'active' : 'expired',
    expires_after: { anchor: 'last_active_at', minutes },
    last_active_at: seconds(last_active_at ?? Number(row.expires_at) - minutes * 60_000),
    ...(memory_limit !== undefined && { memory_limit: memory_limit as ContainerObject['memory_limit'] }),
    network_policy: { type: 'disabled' },
  };
}

/** Throws when files are more than code can be given. */
export function checkRoom(bytes: readonly number[], param: string): void {
  if (bytes.length > MOST_FILES) fail('invalid_request', param, `a container takes ${MOST_FILES} files`);
  const sum = bytes.reduce((total, each) => total + each, 0);
  if (sum > INPUT_BYTES)
    fail(
      'invalid_request',
      param,
      `files of a container may have ${INPUT_BYTES} bytes together, and these have ${sum}`,
    );
}
