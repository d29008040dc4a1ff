import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page as Tab } from 'playwright-core';
import { startChromium } from '../chromium.ts';
import { type StartOptions, startGateway } from '../gateway.ts';
import { givenUser, PASSWORD, signIn } from '../people.ts';
import { eventually } from '../process.ts';

const AXE = readFileSync(join(import.meta.dir, '../../node_modules/axe-core/axe.min.js'), 'utf8');
/** Set to a word, such as `1`: pictures of the pages that tests open are written to `test/console/screenshots/`. */
const SHOTS = process.env.GATEWAY_TEST_SCREENSHOTS;
const FOLDER = join(import.meta.dir, 'screenshots');

export type Role = 'owner' | 'admin' | 'member';
export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 390, height: 844 };

export interface OpenOptions {
  readonly as?: Role | null;
  readonly theme?: 'light' | 'dark';
  readonly size?: { readonly width: number; readonly height: number };
  /** In a new window, which goes with the page: for a test that changes in it what `emptied` does not put back. */
  readonly inNewWindow?: boolean;
}

export interface ConsolePage {
  readonly tab: Tab;
  /** What went wrong in the page: errors of scripts, and what the content security policy stopped. */
  readonly faults: string[];
  /** Serious and critical findings of axe. */
  axe(): Promise<string[]>;
  /** Goes to another page of the console as a link in it does, and waits until that one asks for nothing more. */
  visit(path: string): Promise<void>;
  /** A picture, when pictures are wanted. */
  shot(name: string): Promise<void>;
  close(): Promise<void>;
}

/** The real gateway with an owner, a workspace admin and a member, and a real browser in front of it. */
export async function startConsole(options: StartOptions = {}) {
  const [gateway, chromium] = await Promise.all([startGateway(options), startChromium()]);
  // The first request has the console built, which takes its time on a busy machine.
  await fetch(`${gateway.url}/console`);
  const people: Record<Role, { email: string }> = {
    owner: await givenUser(gateway, {
      email: 'olga@example.com',
      first_name: 'Olga',
      role: 'owner',
      password: PASSWORD,
    }),
    admin: await givenUser(gateway, {
      ...{ email: 'adam@example.com', first_name: 'Adam', role: 'member', password: PASSWORD },
      workspaces: [{ id: 'default', role: 'admin' }],
    }),
    member: await givenUser(gateway, {
      email: 'mia@example.com',
      first_name: 'Mia',
      role: 'member',
      password: PASSWORD,
    }),
  };

  /** Pages that no test has closed: one that fails leaves its pages as they were. */
  const left = new Map<Tab, string[]>();
  /** Windows that tests are done with. To open one takes as much of the processor as the page in it. */
  const free: Tab[] = [];
  const newWindow = async () => {
    const tab = await (await chromium.newContext({ viewport: WIDE })).newPage();
    // As in test/setup.ts: it only ends what would wait for ever.
    tab.setDefaultTimeout(180_000);
    return tab;
  };
  const open = async (path: string, options: OpenOptions = {}) => {
    const { as = 'owner', theme = 'light', size = WIDE, inNewWindow = false } = options;
    const tab = (inNewWindow ? null : free.pop()) ?? (await newWindow());
    const context = tab.context();
    await tab.setViewportSize(size);
    await tab.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    if (as) {
      const { headers } = await signIn(gateway, people[as].email);
      const [name, value] = headers.cookie!.split('=');
      await context.addCookies([{ name: name!, value: value!, url: gateway.url, httpOnly: true, sameSite: 'Lax' }]);
    }
    const faults: string[] = [];
    tab.on('pageerror', (error) => faults.push(error.message));
    tab.on('console', (message) => {
      // A refused request is told by the page; the browser tells it here, too.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        faults.push(message.text());
    });
    left.set(tab, faults);
    await tab.goto(gateway.url + path);
    return pageOf(tab, faults, async () => {
      left.delete(tab);
      if (inNewWindow) return context.close();
      await emptied(tab, gateway.url);
      free.push(tab);
    });
  };

  return {
    gateway,
    people,
    open,
    stop: async () => {
      for (const [tab, faults] of left) console.error(await description(tab, faults));
      await chromium.close();
      await gateway.stop();
    },
  };
}

/** What a test may have listened to in a page. */
const EVENTS = [
  ...(['console', 'dialog', 'download', 'framenavigated', 'pageerror', 'popup'] as const),
  ...(['request', 'requestfailed', 'requestfinished', 'response', 'websocket'] as const),
];

/** Makes a window like a new one: nobody is signed in, nothing is stored or allowed, no test listens or answers. */
async function emptied(tab: Tab, origin: string): Promise<void> {
  const context = tab.context();
  for (const event of EVENTS) tab.removeAllListeners(event);
  await tab.unrouteAll({ behavior: 'ignoreErrors' });
  await Promise.all(
    context
      .pages()
      .filter((other) => other !== tab)
      .map((other) => other.close()),
  );
  // A page of the browser's own, such as one for what was refused, has none.
  await tab.evaluate('sessionStorage.clear()').catch(() => {});
  await tab.mouse.move(0, 0);
  // First the page, which may still store something.
  await tab.goto('about:blank');
  const session = await context.newCDPSession(tab);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await session.detach();
  await context.clearCookies();
  await context.clearPermissions();
}

/** What the functions below use of a browser. */
interface InPage {
  readonly document: { execCommand(name: string, hasUi: boolean, value: string): void };
  readonly KeyboardEvent: new (name: string, how: object) => object;
}

