import { expect, test } from 'bun:test';
import { createSealer, mask } from './seal.ts';

const master = new Uint8Array(32).fill(7);

test('a sealed value opens again under the same purpose and context', () => {
  const { seal, open } = createSealer(master);
  expect(open('virtual-key', 'vk-1', seal('virtual-key', 'vk-1', 'sk-geheim ✓'))).toBe('sk-geheim ✓');
});

test('the same value is sealed differently each time and never shows itself', () => {
  const { seal } = createSealer(master);
  const [first, second] = [seal('virtual-key', 'a', 'sk-value'), seal('virtual-key', 'a', 'sk-value')];
  expect(first).not.toBe(second);
  expect(first).not.toContain('sk-value');
});

test('another context, purpose or master secret, or an altered byte, does not open it', () => {
  const { seal, open } = createSealer(master);
  const sealed = seal('virtual-key', 'row-1', 'sk-value');
  const altered = `${sealed.slice(0, -2)}${sealed.at(-2) === 'A' ? 'B' : 'A'}${sealed.at(-1)}`;
  expect(() => open('virtual-key', 'row-2', sealed)).toThrow();
  expect(() => open('proof', 'row-1', sealed)).toThrow();
  expect(() => createSealer(new Uint8Array(32)).open('virtual-key', 'row-1', sealed)).toThrow();
  expect(() => open('virtual-key', 'row-1', altered)).toThrow();
  expect(() => open('virtual-key', 'row-1', 'sk-value')).toThrow('unknown form');
});

test('a mask shows the ends of a long secret and nothing of a short one', () => {
  expect(mask('gw-abcdefghijkl')).toBe('gw-***jkl');
  expect(mask('short')).toBe('***');
});
