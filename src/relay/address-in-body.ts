import { textOf } from '../core/bytes.ts';
import { fail } from '../core/errors.ts';
import { findMembers, prependMembers, removeMembers } from '../core/json-bytes.ts';
import type { InAddress } from './call.ts';
import { boundaryOf, withFormModel } from './multipart-model.ts';

/** The beginning of a body with what the address says of the call. */
export function withAddress(head: Uint8Array, said: InAddress, type: string | undefined, isJson: boolean): Uint8Array {
  if (isJson) return inJson(head, said);
  const boundary = boundaryOf(type);
  return boundary === null ? head : withFormModel(head, boundary, said.model);
}

function inJson(head: Uint8Array, { model, stream, onConflict }: InAddress): Uint8Array {
  const found = findMembers(head, 'model');
  const named = found.length === 1 ? textOf(head, found[0]!.start, found[0]!.end) : null;
  const own = JSON.stringify(model);
  if (stream === undefined && named === own) return head;
  if (found.length > 0 && onConflict === 'refuse' && plainName(named) !== plainName(own)) {
    fail(
      'invalid_request',
      'model',
      `is another model than "${model.slice(0, 80)}", which the address names; leave it out`,
    );
  }
  if (stream !== undefined && findMembers(head, 'stream', 1).length > 0)
    fail('invalid_request', 'stream', 'is said by the address; leave it out');
  const members = `"model":${own}${stream ? ',"stream":true' : ''}`;
  const bare = found.length > 0 ? removeMembers(head, found) : head;
  return prependMembers(bare, members) ?? fail('invalid_request', 'body', 'must be a JSON object');
}

/** Google's names stand in a collection: `models/x`. Both are JSON. */
const plainName = (name: string | null): string | null => name?.replace(/^"models\//, '"') ?? null;

/** A body that asks for a stream, unless it says whether it does. */
export const streaming = (head: Uint8Array): Uint8Array =>
  findMembers(head, 'stream', 1).length > 0 ? head : (prependMembers(head, '"stream":true') ?? head);
