import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { readXml, relationsIn } from './xml.ts';

const PRESENTATION = 'ppt/presentation.xml';

/** The text of slides in the order they are shown, with their notes. */
export function textOfPptx(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => /^ppt\/(?:slides|notesSlides|_rels)\/|^ppt\/presentation\.xml$/.test(name));
  const presentation = partText(parts, PRESENTATION) ?? invalid('The file is no presentation.');
  const slides = relationsIn(partText(parts, 'ppt/_rels/presentation.xml.rels'), PRESENTATION);
  const texts: string[] = [];
  readXml(presentation, {
    open: (name, attributes) => {
      if (name !== 'sldId') return;
      const slide = slides.get(attributes['r:id'] ?? '');
      const xml = slide && partText(parts, slide);
      if (!xml) return;
      texts.push(paragraphsIn(xml));
      const relations = relationsIn(partText(parts, slide.replace(/([^/]+)$/, '_rels/$1.rels')), slide);
      const notes = [...relations.values()].find((part) => part.startsWith('ppt/notesSlides/'));
      const said = notes ? partText(parts, notes) : null;
      if (said) texts.push(paragraphsIn(said));
    },
  });
  return texts.filter(Boolean).join('\n\n');
}

function paragraphsIn(xml: string): string {
  const lines: string[] = [];
  let line = '';
  let isText = false;
  readXml(xml, {
    open: (name) => {
      if (name === 't') isText = true;
      if (name === 'br') line += '\n';
    },
    text: (text) => {
      if (isText) line += text;
    },
    close: (name) => {
      if (name === 't') isText = false;
      if (name !== 'p') return;
      if (line.trim()) lines.push(line.trim());
      line = '';
    },
  });
  return lines.join('\n');
}
