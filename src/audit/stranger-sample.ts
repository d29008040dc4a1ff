import { randomUUID } from 'node:crypto';
import { NOBODY, type NoteEvent } from '../core/audit-event.ts';
import { Sample } from '../core/sample.ts';
import type { AuditedCall } from './trail.ts';

interface Kind {
  readonly resource: string;
  readonly status: number;
  readonly organisationId: string;
}

export interface StrangerSample {
  /** Whether a refused call of an unknown caller gets a record of its own. */
  takes(call: AuditedCall, status: number): boolean;
  /** Tells what was left out so far. */
  flush(): void;
}

/** A stranger who tries at random is refused for the same reason again and again. */
const KNOCKS = { perAddress: 10, inAll: 100 };
/**
 * Passwords and tokens that were refused. As many passwords as one address may try before it is refused unheard
 * (`auth/sign-in-limits.ts`): none of its tries is left out.
 */
const SIGN_INS = { perAddress: 100, inAll: 200 };

/** Which refusals of unknown callers are recorded one by one; a record with their number stands for the others. */
export function createStrangerSample({
  note,
  now,
  onLeftOut,
}: {
  note: NoteEvent;
  now: () => number;
  onLeftOut: () => void;
}): StrangerSample {
  const sampleOf = (most: typeof KNOCKS) =>
    new Sample<Kind>({
      ...most,
      now,
      onLeftOut,
      tell: ({ kind, count, from, to, addresses, fromOthers }) =>
        note({
          id: randomUUID(),
          at: to,
          caller: { organisationId: kind.organisationId, workspaceId: '', type: 'api_key', id: NOBODY },
          uri: '',
          status: kind.status,
          resource: kind.resource,
          action: 'left_out',
          body: {
            left_out: count,
            from: new Date(from).toISOString(),
            to: new Date(to).toISOString(),
            addresses,
            from_others: fromOthers,
          },
        }),
    });
  const knocks = sampleOf(KNOCKS);
  // Apart from each other: a flood of one hides nothing of the other.
  const signIns = new Map(['sessions', 'authentication'].map((resource) => [resource, sampleOf(SIGN_INS)]));
  return {
    takes: ({ subject: { resource }, organisationId, clientAddress }, status) => {
      const sample = (status === 401 && signIns.get(resource)) || knocks;
      return sample.takes(clientAddress, `${resource} ${status}`, { resource, status, organisationId });
    },
    flush: () => {
      for (const sample of [knocks, ...signIns.values()]) sample.flush();
    },
  };
}
