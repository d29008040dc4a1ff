import type * as z from 'zod';
import type { CallLog } from '../core/call-log.ts';
import type { ClientDialect } from '../core/endpoints.ts';
import type { Principal, Witness } from '../core/principal.ts';
import { schemaOf } from '../core/schema.ts';
import type { Scope } from '../core/scopes.ts';
import type { SentHeaders } from './headers.ts';
import type { Wording } from './input.ts';
import { type SocketSide, Upgrade } from './socket.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';

/** Whose call it is, as the log keeps it. */
export interface LoggedCaller {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly keyId: string | null;
  readonly userId: string | null;
  /** For metrics and traces; left out: they do not tell the caller apart. */
  readonly workspaceSlug?: string;
  readonly keyName?: string;
  readonly isMachine?: boolean;
}

export type MakeSchema<Schema extends z.ZodType = z.ZodType> = () => Schema;

/** The parameters that a path names: `/v1/files/:file_id` has `file_id`. */
export type ParamsOf<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : Path extends `${infer Segment}/${infer Rest}`
    ? ParamOf<Segment> & ParamsOf<Rest>
    : ParamOf<Path>;
type ParamOf<Segment extends string> = Segment extends `:${infer Name}`
  ? Readonly<Record<Name, string>>
  : Readonly<Record<never, string>>;

/** What a handler gets of a request whose caller is not identified: on `public` routes and those of MCP. */
export interface AnonymousCall<Query = unknown, Body = unknown, Params = Readonly<Record<string, string>>> {
  readonly request: Request;
  readonly headers: SentHeaders;
  readonly requestId: string;
  /** What every response carries: the request's ids. A handler that makes a response itself may set them at once. */
  readonly stamp: SentHeaders;
  /** The path as it was asked for, and the query with its question mark. */
  readonly path: string;
  readonly search: string;
  readonly params: Params;
  /** Query and body after their schemas have checked them. */
  readonly query: Query;
  readonly body: Body;
  /** A handler that finds out by itself who is calling tells the log. */
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

/** What every other handler gets: the caller holds the scopes of the route. */
export interface Call<Query = unknown, Body = unknown, Params = Readonly<Record<string, string>>>
  extends AnonymousCall<Query, Body, Params> {
  readonly principal: Principal;
}

/** A call whose path names these parameters. */
export type CallAt<Name extends string, Query = unknown> = Call<Query, unknown, Readonly<Record<Name, string>>>;
export type AnonymousCallAt<Name extends string> = AnonymousCall<unknown, unknown, Readonly<Record<Name, string>>>;

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
  /** The format of its clients, in which they are told of errors; left out, the path and the headers tell it. */
  readonly dialect?: ClientDialect;
  /** Called by MCP clients: the handler finds out who is calling, and may take tokens of another issuer for that. */
  readonly isMcp?: boolean;
  /**
   * Each call is recorded in the audit log, refused ones too: every route has it that changes what administrators manage.
   * The action is `create`, `update` or `delete` by the method, unless it is said; so is the status of a change that
   * worked, which is stored before it is answered, and 200 unless it is said.
   */
  readonly audit?: { readonly resource: string; readonly action?: string; readonly changedStatus?: number };
  /** Finds the caller by more than everywhere: clients of this route may bring a secret of their own. Throws 401. */
  readonly identify?: (headers: SentHeaders, proof: { readonly csrf: 'needed' | 'none' }) => Promise<Principal>;
  /** What every answer of this route carries beside the request's ids, errors too. */
  readonly stamp?: (headers: SentHeaders) => SentHeaders;
  /** Answers a value (sent as JSON, 200) or a whole Response. */
  // biome-ignore lint/suspicious/noExplicitAny: the table holds routes of every access, path, query and body
  readonly handle: (call: any) => unknown;
}

type Details<
  Access extends Route['scopes'],
  IsMcp extends boolean,
  Query extends z.ZodType,
  Body extends z.ZodType,
> = Pick<Route, 'summary' | 'isProviders' | 'dialect' | 'audit' | 'stamp' | 'wording' | 'largestBody' | 'identify'> & {
  readonly scopes: Access;
  readonly isMcp?: IsMcp;
  readonly query?: Given<Query>;
  readonly body?: Given<Body>;
  readonly form?: Given<z.ZodType>;
  readonly response?: Given<z.ZodType>;
};

type CallOf<Access, IsMcp, Query, Body, Params> = Access extends 'public'
  ? AnonymousCall<Query, Body, Params>
  : IsMcp extends true
    ? AnonymousCall<Query, Body, Params>
    : Call<Query, Body, Params>;

/** A schema is given as what makes it, or, where it exists anyway, as it is. */
type Given<Schema extends z.ZodType> = Schema | MakeSchema<Schema>;

const madeOnce = (given: Given<z.ZodType> | undefined): MakeSchema | undefined =>
  typeof given === 'function' ? () => schemaOf(given) : given && (() => given);

const builder =
  (method: Method) =>
  <
    Path extends string,
    Access extends Route['scopes'],
    IsMcp extends boolean = false,
    Query extends z.ZodType = z.ZodUndefined,
    Body extends z.ZodType = z.ZodUndefined,
  >(
    path: Path,
    details: Details<Access, IsMcp, Query, Body>,
    handle: (call: CallOf<Access, IsMcp, z.infer<Query>, z.infer<Body>, ParamsOf<Path>>) => unknown,
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
export const patch = builder('PATCH');
export const del = builder('DELETE');
export const options = builder('OPTIONS');

/**
 * A path at which a WebSocket is served. Its caller is known, and holds the scopes, before it is accepted. A response is the
 * answer to a handshake that leads to none.
 */
export const socket = (
  path: string,
  details: Pick<Route, 'summary' | 'identify' | 'dialect'> & { readonly scopes: readonly Scope[] },
  open: (call: Call) => SocketSide | Promise<Upgrade | Response>,
): Route => ({
  ...details,
  method: 'GET',
  path,
  isProviders: true,
  handle: async (call: Call) => {
    const opened = await open(call);
    return opened instanceof Upgrade || opened instanceof Response ? opened : new Upgrade(opened);
  },
});
