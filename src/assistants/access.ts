import { requiredVirtualKey } from '../auth/required-virtual-key.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { OutgoingTrace } from '../core/call-log.ts';
import { fail } from '../core/errors.ts';
import { headerOf } from '../http/headers.ts';
import type { Call } from '../http/route.ts';
import { keptHeaders } from '../relay/kept-headers.ts';
import type { Configs } from '../routing/configs.ts';

export const BETA = 'assistants=v2';

/** The beta header may be absent; another value means that the client speaks another version. */
export function checkBeta({ headers }: Pick<Call, 'headers'>) {
  for (const name of ['vendor-beta', 'openai-beta']) {
    const value = headerOf(headers, name);
    const asked = value?.split(',').find((each) => each.trim().startsWith('assistants='));
    if (value !== null && asked?.trim() !== BETA) fail('invalid_beta', name, value.slice(0, 80));
  }
}

/** What a run's model calls take over from the request that created it. */
const KEPT_HEADERS = [
  'x-gateway-config',
  'x-gateway-metadata',
  'x-gateway-trace-id',
  'x-gateway-session-id',
  'x-gateway-request-timeout',
  'x-gateway-debug',
];

/** By these any node knows of which trace a run is a part. */
const traceHeaders = (trace: OutgoingTrace | null): Record<string, string> =>
  trace ? { traceparent: trace.traceparent, ...(trace.tracestate !== null && { tracestate: trace.tracestate }) } : {};

/** The headers of a run's model calls. They are stored with the run, so nothing secret may be among them. */
export async function runHeaders(
  call: Pick<Call, 'headers' | 'principal' | 'log'>,
  { virtualKeys, configs }: { virtualKeys: VirtualKeys; configs: Configs },
): Promise<Record<string, string>> {
  checkBeta(call);
  const { slug } = await requiredVirtualKey(call, virtualKeys);
  const kept = await keptHeaders(call, KEPT_HEADERS, configs);
  return { 'x-gateway-virtual-key': slug, ...kept, ...traceHeaders(call.log.callTrace()) };
}
