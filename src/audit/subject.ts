import type { Route } from '../http/route.ts';
import { recordedMethod, usualAction } from './record.ts';

/** What a call is about, as its record names it. */
export interface Subject {
  readonly resource: string;
  readonly action: string;
  /** What is answered to a change that worked; 200 when left out. */
  readonly changedStatus?: number;
}

/**
 * Finds what a call is about. A call that no route answers, but whose path lies where an audited route's does, was an
 * attempt on the same resource.
 */
export function createSubjects(routes: readonly Route[]) {
  const places = new Map<string, string>();
  for (const { audit, path } of routes) {
    if (audit) places.set(path.split('/:')[0]!, audit.resource);
  }
  const longestFirst = [...places].sort(([a], [b]) => b.length - a.length);

  return (method: string, path: string, route: Route | undefined): Subject | null => {
    if (route && !route.audit) return null;
    const recorded = recordedMethod(method);
    if (recorded === null) return null;
    if (route?.audit) return { action: usualAction(recorded), ...route.audit };
    const place = longestFirst.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
    return place ? { resource: place[1], action: usualAction(recorded) } : null;
  };
}

export type Subjects = ReturnType<typeof createSubjects>;
