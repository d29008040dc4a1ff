import { setDefaultTimeout } from 'bun:test';
import './awake.ts';
import './log-threads.ts';
import './passwords.ts';

/**
 * Runs before the tests of a process; test/run.ts says the same to workers that take several files. A test waits for what
 * it needs to see, never for a time; this only ends a test that would wait for ever. It is long because a machine with
 * other work gives tests a tenth of a core.
 */
setDefaultTimeout(Bun.main.includes('/test/long/') ? 600_000 : 300_000);
