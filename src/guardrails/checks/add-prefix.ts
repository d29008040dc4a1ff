import * as z from 'zod';
import { type CheckResult, check, errored, type Facts } from '../check.ts';

type Message = Readonly<Record<string, unknown>>;

export const addPrefix = check({
  id: 'default.addPrefix',
  passes:
    'always, after `prefix` was put before the first message of `applyToRole`, or as a message of its own where `addToExisting` is false or there is none; with `onlyIfEmpty`, only where that message says nothing',
  on: ['input'],
  span: 'whole',
  transforms: true,
  tells: ['where', 'explanation'],
  parameters: () =>
    z.strictObject({
      prefix: z.string().min(1, 'must not be empty').max(100_000),
      applyToRole: z
        .enum(['system', 'developer', 'user', 'assistant'], {
          error: 'give "system", "developer", "user" or "assistant"',
        })
        .default('user'),
      addToExisting: z.boolean({ error: 'give true or false' }).default(true),
      onlyIfEmpty: z.boolean({ error: 'give true or false' }).default(false),
    }),
  run: (facts, { prefix, applyToRole, addToExisting, onlyIfEmpty }) => {
    const part = facts.texts.findIndex(({ role, kind }) => role === applyToRole && kind === 'text');
    const found = facts.texts[part];
    if (found && onlyIfEmpty && found.text.trim() !== '') return unchanged('The message is not empty.');
    if (found && addToExisting)
      return {
        verdict: true,
        data: { where: found.where },
        transformed: { texts: [{ part, text: prefix + found.text }] },
      };
    return withMessage(facts, applyToRole, prefix);
  },
});

const unchanged = (explanation: string): CheckResult => ({ verdict: true, data: { where: null, explanation } });

/** Only a conversation has room for another message. */
function withMessage({ json, endpointType }: Facts, role: string, content: string): CheckResult {
  const body = json !== null && typeof json === 'object' ? (json as Message) : {};
  if (endpointType === 'generateContent') return withContent(body, role, content);
  const name = Array.isArray(body.messages) ? 'messages' : Array.isArray(body.input) ? 'input' : null;
  if (name === null || !['chatComplete', 'messages', 'createModelResponse'].includes(endpointType))
    return errored(`there is no ${role} message to put the prefix before`);
  // The Messages API keeps what the system says outside of the conversation.
  if (endpointType === 'messages' && (role === 'system' || role === 'developer'))
    return {
      verdict: true,
      data: { where: 'system' },
      transformed: { json: { ...body, system: systemWith(body.system, content) } },
    };
  const messages = body[name] as readonly Message[];
  const first = messages.findIndex((message) => message?.role === role);
  const at = first >= 0 ? first : role === 'system' || role === 'developer' ? 0 : messages.length;
  const changed = [...messages.slice(0, at), { role, content }, ...messages.slice(at)];
  return { verdict: true, data: { where: `${name}[${at}]` }, transformed: { json: { ...body, [name]: changed } } };
}

/** Google's format has a place for what the system says, and calls the assistant a model. */
function withContent(body: Message, role: string, text: string): CheckResult {
  const changed = (where: string, members: Message): CheckResult => ({
    verdict: true,
    data: { where },
    transformed: { json: { ...body, ...members } },
  });
  if (role === 'system' || role === 'developer') {
    const name = body.system_instruction === undefined ? 'systemInstruction' : 'system_instruction';
    const given = body[name] as { readonly parts?: unknown } | undefined;
    const parts = given?.parts === undefined ? [] : [given.parts].flat();
    return changed(name, { [name]: { ...given, parts: [{ text }, ...parts] } });
  }
  const contents = body.contents === undefined ? [] : ([body.contents].flat() as unknown as readonly Message[]);
  const spelt = role === 'assistant' ? 'model' : 'user';
  const first = contents.findIndex((content) => (content?.role ?? 'user') === spelt);
  const at = first < 0 ? contents.length : first;
  const added = { role: spelt, parts: [{ text }] };
  return changed(`contents[${at}]`, { contents: [...contents.slice(0, at), added, ...contents.slice(at)] });
}

function systemWith(system: unknown, text: string): unknown {
  if (Array.isArray(system)) return [{ type: 'text', text }, ...system];
  return typeof system === 'string' && system !== ''
    ? [
        { type: 'text', text },
        { type: 'text', text: system },
      ]
    : text;
}
