import { describe, expect, it } from 'vitest';
import { CutAnswerError, passAnswer, readStart } from './answer-stream.js';
import { keyOfId } from './read-calls.js';

/* Answers that are passed on while they arrive, in parts of any size. */

const callOf = (id: string) => ({ id: Buffer.from(id), idKey: keyOfId(Buffer.from(id)) ?? '' });

async function pass(body: string, id: string, partBytes: number): Promise<string | null> {
  const bytes = Buffer.from(body);
  const start = readStart(bytes.subarray(0, 100), callOf(id));
  if (start === null) return null;
  async function* rest(): AsyncGenerator<Buffer> {
    for (let from = 100; from < bytes.length; from += partBytes) yield bytes.subarray(from, from + partBytes);
  }
  const parts: Buffer[] = [];
  for await (const part of passAnswer(start, rest(), Buffer.from(id))) parts.push(part);
  return Buffer.concat(parts).toString();
}

const long = 'é'.repeat(3_000);

describe('an answer that still arrives', () => {
  it.each([
    ['its id in front', `{"jsonrpc":"2.0","id":7,"result":"${long}"}`, '7', null],
    ['another spelling of its id', `{"jsonrpc":"2.0", "id" : "a\\u0062" ,"result":"${long}"}`, '"ab"', null],
    ['a rounded id in front', `{"id":10,"result":"${long}"}`, '11', `{"id":11,"result":"${long}"}`],
    ['its id behind', `{"result":"${long}","id":7}`, '7', null],
    ['its id behind, then the version', `{"result":["${long}"] , "id" : 7 , "jsonrpc":"2.0" } `, '7', null],
    ['a rounded id behind', `{"result":"${long}","id":10}\n`, '11', `{"result":"${long}","id":11}\n`],
    ['no id', `{"result":{"a":"${long}","id":5}}`, '7', `{"result":{"a":"${long}","id":5},"id":7}`],
    ['an id in a string', `{"result":"${long}\\"id\\":5"}`, '7', `{"result":"${long}\\"id\\":5","id":7}`],
    ['the id null', `{"result":"${long}","id":null}`, 'null', null],
  ])('with %s has that of its call', async (_name, body, id, expected) => {
    for (const partBytes of [1, 7, 2_047, 2_048, 2_049, 100_000]) {
      expect(await pass(body, id, partBytes)).toBe(expected ?? body);
    }
  });

  it.each([
    `{"jsonrpc":"2.0","id":7,"error":{"message":"${long}"}}`,
    `{"id":7,"other":"${long}","result":1}`,
    `[{"id":7,"result":"${long}"}]`,
    `"${long}"`,
    `{"id":${'7'.repeat(3_000)},"result":1}`,
    `{"id":"${long}`,
    '',
  ])('is read whole where its success is not certain: %.30s', async (body) => {
    expect(await pass(body, '7', 1_000)).toBeNull();
  });

  it.each([`{"id":7,"result":"${long}`, `{"id":7,"result":["${long}"]`, `{"result":["${long}"],"id":7`])(
    'fails where it is cut: %.30s',
    async (body) => {
      await expect(pass(body, '7', 1_000)).rejects.toThrow(CutAnswerError);
    },
  );
});
