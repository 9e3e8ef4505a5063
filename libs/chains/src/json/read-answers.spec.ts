import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findNetwork, type RpcNetwork } from '../networks.js';
import { JsonFault } from './json-cursor.js';
import { composeAnswers, readAnswers } from './read-answers.js';
import { readCalls, type RpcRequest } from './read-calls.js';

const ethereum = findNetwork('ethereum-mainnet') as RpcNetwork;
const requestOf = (body: unknown): RpcRequest => readCalls(Buffer.from(JSON.stringify(body)), ethereum);
const one = (id: unknown) => requestOf({ id, method: 'eth_call' });
const batch = (ids: unknown[]) => requestOf(ids.map((id) => ({ id, method: 'eth_call' })));
const compose = (request: RpcRequest, answer: string, redact = (text: string) => text) => {
  const { bytes, failed } = composeAnswers(request, readAnswers(Buffer.from(answer)), redact);
  return [bytes.toString(), failed] as const;
};

describe('the answers of a node', () => {
  it('keep their bytes', () => {
    const answer = '{"jsonrpc":"2.0", "result":{"rentEpoch":18446744073709551615,"x":1.0,"y":"\\u00e4ä"} ,"id":1}';
    expect(compose(one(1), ` ${answer}\n`)).toEqual([answer, [false]]);
  });

  it('are in the order of the calls, with their ids', () => {
    const answers = ['{"id":"2","result":2}', '{"result":3,"id":3}', '{"id":1,"error":{"code":-32000,"message":"m"}}'];
    expect(compose(batch([1, '2', 3]), `[${answers.join()}]`)).toEqual([
      `[${answers[2]},${answers[0]},${answers[1]}]`,
      [true, false, false],
    ]);
  });

  it('are, in any order, those of their calls: byte for byte', () => {
    const results = fc.uniqueArray(fc.tuple(fc.oneof(fc.integer(), fc.string()), fc.json()), {
      selector: ([id]) => JSON.stringify(id),
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(results, fc.nat(), (given, turn) => {
        const answers = given.map(([id, json]) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`);
        const shift = turn % answers.length;
        const mixed = [...answers.slice(shift), ...answers.slice(0, shift)].toReversed();
        const [text] = compose(batch(given.map(([id]) => id)), `[${mixed.join()}]`);
        expect(text).toBe(`[${answers.join()}]`);
      }),
    );
  });

  it('of a call get its id, where the node did not read it', () => {
    const error = '"error":{"code":-32700,"message":"parse error"}';
    expect(compose(one('a'), `{"id":null,${error}}`)).toEqual([`{"id":"a",${error}}`, [true]]);
    expect(compose(one(5), `{${error}}`)).toEqual([`{"id":5,${error}}`, [true]]);
  });

  it('that refuse a whole batch are given to each of its calls', () => {
    const error = '"error":{"code":-32600,"message":"batch too large"}';
    expect(compose(batch([1, 2]), `{"id":null,${error}}`)).toEqual([
      `[{"id":1,${error}},{"id":2,${error}}]`,
      [true, true],
    ]);
  });

  it('that are missing are errors of their calls', () => {
    const [text, failed] = compose(batch([1, 2]), '[{"id":2,"result":2}]');
    expect([failed, JSON.parse(text)]).toEqual([
      [true, false],
      [
        { jsonrpc: '2.0', id: 1, error: { code: -32_603, message: 'The node did not answer this call.' } },
        { id: 2, result: 2 },
      ],
    ]);
  });

  it('with a null error are results', () => {
    expect(compose(one(1), '{"id":1,"result":null,"error":null}')[1]).toEqual([false]);
  });

  it('tell nothing of the node in errors, and keep results', () => {
    const redact = (text: string) => text.replaceAll('secret', '***');
    const failed = '{"id":1,"error":{"code":1,"message":"secret"}}';
    expect(compose(one(1), failed, redact)[0]).toBe(failed.replace('secret', '***'));
    const result = '{"id":1,"result":"secret"}';
    expect(compose(one(1), result, redact)[0]).toBe(result);
  });

  it.each([
    '',
    '{}',
    '[]x',
    '{"id":1}',
    '{"id":1,"result":}',
    '<html>',
    '{"error":"Must be authenticated"}',
    '[1]',
    'null',
  ])('are none: %s', (text) => expect(() => readAnswers(Buffer.from(text))).toThrow(JsonFault));
});
