import { afterAll, beforeAll, expect, test } from 'bun:test';
import { signIn } from '../people.ts';
import { eventually } from '../process.ts';
import { type ConsolePage, holdBack, NARROW, settled, startConsole, type TestConsole } from './browser.ts';
import { givenPastCalls } from './past-calls.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
  await givenPastCalls(console, 200, [(await console.gateway.given.apiKey({ name: 'checkout' })).id]);
});
afterAll(() => console.stop());

const page = (path: string, headers: Record<string, string> = {}) =>
  fetch(console.gateway.url + path, { headers: { 'accept-encoding': 'identity', ...headers } });

test('what the server answers first names the scripts of the page that is asked for, and for visitors no more than theirs', async () => {
  const { cookie } = (await signIn(console.gateway, console.people.owner.email)).headers;
  const visitor = await page('/console/logs');
  const user = await page('/console/logs', { cookie: cookie! });
  const [forVisitors, forUsers] = [await visitor.text(), await user.text()];
  expect(forUsers).toMatch(/rel="modulepreload" href="\/console\/assets\/logs-/);
  expect(forUsers).not.toMatch(/assets\/(doors|overview)-/);
  expect(forVisitors).toMatch(/rel="modulepreload" href="\/console\/assets\/doors-/);
  expect(forVisitors).not.toMatch(/assets\/(app|logs)-/);
  for (const text of [forUsers, forVisitors]) expect(text).not.toMatch(/<script(?![^>]* src=)/);

  const tag = user.headers.get('etag')!;
  expect(user.headers.get('vary')).toContain('cookie');
  expect(tag).not.toBe(visitor.headers.get('etag')!);
  const again = await page('/console/logs', { cookie: cookie!, 'if-none-match': tag });
  expect([again.status, again.headers.get('content-security-policy')]).toEqual([
    304,
    user.headers.get('content-security-policy'),
  ]);
  // Signed out since: what the browser keeps is not what it needs.
  expect((await page('/console/logs', { 'if-none-match': tag })).status).toBe(200);
  // An address without a page, and one with a parameter.
  expect((await page('/console/nothing/here', { cookie: cookie! })).status).toBe(200);
  expect(await (await page('/console/routing/some-config', { cookie: cookie! })).text()).toMatch(
    /assets\/config-page-/,
  );
});

test('a page of the console cannot be had without its policy', async () => {
  for (const name of ['index.html', 'at-logs.html']) {
    const { status, json } = await console.gateway.api.get(`/console/assets/${name}`, { key: null });
    expect([name, status, json.error.code]).toEqual([name, 404, 'route_not_found']);
  }
});

const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  '/console/overview?range=7d': [
    ...Array<string>(2).fill('/v1/analytics/graphs/all'),
    ...Array<string>(6).fill('/v1/analytics/series'),
  ],
  '/console/overview?compare=false&filter=model:gpt-5': [
    '/v1/analytics/graphs/all',
    ...Array<string>(6).fill('/v1/analytics/series'),
  ],
  '/console/explore?range=24h&metric=cost&group=api_key_id&subgroup=model&compare=true':
    Array<string>(2).fill('/v1/analytics/series'),
  '/console/logs?range=7d&filter=status:200': ['/v1/logs'],
};

const TOGETHER = '/v1/analytics/questions?';
/** Questions that were asked in one request are told one by one. */
const apart = (each: string) =>
  each.startsWith(TOGETHER)
    ? new URLSearchParams(each.slice(TOGETHER.length)).getAll('question[]').map((one) => `/v1/analytics/${one}`)
    : [each];
const isFigure = (each: string) => /^\/v1\/(analytics\/(graphs|series)|logs\b)/.test(each);
const pathOf = (each: string) => each.split('?')[0]!;
/** Of those, what is in view; the rest is asked when that is painted. */
const inView = (address: string) =>
  QUESTIONS[address]!.filter((path) => !address.startsWith('/console/overview') || path === '/v1/analytics/graphs/all');

for (const [address, questions] of Object.entries(QUESTIONS))
  test(`opening ${address} asks each question once, what is in view before the page is there, the rest when that is painted`, async () => {
    const { tab, faults, close } = await console.open('/health', { inNewWindow: true });
    const asked: string[] = [];
    // While nothing is drawn, no component has asked.
    await tab.addInitScript(
      `(() => {
        const isThere = (selector) => document.querySelector(selector) !== null;
        const { fetch } = globalThis;
        globalThis.fetch = (address, init) => {
          const when = !isThere('#root > *') ? 'early' : isThere('main canvas') ? 'painted' : 'between';
          (globalThis.asked ??= []).push([String(address), when]);
          return fetch(address, init);
        };
      })()`,
    );
    tab.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname.startsWith('/v1/')) asked.push(...apart(pathname + search));
    });
    await tab.goto(console.gateway.url + address);
    await tab.locator('main canvas, main tbody tr td').first().waitFor();
    await tab.waitForLoadState('networkidle');
    const told = (await tab.evaluate('globalThis.asked')) as [address: string, when: string][];
    const figuresAsked = (when: string) =>
      told
        .filter((each) => each[1] === when)
        .flatMap(([each]) => apart(each))
        .filter(isFigure)
        .map(pathOf)
        .toSorted();
    await close();
    expect(asked.filter((each, at) => asked.indexOf(each) !== at)).toEqual([]);
    expect(asked.filter(isFigure).map(pathOf).toSorted()).toEqual([...questions].toSorted());
    expect(told[0]).toEqual(['/v1/sessions/current', 'early']);
    expect(figuresAsked('early')).toEqual(inView(address).toSorted());
    expect(figuresAsked('between')).toEqual([]);
    expect(faults).toEqual([]);
  });

