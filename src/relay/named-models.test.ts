import { expect, test } from 'bun:test';
import { namedModels } from './named-models.ts';

const found = (text: string) => namedModels(text)?.map(({ path, name }) => `${path.join('.')}=${name}`) ?? null;

test('every member is found, however often, however deep and however it is written', () => {
  expect(found('{"model":"a","mod\\u0065l":"b","Model":"c","model":null}')).toEqual(['model=a', 'model=b', 'Model=c']);
  expect(found('{"x":[{"y":{"model":"d\\u0065"}},"model"],"models":["f",{"model":"g"},3]}')).toEqual([
    'x.y.model=de',
    'models=f',
    'models.model=g',
  ]);
});

test('values are no names, and what is no JSON is said to be none', () => {
  expect(found('{"a":"model","b":"\\"model\\":\\"x\\"","model":{"models":"y"}}')).toEqual([]);
  expect(found('["model","x"]')).toEqual([]);
  expect(found('{"model":"a"')).toBeNull();
});
