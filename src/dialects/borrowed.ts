import type { Ext, JsonObject, ModelRequest } from './ir.ts';

/**
 * Clients of one dialect add members of another to their bodies, because the model they want is behind it: a chat body
 * with Gemini's `safety_settings`. `names` says which members these are and what they are called here. They are taken
 * out of the client's `ext`, so that they are not reported as lost.
 */
export function borrow(
  { ext, origin }: ModelRequest,
  names: Readonly<Record<string, string>>,
): { readonly members: JsonObject; readonly ext: Ext | undefined } {
  const given = origin && ext?.[origin.dialect];
  if (!given) return { members: {}, ext };
  const members: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(names, name)) members[names[name]!] = value;
    else rest[name] = value;
  }
  return { members, ext: { ...ext, [origin.dialect]: rest } };
}
