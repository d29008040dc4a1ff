import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { textOfHtml } from './html.ts';
import { markedPart } from './marks.ts';
import { readXml } from './xml.ts';

const CONTAINER = 'META-INF/container.xml';
const ENCRYPTION = 'META-INF/encryption.xml';
const PAGES = /\.(?:x?html?|opf|xml)$/i;

/** The chapters of a book, in the order in which they are read. */
export function textOfEpub(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => PAGES.test(name));
  const home = placeOf(partText(parts, CONTAINER)) ?? invalid('The file is no EPUB book.');
  const book = partText(parts, home) ?? invalid('The book is damaged: it does not say what it consists of.');
  const sealed = sealedIn(partText(parts, ENCRYPTION));
  const places = new Map<string, string>();
  const chapters: string[] = [];
  readXml(book, {
    open: (name, { id, href, idref }) => {
      if (name === 'item' && id && href) places.set(id, pathFrom(home, href));
      if (name === 'itemref' && idref) chapters.push(places.get(idref) ?? '');
    },
  });
  const texts = chapters.map((chapter) => {
    if (sealed.has(chapter)) invalid('The book is encrypted.');
    const page = partText(parts, chapter);
    return page === null ? '' : textOfHtml(page);
  });
  // A chapter without a heading is not part of the one before.
  return texts.filter(Boolean).map(markedPart).join('\n\n');
}

/** Where the book says what it consists of. */
function placeOf(container: string | null): string | null {
  let place: string | null = null;
  if (container !== null)
    readXml(container, {
      open: (name, attributes) => {
        if (name === 'rootfile') place ??= attributes['full-path'] ?? null;
      },
    });
  return place;
}

/** Those of a book's parts that are encrypted: in many a book its fonts alone, which hold no text. */
function sealedIn(encryption: string | null): ReadonlySet<string> {
  const sealed = new Set<string>();
  if (encryption !== null)
    readXml(encryption, {
      open: (name, { URI }) => {
        if (name === 'CipherReference' && URI) sealed.add(pathFrom('', URI));
      },
    });
  return sealed;
}

function pathFrom(base: string, href: string): string {
  const { pathname } = new URL(href, `file:///${base}`);
  try {
    return decodeURIComponent(pathname.slice(1));
  } catch {
    return pathname.slice(1);
  }
}
