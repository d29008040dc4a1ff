import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { searchOf, useReach } from './range.ts';
import { both } from './reach.ts';
import { useMay } from './session.tsx';
import type { Span } from './spans.ts';

/** Opens Logs at a time with what is filtered by here, and more terms. Null where the role may not see logs. */
export function useOpenLogs(): ((terms: readonly string[], span?: Span) => void) | null {
  const navigate = useNavigate();
  const may = useMay();
  const { reach } = useReach();
  const open = useCallback(
    (terms: readonly string[], span?: Span) => {
      const time = span && { range: '', from: String(span.from), until: String(span.until) };
      const search = searchOf({ ...reach, ...time, filter: both(reach.filter, ...terms) });
      void navigate({ to: '/logs', search: search as never });
    },
    [navigate, reach],
  );
  return may('logs.list') ? open : null;
}
