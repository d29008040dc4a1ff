import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ABILITIES, type Ability, type Actions, type Client, refusalOf, UPSTREAMS, type Upstream } from './client.ts';
import { ADA, ANSWER, openStage, pictureIn, SAID, SEEN, type Stage } from './upstream.ts';

const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==';

type Steps = {
  readonly [Name in Ability]: (actions: Required<Actions>, upstream: Upstream, stage: Stage) => Promise<void>;
};

/** Each asserts on what the provider said or was sent. */
const STEPS: Steps = {
  chat: async ({ chat }) => expect(await chat(SAID.hello)).toBe(ANSWER),
  stream: async ({ stream }) => {
    const said = await stream(SAID.hello);
    expect(said.join('')).toBe(ANSWER);
    expect(said.length).toBeGreaterThan(2);
  },
  tools: async ({ tools }) =>
    expect(await tools(SAID.weather)).toEqual({ name: 'get_weather', args: { city: 'Oslo' } }),
  schema: async ({ schema }) => expect(await schema(SAID.person)).toEqual(ADA),
  image: async ({ image }, upstream, stage) => {
    expect(await image(SAID.picture, PICTURE)).toBe(SEEN);
    expect(pictureIn(upstream, stage.last)).toBe(PICTURE);
  },
  embeddings: async ({ embeddings }, upstream, { dimensions }) => {
    const vectors = await embeddings(['one', 'two']);
    if (vectors.some(({ length }) => length === 0)) throw new Error('a vector is empty');
    expect(vectors.map((vector) => vector.length)).toEqual([dimensions[upstream], dimensions[upstream]]);
  },
};

const PROVIDERS: Readonly<Record<Upstream, string>> = { openai: 'OpenAI', anthropic: 'Anthropic', google: 'Gemini' };

/** Every client does all that it can on every provider; what the table says it cannot do, it does not have. */
export function walk(...clients: readonly Client[]) {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.stop());

  for (const client of clients)
    for (const upstream of UPSTREAMS)
      describe(`${client.name} on ${PROVIDERS[upstream]}`, () => {
        let actions: Actions;
        beforeAll(async () => {
          actions = await client.open(stage.place(upstream));
        });

        for (const ability of ABILITIES) {
          if (client.without?.[ability] !== undefined) {
            test(`${ability}: the client has none`, () => expect(actions[ability]).toBeUndefined());
            continue;
          }
          const step = () => STEPS[ability](actions as Required<Actions>, upstream, stage);
          const refusal = refusalOf(client, ability, upstream);
          if (!refusal) test(ability, step);
          else test(`${ability} is refused`, async () => expect(await step().catch(String)).toContain(refusal.says));
        }
      });
}
