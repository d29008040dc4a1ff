import { Fields } from '../fields.ts';
import { FramingError } from '../framing-error.ts';
import { isObject, objectIn } from '../json.ts';
import type { EndpointCodec } from './endpoint.ts';

/** The same words as OpenAI's, but nothing that says whether any category was hit. */
export const mistralModerate: EndpointCodec = {
  encode: (request) => {
    new Fields(request, '').string('model');
    return { path: '/moderations', body: request };
  },
  decode: ({ json }) => {
    if (!isObject(json) || !Array.isArray(json.results)) throw new FramingError('the answer holds no results');
    const results = json.results.map((result: unknown) => {
      const { categories, ...rest } = objectIn(result);
      return { flagged: Object.values(objectIn(categories)).includes(true), categories, ...rest };
    });
    return { ...json, results };
  },
};
