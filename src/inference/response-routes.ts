import * as z from 'zod';
import { listQuery } from '../core/list.ts';
import { headerOf } from '../http/headers.ts';
import { type CallAt, del, get, type Route } from '../http/route.ts';
import type { ModelCall } from '../relay/call.ts';
import type { ResponseStore } from './responses-store.ts';

const wording = 'openai' as const;
const details = { scopes: ['completions.write'] as const, wording, isProviders: true };
const page = () => listQuery();

/** Lists in a query are written `include[]=a&include[]=b` by the vendor's clients. */
export const included = (search: string): ReadonlySet<string> => {
  const query = new URLSearchParams(search);
  return new Set([...query.getAll('include[]'), ...query.getAll('include')]);
};

/** Responses that the gateway keeps; those that a provider keeps are asked of it. */
export const responseRoutes = ({
  responses,
  relay,
}: {
  responses: ResponseStore;
  relay: (call: ModelCall) => Promise<Response>;
}): Route[] => {
  const ours = async <Value>(call: CallAt<'response_id'>, read: () => Promise<Value>): Promise<Value | Response> => {
    if (await responses.has(call.principal, call.params.response_id)) return read();
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
    get('/v1/responses/:response_id', { ...details, summary: 'One response', query: () => z.looseObject({}) }, (call) =>
      ours(call, () => responses.read(call.principal, id(call), included(call.search))),
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
