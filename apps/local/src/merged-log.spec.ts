import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { MergedLog } from './merged-log.js';

/** A stream whose writes fail with these codes, then succeed. */
function failingStream(...codes: string[]) {
  const written: string[] = [];
  const stream = new Writable({
    autoDestroy: false,
    write(chunk: Buffer, _, done) {
      written.push(chunk.toString());
      const code = codes.shift();
      done(code === undefined ? null : Object.assign(new Error(`write ${code}`), { code }));
    },
  });
  return { written, log: new MergedLog(stream as unknown as NodeJS.WriteStream) };
}

const nextTurn = () => new Promise(setImmediate);

it('writes nothing more once its reader has ended, and goes on', async () => {
  const { written, log } = failingStream('EPIPE');
  log.print('first');
  await nextTurn();
  log.print('second');
  log.child('api', 'third');
  log.progress().update({ modelId: 'story', file: 'model.onnx', stage: 'download', done: 1, total: 1 });
  await nextTurn();
  expect(written).toEqual(['first\n']);
});
