import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { markedPage } from './marks.ts';
import { paragraphsIn } from './office-text.ts';
import { readXml, relationsIn } from './xml.ts';

const PRESENTATION = 'ppt/presentation.xml';

/** The text of slides in the order they are shown, with their notes. */
export function textOfPptx(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => /^ppt\/(?:slides|notesSlides|_rels)\/|^ppt\/presentation\.xml$/.test(name));
  const presentation = partText(parts, PRESENTATION) ?? invalid('The file is no presentation.');
  const slides = relationsIn(partText(parts, 'ppt/_rels/presentation.xml.rels'), PRESENTATION);
  const texts: string[] = [];
  /** Slides that began since the last text: one without text is counted, too. */
  let begun = '';
  const say = (text: string) => {
    if (!text) return;
    texts.push(`${begun}${text}`);
    begun = '';
  };
  readXml(presentation, {
    open: (name, attributes) => {
      if (name !== 'sldId') return;
      begun += markedPage('');
      const slide = slides.get(attributes['r:id'] ?? '');
      const xml = slide && partText(parts, slide);
      if (!xml) return;
      say(paragraphsIn(xml, '\n'));
      const relations = relationsIn(partText(parts, slide.replace(/([^/]+)$/, '_rels/$1.rels')), slide);
      const notes = [...relations.values()].find((part) => part.startsWith('ppt/notesSlides/'));
      const said = notes ? partText(parts, notes) : null;
      if (said) say(paragraphsIn(said, '\n'));
    },
  });
  return texts.join('\n\n');
}
