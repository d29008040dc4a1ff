import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { listOf, listQuery } from '../core/list.ts';
import { isObjectId } from '../core/object-ids.ts';
import { headerOf } from '../http/headers.ts';
import { type CallAt, del, get, post, type Route } from '../http/route.ts';
import type { Background } from '../relay/background/background.ts';
import type { ModelCall } from '../relay/call.ts';
import { responseSummary } from './response-summary.ts';
import type { ResponseStore } from './responses-store.ts';

const wording = 'openai' as const;
const details = { scopes: ['completions.write'] as const, wording, isProviders: true };
const page = () => listQuery();
const runningPage = () =>
  listQuery().extend({
    running: z
      .enum(['true', 'false'])
      .default('false')
      .describe('Only those in the background that wait or are being made.'),
    id: z.string().max(200).optional().describe('Only this one, as the list has it.'),
  });

/** Lists in a query are written `include[]=a&include[]=b` by the vendor's clients. */
export const included = (search: string): ReadonlySet<string> => {
  const query = new URLSearchParams(search);
  return new Set([...query.getAll('include[]'), ...query.getAll('include')]);
};

type Query = Readonly<Record<string, unknown>>;

function isStreamed({ stream }: Query): boolean {
  if (stream === undefined || stream === 'false') return false;
  return stream === 'true' || fail('invalid_request', 'stream', 'must be true or false');
}

/** The number of the last event that the client has heard. */
function startingAfter({ starting_after: after }: Query): number {
  if (after === undefined) return -1;
  if (typeof after === 'string' && /^\d{1,9}$/.test(after)) return Number(after);
  return fail('invalid_request', 'starting_after', 'must be the sequence_number of an event');
}

/** Responses that the gateway keeps; those that a provider keeps are asked of it. */
export const responseRoutes = ({
  responses,
  background,
  relay,
}: {
  responses: ResponseStore;
  background: Pick<Background, 'cancel' | 'resume'>;
  relay: (call: ModelCall) => Promise<Response>;
}): Route[] => {
  const ours = async <Value>(call: CallAt<'response_id'>, read: () => Promise<Value>): Promise<Value | Response> => {
    const { response_id } = call.params;
    // By its id, the gateway has made it, so no provider knows it.
    if (isObjectId('hostedResponse', response_id) || (await responses.has(call.principal, response_id))) return read();
    const isElsewhere = ['x-gateway-virtual-key', 'x-gateway-provider', 'x-gateway-config'].some((name) =>
      headerOf(call.headers, name),
    );
    const { virtual_key, config } = call.principal.defaults;
    if (!isElsewhere && !virtual_key && !config) return read();
    return relay({
      request: call.request,
      headers: call.headers,
      stamp: call.stamp,
      endpoint: 'proxy',
      path: call.path.slice('/v1'.length),
      search: call.search,
      principal: call.principal,
      providerKey: call.providerKey,
      readsModel: false,
      log: call.log,
    });
  };
  const id = (call: CallAt<'response_id'>) => call.params.response_id;
  return [
    get(
      '/v1/responses',
      {
        ...{
          ...details,
          summary: 'Responses that the gateway keeps: your own, or with logs.list those of the workspace',
        },
        ...{ query: runningPage, response: () => listOf(responseSummary) },
      },
      ({ principal, query: { running, ...query } }) =>
        responses.list(principal, { ...query, isRunning: running === 'true' }),
    ),
    get('/v1/responses/:response_id', { ...details, summary: 'One response', query: () => z.looseObject({}) }, (call) =>
      ours(call, async () => {
        const response = await responses.read(call.principal, id(call), included(call.search));
        return isStreamed(call.query) ? background.resume(call, id(call), startingAfter(call.query)) : response;
      }),
    ),
    post(
      '/v1/responses/compact',
      { ...details, summary: 'Write a conversation down in short, to go on from there, with a model of any provider' },
      (call) =>
        relay({
          ...{ request: call.request, headers: call.headers, stamp: call.stamp, log: call.log },
          ...{ endpoint: 'createModelResponse', path: '/responses/compact', search: call.search, readsModel: true },
          ...{ principal: call.principal, providerKey: call.providerKey },
        }),
    ),
    post('/v1/responses/:response_id/cancel', { ...details, summary: 'Cancel a response in the background' }, (call) =>
      ours(call, async () => {
        const response = await responses.read(call.principal, id(call));
        if (response.background !== true)
          fail('invalid_request', 'response_id', 'names no background response; only these can be cancelled');
        await background.cancel(id(call));
        return responses.read(call.principal, id(call));
      }),
    ),
    del('/v1/responses/:response_id', { ...details, summary: 'Delete a response' }, (call) =>
      ours(call, () => responses.delete(call.principal, id(call))),
    ),
    get(
      '/v1/responses/:response_id/input_items',
      { ...details, summary: 'What a response was made of', query: page },
      (call) => ours(call, () => responses.inputItems(call.principal, id(call), call.query)),
    ),
  ];
};
