import { describe, expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { type AwsRequest, encodeReserved, signAws } from './sigv4.ts';

const suite = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

function authorization(request: Partial<AwsRequest> & Pick<AwsRequest, 'url'>): string {
  const headers = request.headers ?? new Headers();
  signAws({
    method: 'GET',
    body: null,
    region: 'us-east-1',
    service: 'service',
    credentials: suite,
    now: Date.UTC(2015, 7, 30, 12, 36, 0),
    ...request,
    headers,
  });
  return headers.get('authorization')!;
}

const signature = (text: string) => /Signature=([0-9a-f]{64})$/.exec(text)?.[1];

describe('the vectors AWS publishes', () => {
  test('get-vanilla', () => {
    expect(authorization({ url: 'https://example.amazonaws.com/' })).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
        'SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    );
  });

  test('post-vanilla', () => {
    expect(signature(authorization({ method: 'POST', url: 'https://example.amazonaws.com/' }))).toBe(
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    );
  });

  test('get-vanilla-query-order-key-case', () => {
    const url = 'https://example.amazonaws.com/?Param2=value2&Param1=value1';
    expect(signature(authorization({ url }))).toBe('b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500');
  });

  test('the ListUsers example, whose content type is signed', () => {
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' });
    const url = 'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08';
    expect(signature(authorization({ url, headers, service: 'iam' }))).toBe(
      '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    );
  });

  test('the S3 bucket lifecycle example, whose query has no value', () => {
    const signed = authorization({
      url: 'https://examplebucket.s3.amazonaws.com/?lifecycle',
      service: 's3',
      credentials: {
        accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      },
      now: Date.UTC(2013, 4, 24),
    });
    expect(signature(signed)).toBe('fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543');
  });
});

test('the colon of a Bedrock model id is encoded once on the wire and twice in the signature', () => {
  const path = encodeReserved('/model/anthropic.claude-3-5-sonnet-20241022-v2:0/converse');
  expect(path).toBe('/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/converse');

  const body = new TextEncoder().encode('{"messages":[]}');
  const headers = new Headers({ 'content-type': 'application/json' });
  const credentials = { ...suite, sessionToken: 'SESSION' };
  const signed = authorization({
    method: 'POST',
    url: `https://bedrock-runtime.us-east-1.amazonaws.com${path}`,
    headers,
    body,
    service: 'bedrock',
    credentials,
  });

  const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const canonical = `POST
/model/anthropic.claude-3-5-sonnet-20241022-v2%253A0/converse

content-type:application/json
host:bedrock-runtime.us-east-1.amazonaws.com
x-amz-date:20150830T123600Z
x-amz-security-token:SESSION

content-type;host;x-amz-date;x-amz-security-token
${sha256(body)}`;
  const toSign = `AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/bedrock/aws4_request\n${sha256(canonical)}`;
  const dateKey = hmac(`AWS4${suite.secretAccessKey}`, '20150830');
  const key = hmac(hmac(hmac(dateKey, 'us-east-1'), 'bedrock'), 'aws4_request');
  expect(signature(signed)).toBe(hmac(key, toSign).toString('hex'));
  expect(headers.get('x-amz-security-token')).toBe('SESSION');
});

test("a client's own AWS headers do not survive", () => {
  const headers = new Headers({ 'x-amz-date': 'yesterday', 'x-amz-security-token': 'foreign' });
  authorization({ url: 'https://example.amazonaws.com/', headers });
  expect(headers.get('x-amz-date')).toBe('20150830T123600Z');
  expect(headers.has('x-amz-security-token')).toBe(false);
});
