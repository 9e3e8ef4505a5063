import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createProgressReporter, formatBytes, formatSeconds } from './progress-reporter.js';

function recorder(isTTY: boolean) {
  const texts: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      texts.push(chunk.toString());
      done();
    },
  });
  Object.assign(stream, { isTTY, columns: 160, rows: 20, cursorTo: () => true, clearLine: () => true });
  return { texts, stream: stream as unknown as NodeJS.WriteStream };
}

const progress = (done: number, total: number | null = 1_000) =>
  ({ modelId: 'story', file: 'model.onnx', stage: 'download', done, total }) as const;

describe('progress without a terminal', () => {
  it('writes a line every ten percent, with amount, rate and time left', () => {
    const { texts, stream } = recorder(false);
    let nowMs = 0;
    const reporter = createProgressReporter({ stream, now: () => nowMs });
    for (let done = 0; done <= 1_000; done += 10) {
      reporter.update(progress(done));
      nowMs += 250;
    }
    expect(texts).toHaveLength(11);
    expect(texts[0]).toBe('story: downloading model.onnx 0% 0 B of 1.0 kB\n');
    expect(texts[5]).toBe('story: downloading model.onnx 50% 500 B of 1.0 kB 40 B/s, 13 s left\n');
    expect(texts.at(-1)).toBe('story: downloading model.onnx 100% 1.0 kB of 1.0 kB 40 B/s\n');
  });

  it('shows speed and time left of a conversion that continues by what it does itself', () => {
    const { texts, stream } = recorder(false);
    let nowMs = 0;
    const reporter = createProgressReporter({ stream, now: () => nowMs });
    const conversion = { modelId: 'story', file: 'gguf', stage: 'convert', total: 80e9 } as const;
    for (const done of [60e9, 61e9, 62e9]) {
      reporter.update({ ...conversion, done });
      nowMs += 5_000;
    }
    expect(texts.at(-1)).toBe('story: converting gguf 77% 62.0 GB of 80.0 GB 200.0 MB/s, 1 m 30 s left\n');
  });

  it('writes at most one line in two seconds, and none for a file that was verified immediately', () => {
    const { texts, stream } = recorder(false);
    let nowMs = 0;
    const reporter = createProgressReporter({ stream, now: () => nowMs });
    for (let done = 0; done <= 1_000; done += 10) {
      reporter.update(progress(done));
      reporter.update({ ...progress(done), stage: 'verify' });
      nowMs += 10;
    }
    expect(texts.map((text) => /\w+ing .*%/.exec(text)?.[0])).toEqual([
      'downloading model.onnx 0%',
      'downloading model.onnx 100%',
    ]);
  });

  it('writes a line every five seconds when progress is slow', () => {
    const { texts, stream } = recorder(false);
    let nowMs = 0;
    const reporter = createProgressReporter({ stream, now: () => nowMs });
    for (let done = 0; done < 20; done++) {
      reporter.update(progress(done));
      nowMs += 1_000;
    }
    expect(texts.map((text) => /\d+%/.exec(text)?.[0])).toEqual(['0%', '0%', '1%', '1%']);
  });

  it('counts bytes if the total is unknown', () => {
    const { texts, stream } = recorder(false);
    createProgressReporter({ stream, now: () => 0 }).update(progress(2_500_000, null));
    expect(texts[0]).toContain('2.5 MB');
  });

  it('reports the end once', () => {
    const { texts, stream } = recorder(false);
    const reporter = createProgressReporter({ stream, now: () => 0 });
    reporter.update(progress(1_000));
    reporter.update(progress(1_000));
    expect(texts).toHaveLength(1);
  });
});

describe('progress in a log that is kept', () => {
  function kept() {
    const { texts, stream } = recorder(false);
    const clock = { nowMs: 0 };
    const reporter = createProgressReporter({ stream, lines: 'sparse', now: () => clock.nowMs });
    return { texts, clock, reporter };
  }

  it('has a few lines of a conversion that takes minutes', () => {
    const { texts, clock, reporter } = kept();
    for (let done = 0; done <= 1_000; done += 10) {
      reporter.update({ ...progress(done), stage: 'convert', file: 'gguf' });
      clock.nowMs += 2_000;
    }
    reporter.note('story: installed in 3 m 22 s');
    expect(texts).toEqual([
      'story: converting gguf 5% 50 B of 1.0 kB 5 B/s, 3 m 10 s left\n',
      'story: converting gguf 30% 300 B of 1.0 kB 5 B/s, 2 m 20 s left\n',
      'story: converting gguf 55% 550 B of 1.0 kB 5 B/s, 1 m 30 s left\n',
      'story: converting gguf 80% 800 B of 1.0 kB 5 B/s, 40 s left\n',
      'story: converting gguf 100% 1.0 kB of 1.0 kB 5 B/s\n',
      'story: installed in 3 m 22 s\n',
    ]);
  });

  it('has no more lines however slow the connection is', () => {
    const { texts, clock, reporter } = kept();
    for (let done = 0; done <= 1_000; done += 1) {
      reporter.update(progress(done));
      clock.nowMs += 60_000;
    }
    expect(texts.length).toBeLessThanOrEqual(6);
  });

  it('has no line of files that take a few seconds', () => {
    const { texts, clock, reporter } = kept();
    for (const file of ['a', 'b', 'c']) {
      for (const done of [0, 500, 1_000]) {
        reporter.update({ ...progress(done), file });
        clock.nowMs += 3_000;
      }
    }
    expect(texts).toEqual([]);
  });
});

describe('progress on a terminal', () => {
  it('draws a bar with bytes, and turns it into a line when it is full', () => {
    const { texts, stream } = recorder(true);
    let nowMs = 0;
    const reporter = createProgressReporter({ stream, now: () => nowMs });
    reporter.update(progress(500));
    reporter.note('another: waiting');
    expect(texts.join('')).toMatch(/story: downloading model\.onnx .*50% 500 B of 1\.0 kB/);
    nowMs = 4_000;
    reporter.update(progress(1_000));
    reporter.update(progress(1_000));
    reporter.close();
    const shown = texts.join('');
    expect(shown).toContain('another: waiting');
    expect(shown.split('story: downloading model.onnx: 1.0 kB in 4 s')).toHaveLength(2);
  });

  it('writes notes directly while no bar is shown', () => {
    const { texts, stream } = recorder(true);
    const reporter = createProgressReporter({ stream });
    reporter.note('story: installed');
    reporter.close();
    expect(texts).toEqual(['story: installed\n']);
  });
});

describe('human-readable amounts', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [61_248_745, '61.2 MB'],
    [5e15, '5000.0 TB'],
  ])('formats %d bytes', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [0.2, '0 s'],
    [59, '59 s'],
    [61, '1 m 01 s'],
    [3_720, '1 h 02 m'],
  ])('formats %d seconds', (seconds, text) => expect(formatSeconds(seconds)).toBe(text));
});
