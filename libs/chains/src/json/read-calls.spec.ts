import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { findNetwork, type RpcNetwork } from '../networks.js';
import { readCalls } from './read-calls.js';

const ethereum = findNetwork('ethereum-mainnet') as RpcNetwork;
const read = (body: unknown) =>
  readCalls(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), ethereum);
const call = (changes: object = {}) => ({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [], ...changes });

function refusal(body: unknown): PlatformError {
  try {
    read(body);
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
  throw new Error('The body was accepted.');
}

describe('the calls of a request', () => {
  it('are found with ids of every type, and the bytes stay', () => {
    const text =
      '[{"id":18446744073709551615,"method":"eth_call","params":[18446744073709551615, 1.0]},' +
      '{"method":"\\u0065th_getLogs","id":"a\\u0062"}, {"id":null,"method":"eth_sendRawTransaction"}]';
    const { bytes, isBatch, sends, calls } = read(text);
    expect(bytes.toString()).toBe(text);
    expect([isBatch, sends]).toEqual([true, true]);
    expect(calls.map(({ id, idKey }) => [id.toString(), idKey])).toEqual([
      ['18446744073709551615', '18446744073709551615'],
      ['"a\\u0062"', '"ab'],
      ['null', 'null'],
    ]);
  });

  it('may begin with a byte order mark, which no node gets', () => {
    expect(read(`\uFEFF${JSON.stringify(call())}`).bytes[0]).toBe(0x7b);
  });

  it.each([
    ['', null],
    ['no JSON', null],
    ['{"id":1,"method":"eth_call"', null],
    ['"eth_call"', null],
    ['17', null],
    ['null', null],
    ['[]', null],
    ['[1]', '[0]'],
    ['[[]]', '[0]'],
    [[call(), call({ id: 1 })], '[1].id'],
    [call({ id: undefined }), 'id'],
    [call({ id: 1.5 }), 'id'],
    [call({ id: true }), 'id'],
    [call({ id: {} }), 'id'],
    [call({ id: 'x'.repeat(300) }), 'id'],
    [call({ method: undefined }), 'method'],
    [call({ method: 7 }), 'method'],
    [call({ method: null }), 'method'],
    [call({ method: 'x'.repeat(100_000) }), 'method'],
    [call({ method: 'eth_ïtem' }), 'method'],
    [call({ params: 'x' }), 'params'],
    [call({ params: 1 }), 'params'],
    [call({ jsonrpc: '1.0' }), 'jsonrpc'],
    [call({ jsonrpc: 2 }), 'jsonrpc'],
    [call({ Method: 'admin_peers' }), null],
    [call({ _errors: 1 }), null],
    ['{"id":1,"method":"eth_call","method":"admin_peers"}', 'method'],
    [Array.from({ length: 101 }, (_, id) => call({ id })), null],
    ['['.repeat(100_000), null],
    [`{"id":1,"method":"eth_call","params":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, expect.any(String)],
  ])('are refused as %j, naming the member', (body, param) => {
    expect(refusal(body)).toMatchObject({ code: 'INVALID_REQUEST', param });
  });

  it('name every method of a batch that the network does not take', () => {
    const methods = ['eth_subscribe', 'eth_call', 'getBalance', 'admin_peers'];
    const { message, issues } = refusal(methods.map((method, id) => call({ id, method })));
    expect(message).toBe(
      'Unsupported RPC methods on ethereum-mainnet: [0] eth_subscribe needs a WebSocket, which is not supported; ' +
        '[2] getBalance belongs to other networks; [3] admin_peers is not supported.',
    );
    expect(issues?.map(({ path }) => path)).toEqual([
      [0, 'method'],
      [2, 'method'],
      [3, 'method'],
    ]);
  });

  it('are read or refused, whatever comes', () => {
    const member = fc.oneof(fc.constantFrom('jsonrpc', 'id', 'method', 'params'), fc.string());
    const object = fc.dictionary(member, fc.jsonValue(), { maxKeys: 6 });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), object, fc.array(object, { maxLength: 5 })), (body) => {
        try {
          read(body);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
        }
      }),
      { numRuns: 500 },
    );
  });
});
