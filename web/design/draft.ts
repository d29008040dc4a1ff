import { useState } from 'react';

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/**
 * What is written of something that is stored. It follows what is stored, also by others, until something is changed here;
 * `saved` takes over what the server made of it, unless it was changed again meanwhile.
 */
export function useDraft<Value>(stored: Value) {
  const [draft, setDraft] = useState(stored);
  const [known, setKnown] = useState(stored);
  if (!isSame(stored, known)) {
    setKnown(stored);
    if (isSame(draft, known)) setDraft(stored);
  }
  const saved = (sent: Value, kept: Value) => setDraft((now) => (isSame(now, sent) ? kept : now));
  return { draft, setDraft, saved };
}
