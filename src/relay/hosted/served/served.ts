import { GatewayError } from '../../../core/errors.ts';
import type { Principal } from '../../../core/principal.ts';
import type { JsonObject } from '../../../dialects/ir.ts';
import { objectIn, parsed, textIn } from '../../../dialects/json.ts';
import { sessionIn } from '../../../http/session-id.ts';
import type { CallModel } from '../../internal.ts';
import type { HostedCaller } from '../hosted-tool.ts';

/** The model that serves a tool for all others, as the operator names it. */
export interface ServedBy {
  /** The slug: each workspace that has a virtual key of that name uses its own, and pays for it. */
  readonly virtualKey: string;
  readonly model: string;
}

export interface ServedDeps {
  readonly callModel: () => CallModel;
  /** Throws `unknown_virtual_key` when the workspace has none of that name. */
  readonly resolveKey: (who: Principal, slug: string) => Promise<unknown>;
  /** Null: the tool is off. */
  readonly by: ServedBy | null;
}

/** By what the tool is served to this caller; null: it is off. */
export async function servedFor({ by, resolveKey }: ServedDeps, who: Principal): Promise<ServedBy | null> {
  if (!by) return null;
  try {
    await resolveKey(who, by.virtualKey);
    return by;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'unknown_virtual_key') return null;
    throw error;
  }
}

/** What the caller says of its calls for the log; whom to ask is the operator's affair. */
const PASSED = ['x-gateway-metadata', 'x-gateway-debug'];

/** Asks the model that serves a tool, as the caller: its limits, the guardrails of its calls, log and ledger hold. */
export async function askServing(
  { callModel }: ServedDeps,
  by: ServedBy,
  { who, whoNow, headers, signal, traceId, trace, proven }: HostedCaller,
  { path, body }: { readonly path: string; readonly body: JsonObject },
): Promise<Response> {
  const passed = PASSED.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]] as const]));
  return callModel()({
    who: whoNow ? await whoNow() : who,
    path,
    body: JSON.stringify({ ...body, model: by.model }),
    headers: { ...Object.fromEntries(passed), 'x-gateway-virtual-key': by.virtualKey },
    inServiceOf: headers,
    sessionId: sessionIn(headers) ?? undefined,
    signal,
    trace,
    ...(traceId !== undefined && { traceId }),
    ...(proven !== undefined && { proven }),
    isRound: true,
    route: '/v1/responses',
  });
}

/** Why a model that serves a tool did not: for the model that has called it. */
export async function whyNot(response: Response): Promise<string> {
  const { error } = objectIn(parsed((await response.text()).slice(0, 100_000)));
  const message = textIn(objectIn(error).message) ?? 'it gave no reason';
  return `${response.status}: ${message.slice(0, 500)}`;
}

/** One member of the arguments that a model has written. */
export function argumentIn(text: string, name: string): string | null {
  const value = objectIn(parsed(text))[name];
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
