import { area } from '../area/area.ts';
import type { ModelCall } from '../relay/call.ts';
import { passthroughRoutes } from './routes.ts';

/** Whatever else providers answer. */
export const passthroughArea = area({
  name: 'passthrough',
  open: ({ relay }: { readonly relay: (call: ModelCall) => Promise<Response> }) => ({
    gives: {},
    routes: passthroughRoutes(relay),
  }),
});
