import type { EndpointType } from '../../../core/endpoints.ts';
/** A model's name, in which `*` stands for anything. */
export function isModel(rule: string, model: string): boolean {
  const names = model.startsWith('@') ? [model, model.slice(model.indexOf('/') + 1)] : [model];
  return names.some((name) => fits(rule, name));
}

function fits(rule: string, name: string): boolean {
  const [first = '', ...rest] = rule.split('*');
  const last = rest.pop();
  if (last === undefined) return rule === name;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}

/** Calls of MCP servers name no model: which kinds of requests are allowed is for `allowedRequestTypes` to say. */
export const isWithoutModel = (endpoint: EndpointType, model: string | null): boolean =>
  endpoint === 'mcp' && model === null;
export const NO_MODEL = 'No model is called.';
