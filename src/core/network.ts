/** Whose address it is: the owner of one IPv6 address has a whole network of 64 bits. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const front = head.split(':').filter(Boolean);
  if (tail === undefined) return front.slice(0, 4).join(':');
  const back = tail.split(':').filter(Boolean);
  const middle = Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0');
  return [...front, ...middle, ...back].slice(0, 4).join(':');
}