/** What a browser asks of the API while the first module does not come, and all that it asks once it has. */
async function askedOnReturn(page: ConsolePage, address: string, first: readonly string[]) {
  const { tab } = page;
  // What the page before asks last is none of this.
  await tab.goto('about:blank');
  const [early, asked]: [string[], string[]] = [[], []];
  let isHeld = true;
  tab.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith('/v1/')) return;
    asked.push(...apart(pathname + search));
    if (isHeld) early.push(pathname);
  });
  const held = await holdBack(tab, 'GET', '/console/assets/main-*.js');
  await tab.goto(console.gateway.url + address, { waitUntil: 'commit' });
  await held.isAsked;
  await eventually('the first script has asked', () => early.length >= first.length);
  isHeld = false;
  held.release();
  return { early, asked };
}

for (const [address, questions] of Object.entries(QUESTIONS))
  test(`who was there before has what is in view of ${address} asked for before any other script runs, and all of it once`, async () => {
    const page = await console.open('/console/health', { inNewWindow: true });
    await page.tab.getByRole('heading', { name: 'Health' }).waitFor();
    const first = ['/v1/sessions/current', ...inView(address)];
    const { early, asked } = await askedOnReturn(page, address, first);
    await page.tab.locator('main canvas, main tbody tr td').first().waitFor();
    await page.tab.waitForLoadState('networkidle');
    const { faults } = page;
    await page.close();
    expect(early[0]).toBe('/v1/sessions/current');
    expect(early.toSorted()).toEqual(first.toSorted());
    // Taken by the page, and not asked again in other words.
    expect(asked.filter(isFigure).map(pathOf).toSorted()).toEqual([...questions].toSorted());
    expect(asked.filter((each, at) => asked.indexOf(each) !== at)).toEqual([]);
    expect(faults).toEqual([]);
  });

test('figures that are asked for in one turn go as one request, and one that is refused takes none with it', async () => {
  const page = await console.open('/console/health', { inNewWindow: true });
  const { tab } = page;
  await tab.getByRole('heading', { name: 'Health' }).waitFor();
  const asked: string[] = [];
  tab.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/v1/analytics/')) asked.push(pathname + search);
  });
  const menu = tab.getByRole('navigation', { name: 'Pages' });
  await menu.getByRole('link', { name: 'Overview', exact: true }).click();
  await tab.locator('main canvas').first().waitFor();
  await tab.getByRole('list', { name: 'Models' }).waitFor();
  // What is in view, and what lies further down.
  expect(asked.map(pathOf)).toEqual(['/v1/analytics/questions', '/v1/analytics/questions']);
  expect(asked.flatMap(apart).map(pathOf).toSorted()).toEqual([...QUESTIONS['/console/overview?range=7d']!].toSorted());

  asked.length = 0;
  // Of those below, the gateway refuses one; a proxy in front of it may do the same to the long address.
  await tab.route('**/v1/analytics/questions?*', async (route) => {
    const address = new URL(route.request().url());
    const given = address.searchParams.getAll('question[]').map((each) => each.replace('metric=cost', 'metric=luck'));
    address.search = String(new URLSearchParams(given.map((each): [string, string] => ['question[]', each])));
    await route.continue({ url: address.href });
  });
  await tab.getByRole('button', { name: 'Cost', exact: true }).click();
  await eventually('each is asked alone', () => asked.length === 4);
  expect(asked.map(pathOf)).toEqual(['/v1/analytics/questions', ...Array<string>(3).fill('/v1/analytics/series')]);
  await tab.getByRole('list', { name: 'Models' }).getByText('$').first().waitFor();
  await page.close();
});

