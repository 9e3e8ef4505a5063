import { expect, it } from 'vitest';
import { signatureFault } from './s3-signature.js';

/* The request "GET Object" from the documentation of signature version 4, with the signature printed there. */

const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
const request = {
  method: 'GET',
  url: '/test.txt',
  headers: {
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'x-amz-date': '20130524T000000Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
};

it('accepts a request signed as in the documentation', () => {
  expect(signatureFault(request, keys)).toBeNull();
});

it.each([
  ['another path', { ...request, url: '/other.txt' }, keys],
  ['another method', { ...request, method: 'PUT' }, keys],
  ['another query', { ...request, url: '/test.txt?acl' }, keys],
  ['another signed header', { ...request, headers: { ...request.headers, range: 'bytes=0-10' } }, keys],
  ['another secret', request, { ...keys, secretAccessKey: 'x' }],
  ['another key', request, { ...keys, accessKeyId: 'x' }],
  ['no signature', { ...request, headers: { host: 'x' } }, keys],
] as const)('refuses %s', (_, changed, known) => {
  expect(signatureFault(changed, known)).toEqual(expect.any(String));
});
