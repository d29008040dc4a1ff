import { Outline, type Section } from './outline.ts';

const HASHES = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/** What is no paragraph, and so is no heading with a line below it. */
const NO_PARAGRAPH = /^(?: {4}|\t| {0,3}(?:[>|]|[-+*][ \t]|\d{1,9}[.)][ \t]|$))/;
/** Longer ones are no headings; they are looked at no further. */
const LONGEST_LINE = 400;

/** The headings of a text in Markdown, which stays as it is. Those in code are none. */
export function sectionsOfMarkdown(text: string): readonly Section[] {
  const outline = new Outline();
  let fence: string | null = null;
  /** The paragraph that is open, and may turn out to be a heading. */
  let paragraph: { readonly start: number; said: string } | null = null;
  let isFrontMatter = false;
  for (let start = 0, end = 0; start <= text.length; start = end + 1) {
    end = text.indexOf('\n', start);
    if (end < 0) end = text.length;
    const line = end - start > LONGEST_LINE ? 'x' : text.slice(start, end).replace(/\r$/, '');
    if (start === 0 && line === '---' && /\n(?:---|\.\.\.)\r?(?:\n|$)/.test(text)) isFrontMatter = true;
    else if (isFrontMatter) isFrontMatter = line !== '---' && line !== '...';
    else if (fence !== null) {
      const closing = FENCE.exec(line);
      if (closing && closing[2]!.trim() === '' && closing[1]!.startsWith(fence)) fence = null;
    } else {
      const opening = FENCE.exec(line);
      const hashes = HASHES.exec(line);
      const underline = paragraph && UNDERLINE.exec(line);
      if (opening && !(opening[1]!.startsWith('`') && opening[2]!.includes('`'))) fence = opening[1]!;
      else if (hashes)
        outline.add(start, hashes[1]!.length, plain((hashes[2] ?? '').replace(/(?:^|[ \t]+)#+[ \t]*$/, '')));
      else if (paragraph && underline)
        outline.add(paragraph.start, underline[1]!.startsWith('=') ? 1 : 2, plain(paragraph.said));
      const isParagraph =
        fence === null && !hashes && !underline && (paragraph ? line.trim() !== '' : !NO_PARAGRAPH.test(line));
      if (!isParagraph) paragraph = null;
      else if (paragraph) paragraph.said = `${paragraph.said} ${line}`.slice(0, LONGEST_LINE);
      else paragraph = { start, said: line };
    }
  }
  return outline.sections;
}

/** A heading without emphasis, code marks and addresses of links. */
const plain = (title: string): string =>
  title
    .replace(/!?\[([^\]]{0,500})\]\([^)]{0,1000}\)/g, '$1')
    .replace(/(\*\*|__|`+|\*)(?=\S)([^*_`]{1,500})\1/g, '$2')
    .replace(/\\([!-/:-@[-`{-~])/g, '$1');
