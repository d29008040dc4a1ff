import type { BrowserContext, Page } from 'playwright-core';
import { type Chromium, startChromium } from '../../test/chromium.ts';
import { create, type GatewayProcess, json } from '../gateway.ts';

/** A page of the console in a real browser. */
export interface BrowserSample {
  readonly page: string;
  readonly ms: number;
  /** The browser had nothing of the console yet, neither files nor what it made of scripts. */
  readonly isFirst?: true;
}

const PAGES = { overview: 'Overview', explore: 'Explore', logs: 'Logs' } as const;
type Name = keyof typeof PAGES;
const NAMES = Object.keys(PAGES) as Name[];
const RANGES = ['1h', '24h', '7d', '30d'];
/** Each page and time, so often: what is p95 of 16 openings is the slowest of them. */
const TIMES = 10;
const FIRST_TIMES = 4;
const WITHIN_MS = 30_000;
/** Somebody looks at a page before the next click. */
const LOOK_MS = 500;
/** How far the list of calls is scrolled, again and again: more than a page of it each time. */
const SCROLL_PX = 4_000;
const SCROLLS = 20;

/**
 * Opens pages as an owner does. To the last graph or row: from outside, by a browser that has been there before, so scripts and
 * what it made of them are in its caches, answers are not. In view, by its own clock: until what is in view is drawn and it has time
 * for what the user does next; on a later visit, on a first one, and from the menu, by somebody who has the console open.
 */
export async function pagesInBrowser(gateway: GatewayProcess): Promise<BrowserSample[]> {
  const chromium = await startChromium({ isMeasured: true });
  try {
    const cookie = await cookieOf(gateway);
    const context = await contextOf(chromium, gateway, cookie);
    const tab = await context.newPage();
    const open = async (page: Name, range: string) => {
      const began = performance.now();
      await tab.goto(addressOf(gateway, page, range), { waitUntil: 'commit' });
      await tab.waitForFunction(IS_THERE, undefined, { polling: 'raf', timeout: WITHIN_MS });
      return performance.now() - began;
    };
    for (const page of NAMES) await open(page, '1h');
    const samples: BrowserSample[] = [];
    const eachTime = async (work: (page: Name, range: string) => Promise<unknown>, times = TIMES) => {
      for (let time = 0; time < times; time++)
        for (const range of RANGES) for (const page of NAMES) await work(page, range);
    };
    await eachTime(async (page, range) => samples.push({ page, ms: await open(page, range) }));
    samples.push(...(await scrolled(tab)));
    await tab.close();

    await context.addInitScript(IN_VIEW);
    const later = await context.newPage();
    await eachTime(async (page, range) => {
      const ms = await inView(later, page, () => later.goto(addressOf(gateway, page, range), { waitUntil: 'commit' }));
      samples.push({ page: `${page}, in view`, ms });
    });
    for (let time = 0; time < TIMES * RANGES.length; time++) samples.push(...(await fromMenu(later, gateway)));
    await eachTime(async (page, range) => {
      const fresh = await contextOf(chromium, gateway, cookie);
      await fresh.addInitScript(IN_VIEW);
      const first = await fresh.newPage();
      const ms = await inView(first, page, () => first.goto(addressOf(gateway, page, range), { waitUntil: 'commit' }));
      samples.push({ page: `${page}, in view, first visit`, ms, isFirst: true });
      await fresh.close();
    }, FIRST_TIMES);
    return samples;
  } finally {
    await chromium.close();
  }
}

async function contextOf(chromium: Chromium, { origin }: GatewayProcess, cookie: Cookie): Promise<BrowserContext> {
  const context = await chromium.newContext({ viewport: { width: 1440, height: 900 }, bypassCSP: true });
  await context.addCookies([{ ...cookie, url: origin, httpOnly: true, sameSite: 'Lax' }]);
  return context;
}

const addressOf = ({ origin }: GatewayProcess, page: Name, range: string) => `${origin}/console/${page}?range=${range}`;

