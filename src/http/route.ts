import type * as z from 'zod';
import type { CallLog } from '../core/call-log.ts';
import { lazily } from '../core/lazily.ts';
import type { Principal, Witness } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import type { SentHeaders } from './headers.ts';
import type { Wording } from './input.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';

/** Whose call it is, as the log keeps it. */
export interface LoggedCaller {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly keyId: string | null;
  readonly userId: string | null;
}

export type MakeSchema<Schema extends z.ZodType = z.ZodType> = () => Schema;

/** What a handler gets: the request, who sent it, and its parts after their schemas have checked them. */
export interface Call<Query = unknown, Body = unknown> {
  readonly request: Request;
  readonly headers: SentHeaders;
  readonly requestId: string;
  /** What every response carries: the request's ids. Whoever makes a response may set them at once. */
  readonly stamp: SentHeaders;
  /** The path as it was asked for, and the query with its question mark. */
  readonly path: string;
  readonly search: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Who is calling; `public` and MCP routes have none, and they do not ask. */
  readonly principal: Principal;
  /** To be called by whoever finds out by itself who is calling: for the log. */
  readonly identify: (who: LoggedCaller) => void;
  /** For changes on a `public` route that is audited; everywhere else the principal brings it. */
  readonly witness?: Witness;
  /** The credential the caller brought for a provider. */
  readonly providerKey: string | null;
  /** Where the client is, as far as that can be known. */
  readonly clientAddress: string;
  readonly log: CallLog;
  readonly now: number;
}

/**
 * One path and method the service answers. `access` is never left out: a route without scopes does not exist.
 *
 *     get('/v1/virtual-keys/:slug', { scopes: ['virtual_keys.read'], summary: 'One virtual key' },
 *       (call) => virtualKeys.read(call.principal, call.params.slug))
 */
export interface Route {
  readonly method: Method;
  /** `:name` is one segment; a closing `*` is the rest. */
  readonly path: string;
  /** The caller needs every one of these; `public` needs no key. */
  readonly scopes: readonly Scope[] | 'public';
  readonly summary: string;
  /** Schemas are made when they are first needed. */
  readonly query?: MakeSchema;
  readonly body?: MakeSchema;
  /** The fields of a multipart body, for the description; the handler reads them itself, as they come in. */
  readonly form?: MakeSchema;
  readonly response?: MakeSchema;
  /** The most bytes its JSON body may have; 1 MiB when left out. */
  readonly largestBody?: number;
  /** In whose words faults of query and body are told; our own when left out. */
  readonly wording?: Wording;
  /** Other methods of this path, and its neighbours, go to the provider: the path is a provider's, too. */
  readonly isProviders?: boolean;
  /** Called by MCP clients: the handler finds out who is calling, and may take tokens of another issuer for that. */
  readonly isMcp?: boolean;
  /**
   * Each call is recorded in the audit log, refused ones too: every route has it that changes what administrators manage.
   * The action is `create`, `update` or `delete` by the method, unless it is said; so is the status of a change that
   * worked, which is stored before it is answered, and 200 unless it is said.
   */
  readonly audit?: { readonly resource: string; readonly action?: string; readonly changedStatus?: number };
  /** What every answer of this route carries beside the request's ids, errors too. */
  readonly stamp?: (headers: SentHeaders) => SentHeaders;
  /** Answers a value (sent as JSON, 200) or a whole Response. */
  // biome-ignore lint/suspicious/noExplicitAny: the table holds routes of every query and body type
  readonly handle: (call: Call<any, any>) => unknown;
}

type Details<Query extends z.ZodType, Body extends z.ZodType> = Pick<
  Route,
  'scopes' | 'summary' | 'isProviders' | 'audit' | 'isMcp' | 'stamp' | 'wording' | 'largestBody'
> & {
  readonly query?: Given<Query>;
  readonly body?: Given<Body>;
  readonly form?: Given<z.ZodType>;
  readonly response?: Given<z.ZodType>;
};

/** A schema is given as what makes it, or, where it exists anyway, as it is. */
type Given<Schema extends z.ZodType> = Schema | MakeSchema<Schema>;

const madeOnce = (given: Given<z.ZodType> | undefined): MakeSchema | undefined =>
  typeof given === 'function' ? lazily(given) : given && (() => given);

const builder =
  (method: Method) =>
  <Query extends z.ZodType = z.ZodUndefined, Body extends z.ZodType = z.ZodUndefined>(
    path: string,
    details: Details<Query, Body>,
    handle: (call: Call<z.infer<Query>, z.infer<Body>>) => unknown,
  ): Route => ({
    ...details,
    method,
    path,
    query: madeOnce(details.query),
    body: madeOnce(details.body),
    form: madeOnce(details.form),
    response: madeOnce(details.response),
    handle,
  });

export const get = builder('GET');
export const post = builder('POST');
export const put = builder('PUT');
export const del = builder('DELETE');
export const options = builder('OPTIONS');
