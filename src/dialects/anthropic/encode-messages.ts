import type { ModelRequest, Part, Turn } from '../ir.ts';
import type { Losses } from '../losses.ts';
import { block } from './encode-blocks.ts';
import { takesSystemTurns } from './models.ts';
import type { ContentBlock, Message, TextBlock } from './wire.ts';

const isSystem = (turn: Turn | undefined) => turn?.role === 'system' || turn?.role === 'developer';

/** Turns as messages. What was said by the system before the conversation is the system prompt. */
export function encodeTurns(
  { model, turns }: ModelRequest,
  losses: Losses,
): { readonly system: TextBlock[]; readonly messages: Message[] } {
  const system: TextBlock[] = [];
  const messages: Message[] = [];
  for (const [index, turn] of turns.entries()) {
    const path = `turns[${index}]`;
    if (turn.name !== undefined) losses.member(turn, path, 'name', 'anthropic knows no names of participants');
    const ext = losses.ext(turn, path);
    if (isSystem(turn)) {
      addSystem({ turn, path, index, turns, model }, { system, messages }, losses);
      continue;
    }
    const content = blocks(turn, path, losses);
    if (content.length === 0) {
      losses.change(turn, path, 'left out, because anthropic takes no message that says nothing');
      continue;
    }
    const last = messages.at(-1);
    // Results of tools and what the user says after them are one message, results first.
    if (turn.role === 'user' && !ext && turns[index - 1]?.role === 'tool' && last?.role === 'user')
      last.content.push(...content);
    else messages.push({ ...ext, role: turn.role === 'assistant' ? 'assistant' : 'user', content });
  }
  return { system, messages };
}

interface SystemTurn {
  readonly turn: Turn;
  readonly path: string;
  readonly index: number;
  readonly turns: readonly Turn[];
  readonly model: string;
}

/** In its place where the model and the rules for it allow, else at the end of the system prompt. */
function addSystem(
  { turn, path, index, turns, model }: SystemTurn,
  { system, messages }: { system: TextBlock[]; messages: Message[] },
  losses: Losses,
) {
  const said = blocks(turn, path, losses) as TextBlock[];
  if (messages.length === 0) {
    system.push(...said);
    return;
  }
  const last = messages.at(-1);
  if (last?.role === 'system') last.content.push(...said);
  else if (takesSystemTurns(model) && mayStandHere(turns, index)) messages.push({ role: 'system', content: said });
  else {
    system.push(...said);
    losses.change(turn, path, `moved to the system prompt, because ${model} takes no system message at this place`);
  }
}

/** The vendor's rule: after the user or results of tools, and before the assistant or at the end. */
function mayStandHere(turns: readonly Turn[], index: number): boolean {
  const before = turns[index - 1]?.role;
  const next = turns.slice(index).find((turn) => !isSystem(turn))?.role;
  return (before === 'user' || before === 'tool') && (next === undefined || next === 'assistant');
}

function blocks(turn: Turn, path: string, losses: Losses): ContentBlock[] {
  return turn.parts.flatMap((part, index) => {
    const made = sayable(part, `${path}.parts[${index}]`, turn, losses);
    return made ? [made] : [];
  });
}

function sayable(part: Part, path: string, turn: Turn, losses: Losses): ContentBlock | null {
  if (part.type === 'text' && part.text === '') {
    losses.change(part, path, 'left out, because anthropic takes no empty text');
    return null;
  }
  if (isSystem(turn) && part.type !== 'text') {
    losses.node(part, path, 'system messages have only text at anthropic');
    return null;
  }
  const isForeign = part.type === 'reasoning' && part.signedBy !== 'anthropic';
  if (isForeign) {
    losses.node(part, path, 'anthropic takes back only thoughts that it signed itself', false);
    return null;
  }
  return block(part, path, losses);
}
