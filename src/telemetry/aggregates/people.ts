import { type LogOwner, USER_LABEL } from '../log-sink.ts';
import { COMBINED, kindOf, metadataCube, textOfKind } from './cubes.ts';

const ERASED = 'erased';

/** A key that no kind comes to have by itself. */
export const keyOfErased = (id: number): string => `${ERASED} ${id}`;

/** The same kind without what tells who it was; null when it is not about the person. */
export function withoutPerson(text: string, whose: Extract<LogOwner, { userId: string }>): string | null {
  const kind = kindOf(text);
  const [value] = kind.values;
  if (kind.organisationId !== whose.organisationId || typeof value !== 'string') return null;
  const nameless = (name: string) => (whose.names.includes(name) ? ERASED : name);
  const without = () => {
    if (kind.cube === 'user_id') return value === whose.userId ? ERASED : value;
    if (kind.cube === metadataCube(USER_LABEL)) return nameless(value);
    if (kind.cube !== COMBINED || !value.startsWith('[')) return value;
    const pairs = JSON.parse(value) as [string, string][];
    return JSON.stringify(pairs.map(([key, label]) => [key, key === USER_LABEL ? nameless(label) : label]));
  };
  const changed = without();
  return changed === value ? null : textOfKind({ ...kind, values: [changed, ...kind.values.slice(1)] });
}