/** Goes from Home through the pages, each of which this tab has not shown yet. */
async function fromMenu(tab: Page, { origin }: GatewayProcess): Promise<BrowserSample[]> {
  await tab.goto(`${origin}/console`);
  const menu = tab.getByRole('navigation', { name: 'Pages' });
  await menu.waitFor();
  const samples: BrowserSample[] = [];
  for (const page of NAMES) {
    await Bun.sleep(LOOK_MS);
    const ms = await inView(tab, page, () => menu.getByRole('link', { name: PAGES[page], exact: true }).click());
    samples.push({ page: `${page}, in view, from the menu`, ms });
  }
  return samples;
}

/** What the page says itself, so that nothing of ours runs in it meanwhile. */
async function inView(tab: Page, page: Name, open: () => Promise<unknown>): Promise<number> {
  const told = tab.waitForEvent('console', {
    predicate: (message) => message.text().startsWith(`${TOLD} ${PAGES[page]} `),
    timeout: WITHIN_MS,
  });
  await open();
  return Number((await told).text().split(' ').at(-1));
}

/** Every row that is scrolled to is there, and how long until it is. */
async function scrolled(tab: Page): Promise<BrowserSample[]> {
  const samples: BrowserSample[] = [];
  const box = (await tab.locator('.logs-list .table-place').boundingBox())!;
  await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let time = 0; time < SCROLLS; time++) {
    const began = performance.now();
    await tab.mouse.wheel(0, SCROLL_PX);
    await tab.waitForFunction(IS_FILLED, undefined, { polling: 'raf', timeout: WITHIN_MS });
    samples.push({ page: 'logs, scrolled', ms: performance.now() - began });
  }
  return samples;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
}

async function cookieOf({ origin }: GatewayProcess): Promise<Cookie> {
  const person = { email: `bench-${Date.now()}@example.com`, password: 'correct horse battery' };
  await create(origin, '/v1/admin/users', { ...person, role: 'owner' });
  const signedIn = await fetch(`${origin}/v1/sessions`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(person),
  });
  const [name, value] = signedIn.headers.get('set-cookie')!.split(';')[0]!.split('=');
  return { name: name!, value: value! };
}

/** Of a page or a part of it that is not there yet. */
const WAITING = 'main .skeleton, main [aria-busy="true"], main .chart-canvas:empty';
const SHOWN = 'main canvas, main tbody tr td';

/** Run in the page. Nothing is loading any more, and there is something to see. */
const IS_THERE = `document.querySelector('${WAITING}') === null && document.querySelector('${SHOWN}') !== null`;

const TOLD = 'in view:';
/**
 * Run in every page before its own scripts. It says how long it took from the address or the last click until nothing of what is
 * in view is waiting, it was laid out and handed over to be painted, and the next task has its turn.
 */
const IN_VIEW = `(() => {
  let from = 0;
  let told = null;
  let isQueued = false;
  const isInView = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const look = () => {
    isQueued = false;
    const title = document.querySelector('main h1')?.textContent;
    if (!title || title === told || document.querySelector('${SHOWN}') === null) return;
    if ([...document.querySelectorAll('${WAITING}')].some(isInView)) return;
    told = title;
    setTimeout(() => console.log('${TOLD}', title, performance.now() - from));
  };
  document.addEventListener('click', (event) => { from = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (isQueued) return;
    isQueued = true;
    requestAnimationFrame(look);
  }).observe(document, { subtree: true, childList: true, attributeFilter: ['aria-busy'] });
})()`;

/** Rows reach to the lower edge of the list. */
const IS_FILLED = `(() => {
  const place = document.querySelector('.logs-list .table-place');
  const rows = [...place.querySelectorAll('tbody tr:not(.table-spacer)')];
  const last = rows.at(-1)?.getBoundingClientRect().bottom ?? 0;
  return place.scrollTop > 0 && last >= place.getBoundingClientRect().bottom - 1;
})()`;
