import { createHash } from 'node:crypto';

/** Text that is HTML already. Made by `html` alone, so that nothing else passes for it. */
export interface Html {
  readonly markup: string;
}
type Part = Html | readonly Html[] | string | number | null | false;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const written = (part: Part): string => {
  if (part === null || part === false) return '';
  if (typeof part === 'string' || typeof part === 'number')
    return String(part).replace(/[&<>"']/g, (each) => ESCAPES[each]!);
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
};

/** HTML in which everything that is put in is escaped, for text and for quoted attributes. */
export const html = (texts: TemplateStringsArray, ...parts: Part[]): Html => ({
  markup: texts.reduce((all, text, index) => all + written(parts[index - 1] ?? null) + text),
});

/** Colours of the console, whose tokens they are: `web/design/tokens.css`. */
const LIGHT = {
  ground: '#f7f7f9',
  surface: '#ffffff',
  hover: '#f2f3f6',
  line: '#e4e6eb',
  'line-strong': '#cdd1da',
  ink: '#16181d',
  'ink-2': '#4a505c',
  'ink-3': '#666d7a',
  'on-ink': '#ffffff',
  accent: '#4150c9',
  'accent-ink': '#3744b5',
  focus: '#5b6af0',
  warn: '#8a5200',
  'warn-soft': '#fdf1dc',
};
const DARK: typeof LIGHT = {
  ground: '#0e0f12',
  surface: '#15171b',
  hover: '#1d2026',
  line: '#262a31',
  'line-strong': '#3a404b',
  ink: '#eceef2',
  'ink-2': '#b4bac6',
  'ink-3': '#8d95a3',
  'on-ink': '#0e0f12',
  accent: '#8e99ff',
  'accent-ink': '#aab2ff',
  focus: '#8e99ff',
  warn: '#e9b04e',
  'warn-soft': '#2d2211',
};
const declared = (colours: typeof LIGHT): string =>
  Object.entries(colours)
    .map(([name, colour]) => `--${name}: ${colour};`)
    .join(' ');

const STYLE = `
:root { color-scheme: light dark; ${declared(LIGHT)} }
@media (prefers-color-scheme: dark) { :root { ${declared(DARK)} } }
* { box-sizing: border-box; }
body { display: grid; place-items: center; min-height: 100dvh; margin: 0; padding: 24px 16px 12vh; background: radial-gradient(60rem 28rem at 50% -8rem, color-mix(in srgb, var(--accent) 14%, transparent), transparent 70%) no-repeat, var(--ground); color: var(--ink); font: 13.5px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif; -webkit-text-size-adjust: 100%; }
main { width: min(420px, 100%); padding: 32px; background: var(--surface); border: 1px solid var(--line); border-radius: 16px; box-shadow: 0 4px 14px rgb(0 0 0 / 9%), 0 1px 3px rgb(0 0 0 / 7%); overflow-wrap: anywhere; }
.logo { display: block; margin-bottom: 16px; fill: var(--accent); }
.logo path { fill: none; stroke: var(--on-ink); stroke-width: 2.6; stroke-linecap: round; }
.logo path + path { opacity: .7; }
h1 { margin: 0 0 8px; font-size: 19px; font-weight: 620; letter-spacing: -.015em; line-height: 1.25; }
p { margin: 0 0 16px; color: var(--ink-2); }
a { color: var(--accent-ink); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 16px; margin: 0 0 20px; padding: 16px 0; border: solid var(--line); border-width: 1px 0; }
h1 + dl { margin-top: 16px; }
dt { color: var(--ink-3); }
dd { margin: 0; }
ul { margin: 0 0 20px; padding-left: 18px; color: var(--ink-2); }
label { display: block; margin-bottom: 16px; color: var(--ink-2); font-size: 12.5px; font-weight: 560; }
input, select { display: block; width: 100%; height: 36px; margin-top: 5px; padding: 0 10px; border: 1px solid var(--line-strong); border-radius: 7px; background: var(--surface); color: var(--ink); font: inherit; font-size: 13.5px; font-weight: 400; }
.choices { display: flex; gap: 8px; }
button, .button { flex: 1; display: grid; place-items: center; width: 100%; height: 36px; padding: 0 12px; border: 1px solid var(--line-strong); border-radius: 7px; background: var(--surface); color: var(--ink); font: inherit; font-weight: 540; text-decoration: none; cursor: pointer; }
button:hover, .button:hover { background: var(--hover); }
button.main { border-color: transparent; background: var(--ink); color: var(--on-ink); }
button.main:hover { background: color-mix(in srgb, var(--ink) 86%, var(--accent)); }
button.plain { display: inline; width: auto; height: auto; padding: 0; border: 0; background: none; color: var(--accent-ink); font-weight: 400; text-decoration: underline; text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
input:focus-visible, select:focus-visible { outline: none; border-color: var(--focus); box-shadow: 0 0 0 3px color-mix(in srgb, var(--focus) 26%, transparent); }
.soft { color: var(--ink-3); font-size: 12.5px; }
.warn { padding: 10px 12px; border-radius: 7px; background: var(--warn-soft); color: var(--warn); }
.or { display: flex; align-items: center; gap: 12px; margin: 16px 0; color: var(--ink-3); font-size: 12.5px; }
.or::before, .or::after { content: ""; flex: 1; height: 1px; background: var(--line); }
.last { margin: 16px 0 0; }
@media (max-width: 480px) { body { place-items: start center; } main { padding: 24px 20px; } }
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

export interface PageOptions {
  readonly title: string;
  readonly body: Html;
  readonly status?: number;
  /** Where its forms may lead in the end, beside this gateway: browsers look at redirects, too. */
  readonly formTargets?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A page of the gateway's own: no script, nothing from elsewhere, in no frame, and no cache may keep it. */
export function page({ title, body, status = 200, formTargets = [], headers = {} }: PageOptions): Response {
  const { markup } = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Gateway</title>
<style>${{ markup: STYLE }}</style>
<main>
<svg class="logo" width="36" height="36" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9"/><path d="M9 23.500V13.200a7 7 0 0 1 14 0v10.300"/><path d="M13.600 23.500v-9.200a2.400 2.400 0 0 1 4.800 0v9.200"/></svg>
${body}
</main>
</html>
`;
  const forms = ["'self'", ...formTargets].join(' ');
  return new Response(markup, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${forms}; frame-ancestors 'none'; base-uri 'none'`,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      // With none at all, browsers would send forms without saying where they are from.
      'referrer-policy': 'same-origin',
      ...headers,
    },
  });
}
