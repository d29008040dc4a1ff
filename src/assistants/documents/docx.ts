import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { paragraphsIn } from './office-text.ts';
import { mainPartOf } from './xml.ts';

/** The paragraphs and tables of a document, and behind them its notes. */
export function textOfDocx(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => /^_rels\/\.rels$|^word\/\w+\.xml$/.test(name));
  const main = mainPartOf(partText(parts, '_rels/.rels')) ?? 'word/document.xml';
  const document = partText(parts, main) ?? invalid('The file is no document.');
  const notes = ['word/footnotes.xml', 'word/endnotes.xml'].map((name) => partText(parts, name));
  const texts = [document, ...notes].map((xml) => (xml === null ? '' : paragraphsIn(xml, '\n\n')));
  return texts.filter(Boolean).join('\n\n');
}
