import type { EndpointType } from '../core/endpoints.ts';
import type { HeaderMap } from '../core/header-map.ts';
import type { IdentityKind, LentIdentity } from '../core/machine-identity.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import type { Secret } from '../core/secret.ts';
import type { Quirks } from '../dialects/dialect.ts';
import type { EndpointCodec } from '../dialects/endpoints/endpoint.ts';
import type { ModelListing } from '../dialects/endpoints/models.ts';
import type { DialectName, JsonObject } from '../dialects/ir.ts';

/** Settings of a virtual key, or of `x-gateway-*` headers, beyond its credential: `aws_region`, `azure_resource_name`, … */
export type ProviderOptions = Readonly<Record<string, unknown>>;

/** Everything a way to authenticate may need. */
export interface Authorization {
  /** The provider's name, for error texts. */
  readonly provider: string;
  /** The identity of the machine, lent by the operator to the virtual key: it stands in the place of a credential. */
  readonly machine?: LentIdentity;
  /** The stored or caller's own credential; absent when neither was given. */
  readonly credential: Secret | null;
  readonly options: ProviderOptions;
  readonly method: string;
  /** The address that will be called, query included. */
  readonly url: string;
  /** The headers that will be sent; an authorisation sets its own here. */
  readonly headers: HeaderMap;
  /** The whole body, given only when the provider says `signsBody`. */
  readonly body: Uint8Array | null;
  readonly tokens: TokenSource;
  readonly now: number;
}

/** Sets the headers that say who pays. Synchronous where no signature or token is needed. */
export type Authorize = (call: Authorization) => NowOrLater<void>;

/** Short-lived access tokens: cached until shortly before they expire, fetched once however many calls wait. */
export interface TokenSource {
  get(cacheKey: string, fetchToken: () => Promise<AccessToken>): Promise<string>;
  /** Posts a form through the egress policy; answers the parsed JSON or throws `credential_rejected`. */
  postForm(
    provider: string,
    url: string,
    form: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Record<string, unknown>>;
}

export interface AccessToken {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A call of a chat model, as far as its address depends on it. */
export interface ChatCall {
  readonly model: string;
  readonly stream: boolean;
  readonly options: ProviderOptions;
}

/** Where and in which format a provider takes a call of a chat model. */
export interface ChatEndpoint {
  readonly dialect: DialectName;
  /** After the base, query included. */
  readonly path: string;
  /** How its streams are cut into events. Default: server-sent events. */
  readonly framing?: 'sse' | 'aws';
  readonly quirks?: Quirks;
  /** What the body needs at this address, and the dialect does not have. */
  readonly edits?: {
    readonly defaults?: JsonObject;
    readonly overrides?: JsonObject;
    readonly drops?: readonly string[];
  };
}

/** Google's Live API at another place. */
export interface LiveForm {
  /** For what a client calls that version. */
  readonly path: (version: string) => string;
  /** A model as the first message names it. */
  readonly model: (name: string, options: ProviderOptions) => string;
}

/**
 * A provider is data: an address, a way to authenticate, a dialect, its quirks.
 *
 *     export const groq: Provider = {
 *       name: 'groq',
 *       baseUrl: 'https://api.groq.com/openai/v1',
 *       dialect: 'openai-chat',
 *       authorize: bearer,
 *       environment: 'GROQ_API_KEY',
 *     };
 */
export interface Provider {
  /** How clients and virtual keys call it. */
  readonly name: string;
  /**
   * Its API's address, version segment included and without a closing slash; a function where options or the client's
   * path (a vendor with two hosts or versions) decide; null: custom_host is required.
   */
  readonly baseUrl: string | ((options: ProviderOptions, path: string) => string) | null;
  /** The shape its chat endpoint speaks. `none`: it has no chat. */
  readonly dialect: Exclude<DialectName, 'responses' | 'ollama' | 'ollama-generate'> | 'none';
  readonly authorize: Authorize;
  /** Headers it always wants, set unless the client sent its own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The environment variable that makes a virtual key of this name. */
  readonly environment?: string;
  /** Option names it reads from `x-gateway-<name with dashes>` headers and from `configurations`. */
  readonly options?: readonly string[];
  /** It takes the `Authorization` of a person's subscription in the place of a key. */
  readonly takesSubscriptions?: boolean;
  /** The cloud whose machines' identities it takes in the place of a credential. */
  readonly machineIdentity?: IdentityKind;
  /** Its signature covers the body, so the body is read whole before it is sent. */
  readonly signsBody?: boolean;
  /** The last word on what follows the base, query included, custom host or not; the default is the client's own. */
  readonly rewrite?: (pathAndQuery: string, options: ProviderOptions) => string;
  /** Where chat models are called; the default is the path that the dialect's inventor has. */
  readonly chat?: (call: ChatCall) => ChatEndpoint;
  /** Its form of Google's Live API, where that is not the one of Google AI Studio. */
  readonly live?: LiveForm;
  /** How its chat differs from that of the dialect's inventor; a function where options (a version) decide. */
  readonly quirks?: Quirks | ((options: ProviderOptions) => Quirks);
  /** Endpoints it has at the client's path and in the client's format, beside chat in its own; default: whatever it answers. */
  readonly serves?: readonly EndpointType[];
  /** Endpoints it has in a format of its own; `chat`: its chat answers, the prompt being the only message. */
  readonly endpoints?: Readonly<Partial<Record<EndpointType, EndpointCodec | 'chat'>>>;
  /** How it lists its models. Default: as OpenAI does where its chat speaks OpenAI's format, else not at all. */
  readonly models?: ModelListing;
  /** Names of its models that look as if a virtual key stood before them: `@cf/meta/llama`. */
  readonly ownNames?: RegExp;
  /** Answers inside this process (the built-in simulator); no connection is made. */
  readonly inProcess?: boolean;
}
