import { afterEach, describe, expect, it } from 'vitest';
import { JsonParser, threadedBytes } from './json-parser.js';

/** A thread that returns the length of what it is sent, and dies of bodies that begin with `x`. */
const thread = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', (bytes) => {
      if (bytes[0] === 120) throw new Error('out of memory');
      if (bytes[0] === 101) {
        const error = { code: 'INVALID_REQUEST', message: 'Not JSON.', param: 'a' };
        return parentPort.postMessage({ type: 'failed', error, issues: [{ code: 'c', path: [], message: 'm' }] });
      }
      parentPort.postMessage({ type: 'value', value: bytes.length });
    });
  `)}`,
);

/** A thread that returns how many bodies it was sent. */
const counting = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    let bodies = 0;
    parentPort.on('message', () => parentPort.postMessage({ type: 'value', value: ++bodies }));
  `)}`,
);

let parser: JsonParser | null = null;

afterEach(async () => {
  await parser?.close();
});

const large = (first: string): Buffer<ArrayBuffer> => Buffer.alloc(threadedBytes + 1, first);

describe('a JSON parser', () => {
  it('parses small bodies at once and large ones in a thread, in their order', async () => {
    parser = new JsonParser(thread);
    const values = await Promise.all([
      parser.parse(large('1')),
      parser.parse(Buffer.from('{"a":1}')),
      parser.parse(large('2')),
    ]);
    expect(values).toEqual([threadedBytes + 1, { a: 1 }, threadedBytes + 1]);
  });

  it('lets sources take turns, however many bodies one of them sends', async () => {
    parser = new JsonParser(thread);
    const done: string[] = [];
    const parse = async (source: string): Promise<void> => {
      await parser?.parse(large('1'), source);
      done.push(source);
    };
    await Promise.all(['a', 'a', 'a', 'a', 'b', 'b', 'c'].map(parse));
    expect(done).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
  });

  it('rejects what the thread rejects, with its issues', async () => {
    parser = new JsonParser(thread);
    const issues = [{ code: 'c', path: [], message: 'm' }];
    await expect(parser.parse(large('e'))).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'a', issues });
  });

  it('loses only the body that ends the thread', async () => {
    parser = new JsonParser(thread);
    const [lost, next] = await Promise.allSettled([parser.parse(large('x')), parser.parse(large('1'))]);
    expect(lost).toMatchObject({ status: 'rejected', reason: { code: 'INVALID_REQUEST' } });
    expect(next).toMatchObject({ status: 'fulfilled', value: threadedBytes + 1 });
  });

  it('ends the thread after a heavy body, whose memory its heap would keep', async () => {
    parser = new JsonParser(counting);
    const heavy = (): Promise<unknown> => parser!.parse(Buffer.alloc(4 * 1024 * 1024 + 1, '1'));
    expect(await Promise.all([parser.parse(large('1')), heavy(), heavy(), parser.parse(large('1'))])).toEqual([
      1, 2, 1, 1,
    ]);
  });

  it('ends an idle thread, whose heap keeps the last bodies, and starts another for the next body', async () => {
    parser = new JsonParser(counting, 0);
    expect(await Promise.all([parser.parse(large('1')), parser.parse(large('1'))])).toEqual([1, 2]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await parser.parse(large('1'))).toBe(1);
  });

  it('rejects large bodies once closed', async () => {
    parser = new JsonParser(thread);
    const open = parser.parse(large('1'));
    const results = Promise.allSettled([open, parser.parse(large('1'))]);
    await parser.close();
    const refused = { status: 'rejected', reason: { code: 'SERVICE_UNAVAILABLE' } };
    expect(await results).toMatchObject([refused, refused]);
  });
});
