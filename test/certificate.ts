import { generateKeyPairSync, sign } from 'node:crypto';

/** DER (ITU-T X.690): a tag, a length, the contents. */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const size = body.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...contents: Uint8Array[]) => der(0x30, ...contents);
const integer = (value: number) => der(0x02, Buffer.from([value]));
const utf8 = (text: string) => der(0x0c, Buffer.from(text));
const time = (text: string) => der(0x18, Buffer.from(text));
const objectId = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));

const ECDSA_WITH_SHA256 = sequence(objectId('2a8648ce3d040302'));
const COMMON_NAME = objectId('550403');
const SUBJECT_ALTERNATIVE_NAME = objectId('551d11');
const BASIC_CONSTRAINTS = objectId('551d13');
const TRUE = Buffer.from([0x01, 0x01, 0xff]);

const pem = (label: string, bytes: Uint8Array) =>
  `-----BEGIN ${label}-----\n${Buffer.from(bytes)
    .toString('base64')
    .replace(/.{64}/g, '$&\n')
    .trimEnd()}\n-----END ${label}-----\n`;

/** A certificate for one host name that vouches for itself, made anew so that no private key lies in the repository. */
export function selfSignedCertificate(
  hostName: string,
  { validUntil = '20991231235959Z' } = {},
): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = sequence(der(0x31, sequence(COMMON_NAME, utf8(hostName))));
  const extensions = sequence(
    sequence(BASIC_CONSTRAINTS, TRUE, der(0x04, sequence(TRUE))),
    sequence(SUBJECT_ALTERNATIVE_NAME, der(0x04, sequence(der(0x82, Buffer.from(hostName))))),
  );
  const body = sequence(
    der(0xa0, integer(2)), // version 3
    integer(1),
    ECDSA_WITH_SHA256,
    name,
    sequence(time('20200101000000Z'), time(validUntil)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: pem('CERTIFICATE', certificate),
  };
}
