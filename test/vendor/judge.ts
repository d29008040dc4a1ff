import type { Schema, VendorSchemas } from './schemas.ts';

/** What is wrong with a value, and what it has that the vendor does not know. Each begins with the place. */
export interface Verdict {
  readonly faults: readonly string[];
  readonly extras: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;
const FINE: Verdict = { faults: [], extras: [] };
const fault = (text: string): Verdict => ({ faults: [text], extras: [] });
const joined = (verdicts: readonly Verdict[]): Verdict => ({
  faults: verdicts.flatMap(({ faults }) => faults),
  extras: verdicts.flatMap(({ extras }) => extras),
});
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

/** Holds a value against a schema of the vendor. */
export function judge(schema: Schema, value: unknown, path: string, defs: VendorSchemas['defs']): Verdict {
  const whole = (each: Schema): Schema => (each.$ref === undefined ? each : defs[each.$ref]!);
  /** What can be told of a branch at once: the kind of value, and its members that are literals. */
  const mayBe = (branch: Schema, given: unknown): boolean => {
    if ('const' in branch) return branch.const === given;
    if (branch.type && branch.type !== kindOf(given)) return false;
    if (branch.type !== 'object') return true;
    return Object.entries(branch.properties ?? {}).every(([name, member]) => {
      const literals = literalsOf(member);
      return !literals || (given as Json)[name] === undefined || literals.includes((given as Json)[name]);
    });
  };
  const literalsOf = (member: Schema): readonly unknown[] | null => {
    if ('const' in member) return [member.const];
    if (!member.anyOf?.every((each) => 'const' in each)) return null;
    return member.anyOf.map((each) => each.const);
  };
  const wordOf = (branch: Schema): string => {
    if ('const' in branch) return shown(branch.const);
    const type = branch.properties?.type ?? branch.properties?.event ?? branch.properties?.object;
    return type && 'const' in type ? `${shown(type.const)} object` : (branch.type ?? 'anything');
  };
  const visit = (given: unknown, unresolved: Schema, at: string): Verdict => {
    const expected = whole(unresolved);
    if ('const' in expected)
      return expected.const === given ? FINE : fault(`${at}: ${shown(given)}, expected ${shown(expected.const)}`);
    if (expected.anyOf) {
      const branches = expected.anyOf.map(whole);
      const likely = branches.filter((branch) => mayBe(branch, given));
      if (likely.length === 0) {
        const words = [...new Set(branches.map(wordOf))].slice(0, 40);
        return fault(`${at}: ${shown(given)}, expected ${words.join(' or ')}`);
      }
      return likely
        .map((branch) => visit(given, branch, at))
        .reduce((best, next) =>
          next.faults.length - best.faults.length < 0 ||
          (next.faults.length === best.faults.length && next.extras.length < best.extras.length)
            ? next
            : best,
        );
    }
    if (!expected.type) return FINE;
    if (expected.type !== kindOf(given)) return fault(`${at}: ${shown(given)}, expected ${expected.type}`);
    if (Array.isArray(given))
      return joined(given.map((item, index) => visit(item, expected.items!, `${at}[${index}]`)));
    return isObject(given) ? members(given, expected, at) : FINE;
  };
  const members = (given: Json, { properties = {}, required = [], additionalProperties }: Schema, at: string) => {
    const missing = required.filter((name) => given[name] === undefined);
    return joined([
      ...missing.map((name) => fault(`${at}.${name}: missing, expected ${wordOf(whole(properties[name]!))}`)),
      ...Object.entries(given).map(([name, member]) => {
        const known = properties[name] ?? additionalProperties;
        return known ? visit(member, known, `${at}.${name}`) : { faults: [], extras: [`${at}.${name}`] };
      }),
    ]);
  };
  return visit(value, schema, path);
}
