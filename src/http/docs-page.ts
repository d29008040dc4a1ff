import { createHash } from 'node:crypto';

/** A page that reads /openapi.json and shows it. It needs nothing from elsewhere. */
const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateway API</title>
<style>
  :root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); }
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; text-transform: capitalize; }
  details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
  summary { padding: .5rem .75rem; cursor: pointer; display: flex; gap: .75rem; align-items: baseline; flex-wrap: wrap; }
  summary span { opacity: .75; } .body { padding: 0 .75rem .75rem; }
  .verb { font: 600 12px ui-monospace, monospace; width: 4rem; } code, pre { font: 13px ui-monospace, monospace; }
  .get { color: #0a7d33; } .post { color: #0b5fc0; } .put, .patch { color: #a05a00; } .delete { color: #c0152f; }
  pre { background: var(--soft); padding: .6rem; border-radius: 6px; overflow: auto; max-height: 24rem; }
  input { width: 100%; padding: .5rem; font: inherit; border: 1px solid var(--line); border-radius: 6px; background: transparent; color: inherit; }
</style>
<h1>Gateway API</h1>
<p id="about"></p>
<input id="filter" placeholder="Filter paths" aria-label="Filter paths">
<main id="routes">Loading…</main>
<script type="module">
  const api = await (await fetch('/openapi.json')).json();
  const make = (tag, props = {}, ...children) => { const node = Object.assign(document.createElement(tag), props); node.append(...children); return node; };
  document.querySelector('#about').textContent = api.info.description + ' Version ' + api.info.version + '.';
  const groups = new Map();
  for (const [path, verbs] of Object.entries(api.paths)) for (const [verb, route] of Object.entries(verbs)) {
    const tag = route.tags[0]; if (!groups.has(tag)) groups.set(tag, []); groups.get(tag).push({ path, verb, route });
  }
  const block = (title, value) => [make('p', {}, make('strong', { textContent: title })), make('pre', { textContent: typeof value === 'string' ? value : JSON.stringify(value, null, 2) })];
  const main = document.querySelector('#routes'); main.textContent = '';
  for (const [tag, routes] of groups) {
    const section = make('section', {}, make('h2', { textContent: tag }));
    for (const { path, verb, route } of routes) {
      const body = make('div', { className: 'body' });
      body.append(make('p', { textContent: route.security.length ? 'Scopes: ' + route['x-scopes'].join(', ') : 'No key needed' }));
      if (route.parameters.length) body.append(...block('Parameters', route.parameters.map((p) => p.name + ' (' + p.in + (p.required ? ', required' : '') + ') ' + (p.description ?? '')).join('\\n')));
      const input = route.requestBody?.content?.['application/json']?.schema; if (input) body.append(...block('Body', input));
      const output = route.responses[200]?.content?.['application/json']?.schema; if (output) body.append(...block('Answer', output));
      const item = make('details', {}, make('summary', {}, make('b', { className: 'verb ' + verb, textContent: verb.toUpperCase() }), make('code', { textContent: path }), make('span', { textContent: route.summary })), body);
      item.dataset.path = verb + ' ' + path; section.append(item);
    }
    main.append(section);
  }
  document.querySelector('#filter').addEventListener('input', (event) => {
    const text = event.target.value.toLowerCase();
    for (const item of document.querySelectorAll('details')) item.hidden = !item.dataset.path.toLowerCase().includes(text);
  });
</script>
</html>
`;

/** Of what stands between two tags: the policy lets run and look so what is written here, and nothing else. */
const hashOf = (tag: 'script' | 'style'): string => {
  const text = new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`).exec(docsPage)?.[1] ?? '';
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
};

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; script-src ${hashOf('script')}; style-src ${hashOf('style')}; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
};

export const answerDocs = (): Response => new Response(docsPage, { headers: HEADERS });
