export interface Entry<Facts extends unknown[]> {
  readonly status: number;
  readonly message: (...facts: Facts) => string;
  /** The field, header or query parameter at fault, when the facts name one. */
  readonly param?: (...facts: Facts) => string | null;
  /** What stands in the body where OpenAI's API says something else than the entry's name and the status's type. */
  readonly answered?: { readonly code?: null; readonly type: string };
  /** The name under which OAuth's clients know it. */
  readonly oauth?: string;
}

export const error = <Facts extends unknown[]>(
  status: number,
  message: (...facts: Facts) => string,
  param?: (...facts: Facts) => string | null,
): Entry<Facts> => ({ status, message, param });

/**
 * As OpenAI's API answers it: clients of that API know its texts and codes. Where it has no code, `code: null` leaves
 * ours out of the body; logs and this catalogue still call it by its name.
 */
export const openai = <Facts extends unknown[]>(
  status: number,
  message: (...facts: Facts) => string,
  param?: (...facts: Facts) => string | null,
  { code }: { code?: null } = {},
): Entry<Facts> => ({ status, message, param, answered: { code, type: 'invalid_request_error' } });

/** In the form that clients of an authorization server read (RFC 6749 section 5.2). */
export const oauth = <Facts extends unknown[]>(
  status: number,
  name: string,
  message: (...facts: Facts) => string,
): Entry<Facts> => ({ status, message, oauth: name });

export const named = (field: string) => field;
