import { describe, expect, it } from 'vitest';
import { commandHelp, parseCommandLine } from '#command-line';

const options = {
  rounds: { value: 'N', about: 'measured rounds', default: 5 },
  fleets: { value: 'LIST', about: 'numbers of workers', default: '1,2' },
  only: { value: 'CASE', about: 'part of a name', default: '' },
  seed: { value: 'N', about: 'first seed', isNumber: true },
  stream: { about: 'as server-sent events' },
  text: { value: 'FILE', about: 'what is read', isRepeated: true },
  format: { value: 'NAME', about: 'what is written', isRepeated: true, default: ['png', 'wav'] },
  json: { value: 'PATH', about: 'also write the report there' },
} as const;

const read = (args: string[]): unknown => parseCommandLine(options, args)?.values;

describe('the options of a command line', () => {
  it('have their defaults when not given', () => {
    expect(read([])).toEqual({
      rounds: 5,
      fleets: '1,2',
      only: '',
      seed: null,
      stream: false,
      text: [],
      format: ['png', 'wav'],
      json: null,
    });
  });

  it('have the given values, with numbers parsed', () => {
    const line = '--rounds 3 --fleets 4 --only q --seed 7 --stream --text a --text b --format gif --json out.json';
    expect(read(line.split(' '))).toEqual({
      rounds: 3,
      fleets: '4',
      only: 'q',
      seed: 7,
      stream: true,
      text: ['a', 'b'],
      format: ['gif'],
      json: 'out.json',
    });
  });

  it('are rejected when unknown or not a number', () => {
    expect(() => read(['--rounds', 'many'])).toThrow(/^--rounds takes a number, not "many"\.$/);
    expect(() => read(['--rounds='])).toThrow('--rounds takes a number');
    expect(() => read(['--seed', 'x'])).toThrow('--seed takes a number');
    expect(() => read(['--lanes', '3'])).toThrow(/^Unknown option '--lanes'\.$/);
    expect(() => read(['--json'])).toThrow(/^Option '--json <value>' argument missing\.$/);
    expect(() => read(['word'])).toThrow(/^Unexpected argument 'word'\.$/);
  });

  it('stand beside words, which may have to be known ones', () => {
    const known = ['models', 'faults'];
    expect(parseCommandLine(options, ['models', '--stream', 'x'], {})).toMatchObject({ words: ['models', 'x'] });
    expect(parseCommandLine(options, ['faults'], { known })).toMatchObject({ words: ['faults'] });
    expect(() => parseCommandLine(options, ['fault'], { name: 'step', known })).toThrow(
      /^Unknown step fault; expected models, faults\.$/,
    );
  });

  it('are listed in columns with their defaults', () => {
    expect(parseCommandLine(options, ['--stream', '--help'])).toBeNull();
    expect(commandHelp('node bench.js [options]\n\nWhat it does.\n', options)).toBe(
      [
        'node bench.js [options]',
        '',
        'What it does.',
        '',
        '  --rounds N      measured rounds, default 5',
        '  --fleets LIST   numbers of workers, default 1,2',
        '  --only CASE     part of a name',
        '  --seed N        first seed',
        '  --stream        as server-sent events',
        '  --text FILE     what is read',
        '  --format NAME   what is written, default png, wav',
        '  --json PATH     also write the report there',
        '  --help          prints this',
        '',
      ].join('\n'),
    );
  });
});