const RIGHTS = 'gateway.rights';
const rightsIn = ({ tab }: ConsolePage) => tab.evaluate(`localStorage.getItem('${RIGHTS}')`) as Promise<string | null>;

test('what a browser keeps of the rights of its user is a guess: it opens nothing, and ends with the session', async () => {
  const page = await console.open('/console/health', { as: 'member', inNewWindow: true });
  const { tab, faults } = page;
  await tab.getByRole('navigation', { name: 'Pages' }).waitFor();
  const kept = JSON.parse((await rightsIn(page))!);
  expect(kept.workspace.slug).toBe('default');
  expect(kept.scopes).not.toContain('analytics.view');
  // As if the user had had the right until now: what is asked too early is refused, and so is the page.
  await tab.evaluate(
    `localStorage.setItem('${RIGHTS}', ${JSON.stringify(JSON.stringify({ ...kept, scopes: ['analytics.view'] }))})`,
  );
  let asked = 0;
  const given: number[] = [];
  tab.on('request', (request) => {
    if (request.url().includes('/v1/analytics/')) asked++;
  });
  // None where the page gave the question up before it was answered.
  tab.on('response', (response) => {
    if (response.url().includes('/v1/analytics/')) given.push(response.status());
  });
  await tab.goto(`${console.gateway.url}/console/explore`);
  await tab.getByText('This page is not open to you').waitFor();
  expect(asked).toBe(1);
  expect(JSON.parse((await rightsIn(page))!).scopes).toEqual(kept.scopes);

  for (const words of [
    '{',
    'null',
    '{"workspace":{"id":7,"slug":"default"}}',
    '{"workspace":{"slug":"default"},"scopes":3}',
  ]) {
    await tab.evaluate(`localStorage.setItem('${RIGHTS}', ${JSON.stringify(words)})`);
    await tab.goto(`${console.gateway.url}/console/explore`);
    await tab.getByText('This page is not open to you').waitFor();
  }
  expect(asked).toBe(1);
  expect(given.filter((status) => status !== 403)).toEqual([]);

  await tab.getByRole('button', { name: 'Account of Mia' }).click();
  await tab.getByRole('menuitem', { name: 'Sign out' }).click();
  await tab.getByLabel('Email').waitFor();
  expect(await rightsIn(page)).toBeNull();
  expect(faults).toEqual([]);
  await page.close();
});

test('an address that names another workspace has nothing asked before it is known who is there', async () => {
  await console.gateway.given.workspace({ name: 'Elsewhere', slug: 'elsewhere' });
  const page = await console.open('/console/health', { inNewWindow: true });
  await page.tab.getByRole('heading', { name: 'Health' }).waitFor();
  const { early, asked } = await askedOnReturn(page, '/console/explore?workspace=elsewhere', ['/v1/sessions/current']);
  await eventually('the page has asked', () => asked.some(isFigure));
  const { faults } = page;
  await page.close();
  expect(early).toEqual(['/v1/sessions/current']);
  expect(asked.filter(isFigure).map((each) => new URLSearchParams(each.split('?')[1]).get('workspace_slug'))).toEqual([
    'elsewhere',
  ]);
  expect(faults).toEqual([]);
});

test('who is no longer signed in gets the sign-in page, whatever was asked too early', async () => {
  const page = await console.open('/console/health', { inNewWindow: true });
  const { tab, faults } = page;
  await tab.getByRole('heading', { name: 'Health' }).waitFor();
  const [cookie] = await tab.context().cookies();
  await tab.context().addCookies([{ ...cookie!, value: 'of-nobody' }]);
  await tab.goto(`${console.gateway.url}/console/overview`);
  await tab.getByLabel('Email').waitFor();
  expect(faults).toEqual([]);
  await page.close();
});

/** Says whether places that stand for what loads, and do not lie further down, were ever in the page. */
const WATCH_WAITING = `new MutationObserver(() => {
  const waiting = [...document.querySelectorAll('main .skeleton')];
  if (waiting.some((each) => each.closest('.overview-ranks') === null)) globalThis.hasWaited = true;
}).observe(document, { childList: true, subtree: true })`;
/** The page waits as long as it has to, and says that it does. */
const WITHOUT_HASTE = `(() => {
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (work, ms, ...more) => {
    if (ms !== 250) return setTimeout(work, ms, ...more);
    globalThis.isPatient = true;
    return 0;
  };
})()`;
/** A page that did not wait would be drawn by then. */
const DRAWN_WITHIN_MS = 300;

