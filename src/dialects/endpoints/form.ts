import type { FormFields } from './endpoint.ts';

/** A form as bytes. The same form is always the same bytes, so that it can be sent again and found in a cache. */
export function encodeForm({ fields }: FormFields): { readonly type: string; readonly bytes: Uint8Array } {
  const entries = Object.entries(fields);
  let boundary = 'gateway-form';
  while (entries.some(([, value]) => value.includes(boundary))) boundary += '-';
  const parts = entries.map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"\r\n\r\n${value}\r\n`,
  );
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.from(`${parts.join('')}--${boundary}--\r\n`),
  };
}

const escaped = (name: string): string =>
  name.replace(/["\r\n]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
