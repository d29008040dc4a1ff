import type { User } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';

const TONES: Readonly<Record<User['role'], Tone>> = { owner: 'accent', admin: 'info', member: 'plain' };

export const RoleBadge = ({ role }: { readonly role: User['role'] }) => <Badge tone={TONES[role]}>{role}</Badge>;

/** The letters of a name, on one of a few grounds that a name always has. */
export function Face({ name }: { readonly name: string }) {
  const words = name.split(/[\s.@_-]+/).filter(Boolean);
  const letters = `${words[0]?.[0] ?? '?'}${words.length > 1 && !name.includes('@') ? words[1]![0] : ''}`;
  const ground = [...name].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % 4;
  return (
    <span className={`users-face users-face-${ground}`} aria-hidden="true">
      {letters.toUpperCase()}
    </span>
  );
}
