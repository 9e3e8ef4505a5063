import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { coalesceWrites } from './coalesce-writes.js';

/** A stream that records which chunks arrived together. */
function recorder(): { stream: Writable; packets: string[][] } {
  const packets: string[][] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      packets.push([chunk.toString()]);
      done();
    },
    writev: (chunks, done) => {
      packets.push(chunks.map(({ chunk }) => String(chunk)));
      done();
    },
  });
  return { stream, packets };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('coalesced writes', () => {
  it('are sent together and in order when issued in one turn, including those from resolved promises', async () => {
    const { stream, packets } = recorder();
    coalesceWrites(stream);
    stream.write('a');
    stream.write(Buffer.from('b'));
    await Promise.resolve();
    stream.write('c');
    expect(packets).toEqual([]);
    await turn();
    expect(packets).toEqual([['a', 'b', 'c']]);
    stream.write('d');
    await turn();
    expect(packets).toEqual([['a', 'b', 'c'], ['d']]);
  });

  it('report to the writer that the stream ended', async () => {
    const { stream } = recorder();
    coalesceWrites(stream);
    const failed = new Promise((resolve) => stream.once('error', resolve));
    stream.write('a');
    stream.destroy();
    stream.write('b');
    await turn();
    stream.destroy(new Error('late'));
    await Promise.race([failed, turn()]);
    expect(stream.destroyed).toBe(true);
  });
});
