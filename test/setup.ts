import { setDefaultTimeout } from 'bun:test';

/**
 * Runs before every test file, in the suite and alone. A test waits for what it needs to see, never for a time; this only
 * ends a test that would wait for ever. It is long because a machine with other work gives tests a tenth of a core.
 */
setDefaultTimeout(Bun.main.includes('/test/long/') ? 600_000 : 300_000);
