import type { Facts } from '../../check.ts';

/** Without names and settings, which are read and not said. */
export const saidIn = (texts: Facts['texts']): Facts['texts'] => texts.filter(({ kind }) => kind !== 'name');

/** What is said in one message, choice or input, without tool calls. */
export const sayingsOf = ({ texts }: Pick<Facts, 'texts'>): string[] => {
  const turns = new Map<number, string[]>();
  for (const { text, kind, turn } of texts) {
    if (kind !== 'text') continue;
    const said = turns.get(turn);
    if (said) said.push(text);
    else turns.set(turn, [text]);
  }
  return [...turns.values()].map((said) => said.join('\n'));
};

/** Of a request the last message, of an answer every choice: what a rule on the form of a text is about. */
export const formOf = (facts: Pick<Facts, 'on' | 'texts'>): string[] => {
  const sayings = sayingsOf(facts);
  return facts.on === 'input' ? sayings.slice(-1) : sayings;
};
