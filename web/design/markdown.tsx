import { Fragment, memo, type ReactNode } from 'react';
import { CodeBlock } from './copy.tsx';

/**
 * Text with marks, as models write it, as elements. Nothing in it becomes HTML, a script or a request: links lead to http,
 * https and mailto alone and open elsewhere, and pictures are links.
 */
export const Markdown = memo(({ text }: { readonly text: string }) => (
  <div className="markdown">{blocksOf(text.replace(/\r\n?/g, '\n').split('\n'), 0)}</div>
));

/** Deeper than this, marks are text: nobody writes so, and a hostile answer could exhaust the stack. */
const DEEPEST = 8;
/** Longer than this is shown as it is: the reader of marks looks at every character several times. */
const LONGEST_LINE = 20_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocksOf(lines: readonly string[], depth: number): ReactNode[] {
  const blocks: ReactNode[] = [];
  let at = 0;
  const take = (isIn: (line: string) => boolean): string[] => {
    const start = at;
    while (at < lines.length && isIn(lines[at]!)) at++;
    return lines.slice(start, at);
  };
  while (at < lines.length) {
    const key = at;
    const line = lines[at]!;
    if (line.trim() === '') {
      at++;
      continue;
    }
    const fence = FENCE.exec(line);
    if (fence) {
      at++;
      const isEnd = (each: string) => each.trim().startsWith(fence[1]!) && /^\s*[`~]+\s*$/.test(each);
      const code = take((each) => !isEnd(each));
      at++;
      blocks.push(<CodeBlock key={key} code={code.join('\n')} title={fence[2] || 'text'} />);
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      at++;
      blocks.push(
        <p key={key} className={`markdown-heading markdown-heading-${Math.min(3, heading[1]!.length)}`}>
          {inlineOf(heading[2]!, depth)}
        </p>,
      );
      continue;
    }
    if (RULE.test(line)) {
      at++;
      blocks.push(<hr key={key} />);
      continue;
    }
    if (depth < DEEPEST && QUOTE.test(line)) {
      const inner = take((each) => QUOTE.test(each)).map((each) => QUOTE.exec(each)![1]!);
      blocks.push(<blockquote key={key}>{blocksOf(inner, depth + 1)}</blockquote>);
      continue;
    }
    if (depth < DEEPEST && ITEM.test(line)) {
      const indent = ITEM.exec(line)![1]!.length;
      const belongs = (each: string) => {
        const item = ITEM.exec(each);
        return item ? item[1]!.length >= indent : each.trim() === '' || /^\s{2,}/.test(each);
      };
      blocks.push(<Fragment key={key}>{listOf(take(belongs), indent, depth)}</Fragment>);
      continue;
    }
    if (line.includes('|') && TABLE_RULE.test(lines[at + 1] ?? '')) {
      blocks.push(
        <Fragment key={key}>
          {tableOf(
            take((each) => each.includes('|')),
            depth,
          )}
        </Fragment>,
      );
      continue;
    }
    const begins = (each: string) =>
      each.trim() === '' || FENCE.test(each) || HEADING.test(each) || (ITEM.test(each) && depth < DEEPEST);
    const start = at++;
    while (at < lines.length && !begins(lines[at]!)) at++;
    blocks.push(<p key={key}>{inlineOf(lines.slice(start, at).join('\n'), depth)}</p>);
  }
  return blocks;
}

function listOf(lines: readonly string[], indent: number, depth: number): ReactNode {
  const items: string[][] = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1]!.length <= indent + 1) items.push([item[3]!]);
    else items.at(-1)?.push(line.replace(/^\s{1,4}/, ''));
  }
  const content = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text keeps its order
    <li key={index}>{item.length === 1 ? inlineOf(item[0]!, depth) : blocksOf(item, depth + 1)}</li>
  ));
  const number = /^\s*(\d{1,9})/.exec(lines[0] ?? '')?.[1];
  return number ? <ol start={Number(number)}>{content}</ol> : <ul>{content}</ul>;
}

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

function tableOf([head = '', , ...rows]: readonly string[], depth: number): ReactNode {
  const names = cellsOf(head);
  return (
    <div className="markdown-table">
      <table>
        <thead>
          <tr>
            {names.map((name, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a text keeps its order
              <th key={index}>{inlineOf(name, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a text keeps its order
            <tr key={index}>
              {cellsOf(row)
                .slice(0, names.length)
                .map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a text keeps its order
                  <td key={column}>{inlineOf(cell, depth)}</td>
                ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Each alternative is bounded or cannot match twice from one place, so that no text takes long. */
const INLINE =
  /(?<code>`+)(?<coded>[^`]{1,2000}?)\k<code>(?!`)|!?\[(?<label>[^[\]\n]{0,500})\]\((?<target>[^()\s]{1,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,500})?)\)|(?<bare>https?:\/\/[^\s<>()"'`]{1,2000}[^\s<>()"'`.,;:!?])|(?<strong>\*\*|__)(?=\S)(?<bold>(?:(?!\k<strong>)[^\n]){1,2000}?)\k<strong>|~~(?=\S)(?<gone>[^~\n]{1,2000}?)~~|(?<![\w*])(?<slant>[*_])(?=\S)(?<emphasis>(?:(?!\k<slant>)[^\n]){1,2000}?)(?<=\S)\k<slant>(?![\w*])|\\(?<literal>[\\`*_{}[\]()#+.!~|>-])/g;

const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

function inlineOf(text: string, depth: number): ReactNode {
  if (text.length > LONGEST_LINE || depth > DEEPEST) return text;
  const parts: ReactNode[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const { coded, label, target, bare, bold, gone, emphasis, literal } = match.groups!;
    parts.push(text.slice(from, match.index));
    from = match.index + match[0].length;
    const key = match.index;
    if (coded !== undefined) parts.push(<code key={key}>{coded}</code>);
    else if (target !== undefined) parts.push(linkOf(target, label || target, key));
    else if (bare !== undefined) parts.push(linkOf(bare, bare, key));
    else if (bold !== undefined) parts.push(<strong key={key}>{inlineOf(bold, depth + 1)}</strong>);
    else if (gone !== undefined) parts.push(<del key={key}>{gone}</del>);
    else if (emphasis !== undefined) parts.push(<em key={key}>{inlineOf(emphasis, depth + 1)}</em>);
    else parts.push(literal);
  }
  parts.push(text.slice(from));
  return parts;
}

/** An address that is no plain link is shown as the text that it is. */
function linkOf(target: string, label: string, key: number): ReactNode {
  if (!SAFE_LINK.test(target)) return `${label} (${target})`;
  return (
    <a key={key} href={target} target="_blank" rel="noopener noreferrer nofollow" title={target}>
      {label}
    </a>
  );
}
