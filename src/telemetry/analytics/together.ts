import * as z from 'zod';
import { fail, GatewayError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import { schemaOf } from '../../core/schema.ts';
import { readQuery } from '../../http/input.ts';
import { jsonText } from '../../http/reply.ts';
import { get, type MakeSchema, type Route } from '../../http/route.ts';

/** A question that has an address of its own, and can be asked together with others. */
export interface Askable {
  /** Its address, behind `/v1/analytics/`. */
  readonly name: string;
  readonly summary: string;
  readonly query: MakeSchema;
  readonly response: MakeSchema;
  /** JSON. `query` has been checked by its schema. */
  readonly answer: (who: Principal, query: unknown) => Promise<string>;
}

/** As many as the log's reader answers as of one moment. */
const MOST = 16;
const LONGEST = 10_000;
const PARAM = 'question[]';

const address = () => z.string().min(1).max(LONGEST);
const query = () =>
  z.strictObject({
    [PARAM]: z
      .union(
        [address(), z.array(address()).max(MOST)],
        `must be the address of a question, given once for each, ${MOST} at most`,
      )
      .describe(
        `Given once for each question, ${MOST} at most: the address of a graph, of series or of facets behind /v1/analytics/, with its query, such as series?metric=cost&group_by=model.`,
      ),
  });
const response = () =>
  z.object({
    object: z.literal('list'),
    data: z
      .array(z.looseObject({ object: z.string() }))
      .describe('What each address answers, in the order they were asked.'),
  });

/** A page asks much at once, and each request takes browser and gateway about as long as a short answer. */
export function togetherRoute(askables: readonly Askable[]): Route {
  const byName = new Map(askables.map((each) => [each.name, each]));
  return get(
    '/v1/analytics/questions',
    { scopes: ['analytics.view'], summary: 'Several questions at once', query, response },
    async ({ principal, query: { [PARAM]: asked } }) => {
      // All are checked before the first is asked.
      const questions = [asked].flat().map((text, at) => {
        const [name, search] = /^([^?]*)(.*)$/s.exec(text)!.slice(1) as [string, string];
        const found = byName.get(name);
        if (!found)
          return fail('invalid_request', placed(at), `must begin with one of ${[...byName.keys()].join(', ')}`);
        return { found, at, query: within(at, () => readQuery(search, schemaOf(found.query))) };
      });
      const answers = await Promise.all(
        questions.map(({ found, at, query }) => inPlace(at, found.answer(principal, query))),
      );
      return jsonText(`{"object":"list","data":[${answers.join(',')}]}`);
    },
  );
}

const placed = (at: number, param?: string | null) => `question[${at}]${param ? `.${param}` : ''}`;

/** A fault of one of them says which one it is. */
function placedFault(at: number, error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'invalid_request') return error;
  const [param, why] = error.facts as [param: string, why: string];
  return new GatewayError('invalid_request', [placed(at, param), why], error.headers);
}

function within<Result>(at: number, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw placedFault(at, error);
  }
}

const inPlace = <Result>(at: number, work: Promise<Result>): Promise<Result> =>
  work.catch((error) => {
    throw placedFault(at, error);
  });
