import * as z from 'zod';
import { isSlug } from '../core/ids.ts';

/** Pieces that the bodies of many resources share. */

export const name = () =>
  z.string().trim().min(1, 'give at least one character').max(255, 'give at most 255 characters');
export const slug = () => z.string().refine(isSlug, 'give 1 to 255 letters, digits, dashes or underscores');
export const note = () => z.string().max(2_000).nullable();

/** What is told of something that was deleted. */
export const deleted = (object: string) =>
  z.object({ id: z.string(), object: z.literal(object), deleted: z.literal(true) });
