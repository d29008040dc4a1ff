import { Parser } from 'htmlparser2';
import { invalid } from './document.ts';

const SILENT = new Set(['script', 'style', 'template', 'noscript', 'svg', 'head']);
const BLOCKS = new Set(
  (
    'address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 ' +
    'header hr li main nav ol p pre section summary table tbody td tfoot th thead title tr ul'
  ).split(' '),
);

/** The parser's time grows with the depth; pages that forget to close what they open are no deeper than this. */
const MOST_DEPTH = 10_000;

/** The text of a page as people read it: blocks on lines of their own, without scripts, styles and markup. */
export function textOfHtml(page: string): string {
  const pieces: string[] = [];
  let silentDepth = 0;
  let preDepth = 0;
  let depth = 0;
  const parser = new Parser({
    onopentagname: (name) => {
      if (++depth > MOST_DEPTH) invalid('The page is damaged: it is nested too deeply.');
      if (SILENT.has(name)) silentDepth++;
      if (name === 'pre') preDepth++;
      // A title stands in the silent head and is worth finding.
      if (name === 'title') silentDepth--;
      if (BLOCKS.has(name)) pieces.push('\n');
    },
    ontext: (text) => {
      if (silentDepth <= 0) pieces.push(preDepth > 0 ? text : text.replace(/\s+/g, ' '));
    },
    onclosetag: (name) => {
      depth--;
      if (SILENT.has(name)) silentDepth--;
      if (name === 'pre') preDepth--;
      if (name === 'title') silentDepth++;
      if (BLOCKS.has(name)) pieces.push('\n');
    },
  });
  parser.end(page);
  return pieces
    .join('')
    .replace(/[ \t]*\n[ \t]*\n\s*/g, '\n\n')
    .trim();
}
