import { expect, it } from 'vitest';
import { apiOf } from './verify-service.js';

it.each([
  ['https://api.example.org', 'https://api.example.org/api/v1'],
  ['https://api.example.org/', 'https://api.example.org/api/v1'],
  ['http://localhost:3000/api/v1/', 'http://localhost:3000/api/v1'],
  ['https://example.org/sluice', 'https://example.org/sluice/api/v1'],
])('verifies the routes below the address %s', (address, base) => {
  expect(apiOf(address)).toBe(base);
});

it.each([undefined, 'api.example.org', 'ftp://api.example.org'])('names the argument when it is %s', (address) => {
  expect(() => apiOf(address)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param: 'url' }));
});
