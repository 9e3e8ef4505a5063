import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createProgressReporter } from './progress-reporter.js';
import type { PullProgress } from './progress.js';

const escape = '\u001B';

/** A terminal that wraps lines and knows the controls of `LiveLines`; it rejects every other one. */
class Terminal extends Writable {
  readonly isTTY = true;
  readonly rows = 24;
  private readonly lines = [''];
  private row = 0;
  private column = 0;

  constructor(readonly columns: number) {
    super();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    for (const [, control, text = ''] of chunk
      .toString()
      .replaceAll(escape, '^')
      .matchAll(/(\^\[\d*[A-Z]|[\r\n])|([^^\r\n]+)/g)) {
      if (control === undefined) for (const character of text) this.put(character);
      else this.obey(control);
    }
    done();
  }

  /** What a person sees and can scroll to. */
  get screen(): string[] {
    return this.lines.filter((line) => line !== '');
  }

  /** Whether the next program begins on a line of its own. */
  get isAtStart(): boolean {
    return this.column === 0 && this.lines[this.row] === '';
  }

  private put(character: string): void {
    if (this.column === this.columns) this.obey('\n');
    const line = (this.lines[this.row] ?? '').padEnd(this.column);
    this.lines[this.row] = line.slice(0, this.column) + character + line.slice(this.column + 1);
    this.column += 1;
  }

  private obey(control: string): void {
    const [, rows] = /^\^\[(\d+)A$/.exec(control) ?? [];
    if (control === '\n') this.row += 1;
    else if (rows !== undefined) this.row -= Number(rows);
    else if (control === '^[J') this.lines.length = this.row;
    else if (control !== '\r') throw new Error(`unknown control ${JSON.stringify(control)}`);
    if (control === '\n' || control === '\r') this.column = 0;
    while (this.lines.length <= this.row) this.lines.push('');
  }
}

const name = 'qwen2.5-coder-0.5b-instruct';
const downloads: PullProgress[] = [
  { modelId: name, file: 'onnx/a-folder/model_q4f16.onnx_data', stage: 'download', done: 72e6, total: 400e6 },
  { modelId: 'stories-15m', file: 'model.onnx', stage: 'download', done: 0, total: 61e6 },
];
const failure =
  'kokoro: The npm registry did not answer for kokoro@1.0.0: connect ECONNREFUSED. Check the network, or name a registry ' +
  'that can be reached (npm config set registry …).';

function pull(columns: number) {
  const terminal = new Terminal(columns);
  const reporter = createProgressReporter({ stream: terminal as unknown as NodeJS.WriteStream, now: () => 0 });
  reporter.coming?.([
    { modelId: 'kokoro-82m', bytes: 92e6 },
    { modelId: 'stable-diffusion-turbo', bytes: 1.2e9 },
    { modelId: 'musicgen-small' },
  ]);
  for (const progress of downloads) reporter.update(progress);
  return { terminal, reporter };
}

describe('a pull in a terminal', () => {
  it.each([
    [200, /model_q4f16\.onnx_data [█░]{24} {2}18% 72\.0 MB of 400\.0 MB – – left$/, /, musicgen-small \(1\.3 GB\)$/],
    [
      80,
      /^qwen2\.5-coder-0\.5b-instruct: downloading .*18% 72\.0 MB of 400\.0 MB – – left$/,
      /^Then: kokoro-82m, .*GB\)$/,
    ],
    [50, /^qwen2\.5-coder-0\.5b-instruct {2}18% – left$/, /^Then: kokoro-82m and 2 more \(1\.3 GB\)$/],
    [20, /^qwen2\.5-coder-0\.5b…$/, /^Then: kokoro-82m a…$/],
  ])('shows each file, and what comes then, in %i columns', (columns, bar, then) => {
    const { terminal, reporter } = pull(columns);
    reporter.note('a note');
    const [note, ...lines] = terminal.screen;
    expect(note).toBe('a note');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(bar);
    expect(lines[2]).toMatch(then);
  });

  it.each([200, 80, 50])('keeps every word of a failure above the bars, in %i columns', (columns) => {
    const { terminal, reporter } = pull(columns);
    reporter.note(failure);
    for (const progress of downloads) reporter.update(progress);
    reporter.note('a log line');
    expect(terminal.screen.slice(0, -4).join('')).toBe(failure);
    expect(terminal.screen.at(-4)).toBe('a log line');
  });

  it('leaves its notes alone, and the cursor below them', () => {
    const { terminal, reporter } = pull(80);
    expect(terminal.isAtStart).toBe(true);
    reporter.note('stories-15m: installed in 4 s');
    reporter.close();
    expect(terminal.screen).toEqual(['stories-15m: installed in 4 s']);
    expect(terminal.isAtStart).toBe(true);
  });

  it('shows no more lines than there are rows', () => {
    const { terminal, reporter } = pull(80);
    for (let file = 0; file < 40; file++) {
      reporter.update({ modelId: name, file: `${file}`, stage: 'verify', done: 1, total: 9 });
    }
    reporter.note('a note');
    expect(terminal.screen).toHaveLength(1 + terminal.rows - 1);
  });
});
