import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { markedPart } from './marks.ts';
import { outlineLevel, paragraphsIn } from './office-text.ts';
import { mainPartOf, readXml } from './xml.ts';

/** The paragraphs and tables of a document, and behind them its notes. */
export function textOfDocx(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => /^_rels\/\.rels$|^word\/\w+\.xml$/.test(name));
  const main = mainPartOf(partText(parts, '_rels/.rels')) ?? 'word/document.xml';
  const document = partText(parts, main) ?? invalid('The file is no document.');
  const notes = ['word/footnotes.xml', 'word/endnotes.xml'].map((name) => partText(parts, name));
  const levels = headingStyles(partText(parts, 'word/styles.xml'));
  const texts = [document, ...notes].map((xml) => (xml === null ? '' : paragraphsIn(xml, '\n\n', levels)));
  return texts.filter(Boolean).map(markedPart).join('\n\n');
}

interface Style {
  name: string;
  basedOn: string | null;
  level: number | null;
}

/** No honest style is based on another by more steps. */
const MOST_STEPS = 20;

/** Which styles make a paragraph a heading. Their ids are in the language of the program; the names of those that it brings are not. */
function headingStyles(xml: string | null): ReadonlyMap<string, number> {
  const styles = new Map<string, Style>();
  let open: Style | null = null;
  readXml(xml ?? '', {
    open: (name, attributes) => {
      const value = attributes['w:val'] ?? '';
      if (name === 'style') {
        open = { name: '', basedOn: null, level: null };
        styles.set(attributes['w:styleId'] ?? '', open);
      } else if (open && name === 'name') open.name = value;
      else if (open && name === 'basedOn') open.basedOn = value;
      else if (open && name === 'outlineLvl') open.level = outlineLevel(value);
    },
    close: (name) => {
      if (name === 'style') open = null;
    },
  });
  const levelOf = (id: string | null, steps = 0): number | null => {
    const style = id === null || steps > MOST_STEPS ? undefined : styles.get(id);
    if (!style) return null;
    const numbered = /^heading ([1-9])$/i.exec(style.name)?.[1];
    if (numbered) return Number(numbered);
    return /^title$/i.test(style.name) ? 0 : (style.level ?? levelOf(style.basedOn, steps + 1));
  };
  const levels = [...styles.keys()].map((id) => [id, levelOf(id)] as const);
  return new Map(levels.filter((entry): entry is [string, number] => entry[1] !== null));
}
