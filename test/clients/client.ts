/** What an unmodified client is asked to do, and in which words the table of docs/clients.md speaks of it. */
export const ABILITIES = ['chat', 'stream', 'tools', 'schema', 'image', 'embeddings'] as const;
export type Ability = (typeof ABILITIES)[number];

/** The providers behind the gateway, each speaking its own format. */
export const UPSTREAMS = ['openai', 'anthropic', 'google'] as const;
export type Upstream = (typeof UPSTREAMS)[number];

/** Where a client is sent, and with what: its address and its key are changed, and nothing else. */
export interface Place {
  /** Of the gateway, without a path. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly embeddingModel: string;
}

export interface ToolCall {
  readonly name: string;
  readonly args: unknown;
}

/** A client at work. What is missing, the client does not have; `without` says so to people. */
export interface Actions {
  chat(text: string): Promise<string>;
  stream?(text: string): Promise<readonly string[]>;
  /** Offers `get_weather`, which takes a city. */
  tools?(text: string): Promise<ToolCall>;
  /** Asks for an object of a name and an age. */
  schema?(text: string): Promise<unknown>;
  /** The picture is base64 of a PNG. */
  image?(text: string, picture: string): Promise<string>;
  embeddings?(texts: readonly string[]): Promise<readonly (readonly number[])[]>;
}

export interface Client {
  /** In the table: the package and its major version. */
  readonly name: string;
  /** What is changed of its address, and of its key. */
  readonly address: string;
  readonly key: string;
  /** Why it does not have something at all. */
  readonly without?: Partial<Record<Ability, string>>;
  /** What it refuses by itself, or is refused, on one of the providers: why, and what its error says. */
  readonly refuses?: readonly Refusal[];
  /** Loads the client's package, which may take long: only the file that tests it does. */
  open(place: Place): Promise<Actions>;
}

export interface Refusal {
  readonly on: readonly Upstream[];
  readonly ability: Ability;
  readonly why: string;
  readonly says: string;
}

/** What a provider does not have in any format, and the gateway says so. */
const LACKING: readonly Refusal[] = [
  {
    on: ['anthropic'],
    ability: 'embeddings',
    why: 'Anthropic has no embeddings: 400 `unsupported_by_provider`.',
    says: 'Provider anthropic has no embeddings',
  },
];

export const refusalOf = ({ refuses = [] }: Client, ability: Ability, upstream: Upstream): Refusal | undefined =>
  [...refuses, ...LACKING].find((refusal) => refusal.ability === ability && refusal.on.includes(upstream));

/** For clients of Anthropic's API. */
export const NO_EMBEDDINGS = "Anthropic's API has no embeddings, nor has the package.";

/** Members that are the same for every client. */
export const CITY = { type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] };
export const PERSON = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const }, age: { type: 'number' as const } },
  required: ['name', 'age'],
  additionalProperties: false as const,
};

/** All that a stream said, piece by piece. */
export async function pieces<Event>(
  stream: AsyncIterable<Event>,
  textOf: (event: Event) => string | null | undefined,
): Promise<string[]> {
  const said: string[] = [];
  for await (const event of stream) {
    const text = textOf(event);
    if (text) said.push(text);
  }
  return said;
}
