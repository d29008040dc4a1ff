import { type Unzipped, unzipSync } from 'fflate';
import { DocumentFault, invalid } from './document.ts';

/** No honest document unpacks to more. What it says about its sizes is all that is ever unpacked. */
const MOST_UNPACKED_BYTES = 256 << 20;
const MOST_PARTS = 20_000;

/** The parts of an Office document whose names fit, unpacked, within limits. */
export function partsOf(bytes: Uint8Array, fits: (name: string) => boolean): Unzipped {
  let unpacked = 0;
  let parts = 0;
  try {
    return unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!fits(name)) return false;
        unpacked += originalSize;
        if (unpacked > MOST_UNPACKED_BYTES) invalid(`The document unpacks to more than ${MOST_UNPACKED_BYTES} bytes.`);
        if (++parts > MOST_PARTS) invalid(`The document has more than ${MOST_PARTS} parts.`);
        return true;
      },
    });
  } catch (error) {
    if (error instanceof DocumentFault) throw error;
    return invalid('The document is damaged: it cannot be unpacked.');
  }
}

export const partText = (parts: Unzipped, name: string): string | null => {
  const part = parts[name];
  return part ? new TextDecoder().decode(part) : null;
};
