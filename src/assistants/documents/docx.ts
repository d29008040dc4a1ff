import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { mainPartOf, readXml } from './xml.ts';

/**
 * The paragraphs of a document, and behind them its notes. Text that was deleted while changes were tracked, and the
 * instructions of fields, are in elements of other names.
 */
export function textOfDocx(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => /^_rels\/\.rels$|^word\/\w+\.xml$/.test(name));
  const main = mainPartOf(partText(parts, '_rels/.rels')) ?? 'word/document.xml';
  const document = partText(parts, main) ?? invalid('The file is no document.');
  const notes = ['word/footnotes.xml', 'word/endnotes.xml'].map((name) => partText(parts, name));
  const texts = [document, ...notes].map((xml) => (xml === null ? '' : paragraphsIn(xml)));
  return texts.filter(Boolean).join('\n\n');
}

function paragraphsIn(xml: string): string {
  const paragraphs: string[] = [];
  let paragraph = '';
  let isText = false;
  /** The same once more, for programs that do not know the first form. */
  let fallbacks = 0;
  readXml(xml, {
    open: (name) => {
      if (name === 'Fallback') fallbacks++;
      if (fallbacks > 0) return;
      if (name === 't') isText = true;
      if (name === 'tab') paragraph += '\t';
      if (name === 'br' || name === 'cr') paragraph += '\n';
    },
    text: (text) => {
      if (isText) paragraph += text;
    },
    close: (name) => {
      if (name === 'Fallback') fallbacks--;
      if (name === 't') isText = false;
      if (name !== 'p') return;
      if (paragraph.trim()) paragraphs.push(paragraph.trim());
      paragraph = '';
    },
  });
  return paragraphs.join('\n\n');
}
