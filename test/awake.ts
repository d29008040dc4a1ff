import { stayAwakeWhile } from '../src/core/runtime/seconds.ts';

/**
 * Tests call much of the gateway without asking it anything over HTTP, and a process that nobody asks does everything
 * every five seconds or more rarely. So none of theirs becomes quiet, until a test of that says so.
 */
export const fallAsleep = stayAwakeWhile(() => true);
