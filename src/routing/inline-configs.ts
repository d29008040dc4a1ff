import { BoundedMap } from '../core/bounded-map.ts';
import { fail } from '../core/errors.ts';
import { type Forbids, refuseForbidden } from '../core/forbidden.ts';
import { sha256 } from '../crypto/seal.ts';
import { broughtBy } from './brought-members.ts';
import type { ConfigObject } from './config.ts';
import type { Plan } from './plan.ts';

const MOST = 1_000;
const LONGEST = 64 << 10;

interface Inline {
  readonly plan: Plan;
  /** What stands in it, for rules that forbid some of it. */
  readonly brings: ReadonlyMap<string, string>;
}

/** Configs that callers send along with a call. Each text is parsed and compiled once, not once per call. */
export function createInlineConfigs(compile: (value: unknown, id: string) => Plan) {
  const known = new BoundedMap<string, Inline>(MOST);

  const read = (text: string): Inline => {
    if (text.length > LONGEST)
      fail('invalid_header', 'x-gateway-config', `is longer than ${LONGEST} characters; store the config`);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      fail('invalid_header', 'x-gateway-config', `is neither a slug nor JSON: ${(error as Error).message}`);
    }
    const made = { plan: compile(value, `inline ${sha256(text)}`), brings: broughtBy(value as ConfigObject) };
    known.set(text, made);
    return made;
  };

  return {
    /** Throws 403 where the caller's organisation, workspace or key forbids such configs, or something in this one. */
    planOf(text: string, forbids: Forbids | undefined): Plan {
      refuseForbidden(forbids, 'inline_config', 'x-gateway-config');
      const { plan, brings } = known.get(text) ?? read(text);
      if (forbids) for (const [name, path] of brings) refuseForbidden(forbids, name, path);
      return plan;
    },
  };
}