for (const name of ['overview', 'explore', 'logs'])
  test(`${name} is drawn once, with its answers; where they do not come soon, it is there without them`, async () => {
    const page = await console.open('/console/health', { inNewWindow: true });
    const { tab, faults } = page;
    await tab.getByRole('heading', { name: 'Health' }).waitFor();
    const title = tab.getByRole('heading', { level: 1, name: new RegExp(name, 'i') });
    const question = name === 'logs' ? '/v1/logs?*' : '/v1/analytics/**';
    const answers = await holdBack(tab, 'GET', question);
    await tab.goto(`${console.gateway.url}/console/${name}?range=7d`);
    await title.waitFor();
    expect(await tab.locator('main .skeleton').count()).toBeGreaterThan(0);
    answers.release();
    await tab.locator('main canvas, main tbody tr td').first().waitFor();
    await tab.unrouteAll({ behavior: 'ignoreErrors' });
    await tab.addInitScript(WITHOUT_HASTE);
    await tab.addInitScript(WATCH_WAITING);
    // Answers that came before the scripts have run would be drawn at once by a page that does not wait for them, too.
    const late = await holdBack(tab, 'GET', question);
    await tab.reload();
    await settled(tab, `globalThis.isPatient === true || document.querySelector('#root > *') !== null`);
    await Bun.sleep(DRAWN_WITHIN_MS);
    late.release();
    await tab.locator('main canvas, main tbody tr td').first().waitFor();
    expect(await tab.evaluate('globalThis.hasWaited ?? false')).toBe(false);
    expect(faults).toEqual([]);
    await page.close();
  });

test('a page whose script does not come says so, and asks no more than the first script did when it was loaded once more', async () => {
  const { tab, close } = await console.open('/health', { inNewWindow: true });
  const asked: string[] = [];
  tab.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await tab.route('**/console/assets/overview-*.js', (route) => route.abort());
  await tab.goto(`${console.gateway.url}/console/overview`);
  await tab.getByRole('navigation', { name: 'Pages' }).waitFor();
  await tab.getByRole('alert').waitFor();
  // The router loads the page once more when a script is missing; by then the browser knows what its user may see.
  const loads = asked.filter((path) => path === '/console/overview').length;
  const figures = asked.filter((path) => path.startsWith('/v1/analytics/')).length;
  expect(figures).toBe((loads - 1) * inView('/console/overview?range=7d').length);
  await close();
});

test('charts that are in view are drawn before those further down, which come without a scroll', async () => {
  const { tab, faults, close } = await console.open('/health', { inNewWindow: true });
  // Each chart as it is drawn: whether it lies in view, and how many frames had begun by then.
  await tab.addInitScript(
    `(() => {
      let frames = 0;
      const count = () => { frames++; requestAnimationFrame(count); };
      requestAnimationFrame(count);
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
          for (const node of addedNodes)
            if (node.classList?.contains('uplot'))
              (globalThis.drawn ??= []).push({ isInView: node.getBoundingClientRect().top < innerHeight, frames });
      }).observe(document, { childList: true, subtree: true });
    })()`,
  );
  await tab.goto(`${console.gateway.url}/console/overview?range=7d`);
  await tab.locator('main canvas').first().waitFor();
  await settled(
    tab,
    `document.querySelectorAll('main .chart-canvas').length >= 6 && !document.querySelector('main .chart-canvas:empty')`,
  );
  const drawn = (await tab.evaluate('globalThis.drawn')) as { isInView: boolean; frames: number }[];
  await close();
  const [seen, below] = [true, false].map((isInView) => drawn.filter((each) => each.isInView === isInView));
  expect([seen!.length > 1, below!.length > 1]).toEqual([true, true]);
  expect(Math.max(...seen!.map(({ frames }) => frames))).toBeLessThan(Math.min(...below!.map(({ frames }) => frames)));
  expect(faults).toEqual([]);
});

test('on a phone, columns that are hidden take no room from those of a long list', async () => {
  const { tab, faults, close } = await console.open('/console/logs?range=7d', { size: NARROW });
  const row = tab.locator('main tbody tr:not(.table-spacer)').first();
  await row.waitFor();
  await tab.locator('main .table-spacer').waitFor({ state: 'attached' });
  const model = await row.locator('td').nth(2).boundingBox();
  expect(model!.width).toBeGreaterThan(NARROW.width / 4);
  await close();
  expect(faults).toEqual([]);
});
