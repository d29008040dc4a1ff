import { ABILITIES, type Ability, type Client, refusalOf, UPSTREAMS, type Upstream } from '../test/clients/client.ts';
import { clients } from '../test/clients/index.ts';

const PROVIDERS: Readonly<Record<Upstream, string>> = { openai: 'OpenAI', anthropic: 'Anthropic', google: 'Gemini' };

/** The table of docs/clients.md: what the tests of `test/clients` find. What does not work has a note that says why. */
export function clientRows() {
  const reasons: string[] = [];
  const noteOf = (reason: string): string => {
    if (!reasons.includes(reason)) reasons.push(reason);
    return `[${reasons.indexOf(reason) + 1}]`;
  };
  const cellOf = (client: Client, ability: Ability): string => {
    const reason = client.without?.[ability];
    if (reason !== undefined) return `– ${noteOf(reason)}`;
    const refusals = UPSTREAMS.flatMap((upstream) => refusalOf(client, ability, upstream) ?? []);
    if (refusals.length === 0) return '✓';
    const able = UPSTREAMS.filter((upstream) => !refusalOf(client, ability, upstream));
    const notes = new Set(refusals.map(({ why }) => noteOf(why)));
    return `${able.map((upstream) => PROVIDERS[upstream]).join(', ')} ${[...notes].join(' ')}`;
  };
  const rows = clients.map((client) => [
    client.name,
    `\`${client.address}\``,
    client.key,
    ...ABILITIES.map((ability) => cellOf(client, ability)),
  ]);
  const head = ['Client', 'Address', 'Key', ...ABILITIES.map((name) => name[0]!.toUpperCase() + name.slice(1))];
  return { head, rows, notes: reasons.map((reason, index) => `${index + 1}. ${reason}`) };
}
