import * as z from 'zod';

/** How one attempt to tell a receiver ended. */
export interface Outcome {
  /** What was answered; null: nothing was. */
  readonly status: number | null;
  /** Why it was not taken, or what else is worth knowing. */
  readonly error: string | null;
}

/** How the last attempt went, as it is stored and shown. */
export const deliveryObject = () =>
  z.object({
    event_id: z.string(),
    /** `failed`: it is not tried again. */
    status: z.enum(['delivered', 'retrying', 'failed']),
    at: z.string(),
    attempts: z.number().int(),
    response_status: z.number().int().nullable(),
    error: z.string().nullable(),
  });
export type Delivery = z.output<ReturnType<typeof deliveryObject>>;

const FIRST_WAIT_MS = 5_000;
const MOST_WAIT_MS = 14_400_000;
/** With these waits, a receiver is tried for nine to eighteen hours. */
const MOST_TRIES = 16;
/** Receivers that will never want this message again say so. */
const GONE = 410;
const SHOWN_CHARACTERS = 300;

/** What a delivery says when the work of it has failed too often. */
export const GAVE_UP: Outcome = { status: null, error: 'the gateway failed again and again' };

export const isTaken = ({ status }: Outcome): boolean => status !== null && status >= 200 && status < 300;

export function deliveryOf(eventId: string, outcome: Outcome, attempts: number, now: number): Delivery {
  const isOver = outcome.status === GONE || attempts >= MOST_TRIES;
  return {
    event_id: eventId,
    status: isTaken(outcome) ? 'delivered' : isOver ? 'failed' : 'retrying',
    at: new Date(now).toISOString(),
    attempts,
    response_status: outcome.status,
    error: outcome.error?.slice(0, SHOWN_CHARACTERS) ?? null,
  };
}

/** The wait after so many attempts: between half and all of the doubled one, so that receivers are not told all at once. */
export const waitAfter = (attempts: number, random: () => number): number =>
  Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1)) * (0.5 + random() / 2);
