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

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6470; --line: #d8dde3; --ground: #f4f6f8; --card: #fff; --main: #0b5fc0; --warn: #8a4b00; --warn-ground: #fff6e5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebef; --soft: #9aa4b0; --line: #353c45; --ground: #14171b; --card: #1d2126; --main: #4f9cf5; --warn: #f2c078; --warn-ground: #2e2413; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 8vh 1rem 2rem; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 28rem; margin: 0 auto; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere; }
h1 { margin: 0 0 1rem; font-size: 1.35rem; line-height: 1.3; }
p { margin: 0 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .4rem 1rem; margin: 0 0 1.25rem; padding: 1rem 0; border: solid var(--line); border-width: 1px 0; }
dt { color: var(--soft); }
dd { margin: 0; }
ul { margin: 0 0 1.25rem; padding-left: 1.25rem; }
label { display: block; margin-bottom: 1rem; color: var(--soft); }
input, select { display: block; width: 100%; margin-top: .25rem; padding: .6rem .7rem; border: 1px solid var(--line); border-radius: 8px; background: transparent; color: var(--ink); font: inherit; }
.choices { display: flex; gap: .75rem; }
button, .button { flex: 1; display: block; width: 100%; padding: .65rem 1rem; border: 1px solid var(--line); border-radius: 8px; background: transparent; color: var(--ink); font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
button.main { border-color: var(--main); background: var(--main); color: var(--card); }
button.plain { display: inline; width: auto; padding: 0; border: 0; color: var(--main); font-weight: 400; text-decoration: underline; }
:focus-visible { outline: 2px solid var(--main); outline-offset: 2px; }
.soft { color: var(--soft); font-size: .9rem; }
.warn { padding: .75rem 1rem; border-radius: 8px; background: var(--warn-ground); color: var(--warn); }
.or { margin: 1rem 0; text-align: center; color: var(--soft); }
.last { margin: 1.25rem 0 0; }
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
<title>${title}</title>
<style>${{ markup: STYLE }}</style>
<main>
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
