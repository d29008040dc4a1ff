import { z } from 'zod';
import { isSlug } from '../core/ids.ts';
import { SCOPES } from '../core/scopes.ts';

/** Pieces that the bodies of several admin resources share. */

export const name = z.string().trim().min(1, 'give at least one character').max(255, 'give at most 255 characters');
export const slug = z.string().refine(isSlug, 'give 1 to 255 letters, digits, dashes or underscores');
export const note = z.string().max(2_000).nullable();

/** Lengths count characters as people do, not UTF-16 units. */
const short = z.string().refine((text) => [...text].length <= 128, 'give at most 128 characters');

/** Metadata that is added to every call of a key or workspace. */
export const callMetadata = z.record(short.min(1), short);

/** A moment in the future, ISO 8601 with a zone. */
export const expiry = z.iso
  .datetime({ offset: true, error: 'give an ISO 8601 moment such as 2030-01-31T12:00:00Z' })
  .refine((text) => Date.parse(text) > Date.now(), 'lies in the past')
  .nullable();

export const scopes = z
  .array(z.enum(SCOPES, { error: 'is not a scope; GET /openapi.json lists them' }))
  .refine((list) => new Set(list).size === list.length, 'names a scope twice');

/** Limits are part of the contract, but a limit that is stored and not held would be worse than none. */
const notHeldYet = z.undefined({ error: 'this version does not enforce limits and therefore does not accept them' });
export const limits = { rate_limits: notHeldYet.optional(), usage_limits: notHeldYet.optional() };

export const deleted = (object: string) =>
  z.object({ id: z.string(), object: z.literal(object), deleted: z.literal(true) });
