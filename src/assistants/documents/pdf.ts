import { invalid } from './document.ts';

/** The text of a document's pages. A scanned page has none. */
export async function textOfPdf(bytes: Uint8Array): Promise<string> {
  const { extractText, getDocumentProxy } = await import('unpdf');
  try {
    const document = await getDocumentProxy(bytes, { verbosity: 0, isEvalSupported: false });
    const { text } = await extractText(document, { mergePages: false });
    return text.join('\n\n');
  } catch (error) {
    const isLocked = (error as Error)?.name === 'PasswordException';
    return invalid(isLocked ? 'The document is encrypted.' : 'The document is damaged: it cannot be read.');
  }
}
