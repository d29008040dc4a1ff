import { expect, test } from 'bun:test';
import { FormWatch, plainBoundary } from './form-watch.ts';

const part = (disposition: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
const FORM = `preamble\r\n${part('name="file"; filename="a"', '-- \r\n--\r\n-x')}${part('name="model"', 'one')}${part('name="empty"', '')}${part('name=model', 'two')}--b--\r\nepilogue`;

const watched = (...pieces: readonly string[]) => {
  const watch = new FormWatch('b');
  for (const piece of pieces) watch.push(Buffer.from(piece));
  return { models: watch.models, fault: watch.fault, isClosed: watch.isClosed };
};

test('a form is read the same however it is cut', () => {
  const whole = watched(FORM);
  expect(whole).toEqual({ models: ['one', 'two'], fault: null, isClosed: true });
  for (let at = 0; at <= FORM.length; at++) expect(watched(FORM.slice(0, at), FORM.slice(at))).toEqual(whole);
  expect(watched(...FORM)).toEqual(whole);
});

test('a fault is found the same however the form is cut', () => {
  const form = `${part('name="file"', `x\n${part('name="model"', 'one')}`)}--b--`;
  for (let at = 0; at <= form.length; at++)
    expect(watched(form.slice(0, at), form.slice(at)).fault).toBe('a boundary does not stand on a line of its own');
});

test('a boundary is taken where every reader takes the same one', () => {
  const types: [string, string | null][] = [
    ['multipart/form-data; boundary=----WebKitFormBoundaryAbc', '----WebKitFormBoundaryAbc'],
    ['multipart/form-data; boundary="a b"', 'a b'],
    ['multipart/form-data;charset=utf-8;BOUNDARY=boundary', 'boundary'],
    ['multipart/form-data; x="boundary=c"; boundary=b', null],
    ['multipart/form-data; boundary=a; boundary=b', null],
    ["multipart/form-data; boundary*=utf-8''a", null],
    ['multipart/form-data; boundary=a, multipart/form-data', null],
    [`multipart/form-data; boundary=${'a'.repeat(71)}`, null],
    ['multipart/mixed; boundary=a', null],
    ['multipart/form-data', null],
  ];
  for (const [type, boundary] of types) expect([type, plainBoundary(type)]).toEqual([type, boundary]);
});
