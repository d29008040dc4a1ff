/** What the gateway, or the way to it, said against a request. */
export class ApiFault extends Error {
  readonly status: number;
  readonly code: string | null;
  /** The field that is meant. */
  readonly param: string | null;
  readonly requestId: string | null;

  constructor(
    message: string,
    facts: { status: number; code?: string | null; param?: string | null; requestId?: string | null },
  ) {
    super(message);
    this.status = facts.status;
    this.code = facts.code ?? null;
    this.param = facts.param ?? null;
    this.requestId = facts.requestId ?? null;
  }
}

/** What was said against one field of a form, or below it: `faultAbout(create.error, 'settings')`. */
export const faultAbout = (error: unknown, param: string): string | null =>
  error instanceof ApiFault && error.param?.startsWith(param) ? error.message : null;

/** From the body of an answer that is no success, in any of the envelopes that the gateway has for errors. */
export async function faultOf(response: Response): Promise<ApiFault> {
  const requestId = response.headers.get('x-gateway-request-id');
  const body: unknown = await response.json().catch(() => null);
  const error = (body as { error?: Record<string, unknown> } | null)?.error;
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return new ApiFault(text(error?.message) ?? `The gateway answered ${response.status}.`, {
    status: response.status,
    code: text(error?.code),
    param: text(error?.param),
    requestId,
  });
}
