import { CharacterMaps } from './character-maps.ts';
import { invalid } from './document.ts';
import { markedPage } from './marks.ts';
import { textOfPage } from './pdf-layout.ts';

/** The text of a document's pages. A scanned page has none, unless its text was laid over it. */
export async function textOfPdf(bytes: Uint8Array): Promise<string> {
  const { getDocumentProxy } = await import('unpdf');
  try {
    const document = await getDocumentProxy(bytes, {
      verbosity: 0,
      isEvalSupported: false,
      useWorkerFetch: false,
      cMapPacked: false,
      BinaryDataFactory: CharacterMaps,
    });
    const pages: string[] = [];
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      pages.push(markedPage(textOfPage(items.filter((item) => 'str' in item))));
      page.cleanup();
    }
    return pages.join('\n\n');
  } catch (error) {
    const isLocked = (error as Error)?.name === 'PasswordException';
    return invalid(isLocked ? 'The document is encrypted.' : 'The document is damaged: it cannot be read.');
  }
}
