import PostalMime, { type Address } from 'postal-mime';
import { DocumentFault, invalid } from './document.ts';
import { textOfHtml } from './html.ts';
import { unmarked } from './marks.ts';

const MOST_DEPTH = 50;
const MOST_HEADER_BYTES = 1 << 20;

/** A message as people read it: who wrote to whom, when and about what; its text; and what its attachments are called. */
export async function textOfMail(bytes: Uint8Array): Promise<string> {
  try {
    const parser = new PostalMime({ maxNestingDepth: MOST_DEPTH, maxHeadersSize: MOST_HEADER_BYTES });
    const mail = await parser.parse(bytes);
    const heads = [
      ['Subject', mail.subject],
      ['From', mail.from && named([mail.from])],
      ['To', mail.to && named(mail.to)],
      ['Cc', mail.cc && named(mail.cc)],
      ['Date', mail.date],
    ].flatMap(([name, value]) => (value ? [`${name}: ${unmarked(value)}`] : []));
    const body = mail.text?.trim() ? unmarked(mail.text.trim()) : mail.html ? textOfHtml(mail.html) : '';
    const attached = mail.attachments.flatMap(({ filename }) =>
      filename ? [`Attachment: ${unmarked(filename)}`] : [],
    );
    return [heads.join('\n'), body, attached.join('\n')].filter(Boolean).join('\n\n');
  } catch (error) {
    if (error instanceof DocumentFault) throw error;
    return invalid('The message is damaged: it cannot be read.');
  }
}

const named = (addresses: readonly Address[]): string =>
  addresses
    .flatMap(({ name, address, group }) => (group ? [named(group)] : [address ? `${name} <${address}>`.trim() : name]))
    .join(', ');