/** Types all of it before the page has time to redraw, as people do on a slow machine; a new line is Enter. */
export const typeAtOnce = (field: Locator, text: string) =>
  field.evaluate(
    (element, letters) => {
      const { document, KeyboardEvent } = globalThis as unknown as InPage;
      const typed = element as unknown as { focus(): void; dispatchEvent(event: object): void };
      typed.focus();
      for (const letter of letters)
        if (letter === '\n') typed.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
        else document.execCommand('insertText', false, letter);
    },
    [...text],
  );

/** Holds requests of a page back until `release`: what people do meanwhile must not be lost. */
export async function holdBack(tab: Tab, method: string, path: string) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const { promise: isAsked, resolve: tell } = Promise.withResolvers<void>();
  await tab.route(`**${path}`, async (route) => {
    if (route.request().method() === method) {
      tell();
      await promise;
    }
    await route.fallback();
  });
  return { isAsked, release };
}

/** Waits until a page says that this is so. Playwright's own wait asks from inside the page, where its policy forbids that. */
export const settled = (tab: Tab, expression: string): Promise<void> =>
  eventually(expression, () => tab.evaluate<boolean>(expression));

export type TestConsole = Awaited<ReturnType<typeof startConsole>>;

function pageOf(tab: Tab, faults: string[], close: () => Promise<void>): ConsolePage {
  return {
    tab,
    faults,
    close,
    visit: async (path) => {
      const underWay = new Set<unknown>();
      let quietSince = Date.now();
      const began = (request: unknown) => void underWay.add(request);
      const ended = (request: unknown) => {
        underWay.delete(request);
        quietSince = Date.now();
      };
      tab.on('request', began).on('requestfinished', ended).on('requestfailed', ended);
      await tab.evaluate(LEAVE(path));
      await tab.locator(`:is(${SHOWN}):not([data-left])`).first().waitFor();
      await eventually(`${path} has all that it asks for`, () => underWay.size === 0 && Date.now() - quietSince > 500);
      tab.off('request', began).off('requestfinished', ended).off('requestfailed', ended);
    },
    axe: async () => {
      // What is on its way out or in, such as a dialog beside the note of what it did, is looked at when it has come to rest.
      await tab.evaluate(REST);
      // Not as a script of the page: its policy would refuse it.
      if (!(await tab.evaluate('Boolean(globalThis.axe)'))) await tab.evaluate(AXE);
      return tab.evaluate(async () => {
        const { axe } = globalThis as unknown as { axe: Axe };
        const isGrave = (impact: string) => impact === 'serious' || impact === 'critical';
        // A finding has the impact of its rule: what would be left out below need not be looked for.
        const slight = axe._audit.rules.filter(({ impact }) => !isGrave(impact));
        const { violations } = await axe.run({
          resultTypes: ['violations'],
          rules: Object.fromEntries(slight.map(({ id }) => [id, { enabled: false }])),
        });
        return violations
          .filter(({ impact }) => isGrave(impact))
          .map(
            ({ id, nodes }) =>
              `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary ?? ''}`).join('; ')}`,
          );
      });
    },
    shot: async (name) => {
      if (!SHOTS) return;
      mkdirSync(FOLDER, { recursive: true });
      await tab.waitForTimeout(250);
      await tab.screenshot({ path: join(FOLDER, `${name}.png`) });
    },
  };
}

/** What a page has at least one of. */
const SHOWN = 'main h1, main [role=alert], main .empty';

/** Marks what is shown, so that it is not taken for the page to come. */
const LEAVE = (path: string) => `{
  for (const each of document.querySelectorAll('${SHOWN}')) each.setAttribute('data-left', '');
  history.pushState({}, '', ${JSON.stringify(`/console${path}`)});
}`;

/** Ends when nothing has changed in the page for a while; one that never rests is looked at all the same. */
const REST = `new Promise((resolve) => {
  let timer = setTimeout(resolve, 300);
  const observer = new MutationObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(resolve, 300);
  });
  observer.observe(document, { attributes: true, childList: true, subtree: true });
  setTimeout(resolve, 10_000);
})`;

/** What a page shows, for the log of a test that failed in it: a wait that ran out says only what it waited for. */
async function description(tab: Tab, faults: readonly string[]): Promise<string> {
  const seen = await tab.evaluate<string>(DESCRIBE).catch((error) => `it could not be asked: ${error}`);
  return `A test left this page open, as one that fails does.\naddress: ${tab.url()}\nfaults: ${faults.join('; ')}\n${seen}`;
}

const DESCRIBE = `(() => {
  const text = (element) => (element?.innerText ?? '').trim();
  const labelOf = (field) => field.labels?.[0]?.innerText ?? field.getAttribute('aria-label') ?? '';
  const fields = [...document.querySelectorAll('input, textarea, select')]
    .filter((field) => field.checkVisibility())
    .map((field) => labelOf(field) + ' = ' + (/checkbox|radio/.test(field.type) ? field.checked : field.value));
  const parts = {
    heading: text(document.querySelector('h1')),
    focus: document.activeElement?.outerHTML.slice(0, 200),
    fields: fields.join('; '),
    dialogs: [...document.querySelectorAll('[role=dialog]')].map(text).join('\\n'),
    text: text(document.querySelector('main') ?? document.body),
  };
  return Object.entries(parts).map(([name, part]) => name + ': ' + String(part).slice(0, 2000)).join('\\n');
})()`;

interface Axe {
  /** The rules with their impacts; `axe.getRules()` does not tell them. */
  readonly _audit: { readonly rules: readonly { readonly id: string; readonly impact: string }[] };
  run(options: object): Promise<{ violations: Violation[] }>;
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: string[]; readonly failureSummary?: string }[];
}
