import { afterAll, beforeAll, test } from 'bun:test';
import { startConsole, type TestConsole } from '../console/browser.ts';
import { serveElsewhere, visitElsewhere } from '../console/elsewhere.ts';
import { walkAsAdmin } from '../console/walks.ts';

const elsewhere = serveElsewhere();
let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
});
afterAll(async () => {
  await console.stop();
  elsewhere.stop();
});

test('a page elsewhere reads nothing and changes nothing, in whatever form it sends it', async () => {
  await visitElsewhere(console, elsewhere, { bodiesEach: 5 });
});

test('axe finds nothing on any page that is open to a workspace admin', async () => {
  await walkAsAdmin(console, { withAxe: true });
});
