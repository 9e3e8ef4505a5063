import { describe, expect, it } from 'vitest';
import { benchHelp, jsonOption, parseBenchOptions, roundsOption } from './settings.js';

const options = {
  rounds: roundsOption,
  fleets: { value: 'LIST', about: 'numbers of workers', default: '1,2' },
  only: { value: 'CASE', about: 'part of a name', default: '' },
  stream: { about: 'as server-sent events' },
  text: { value: 'FILE', about: 'what is read', isRepeated: true },
  json: jsonOption,
} as const;

describe('the options of a bench', () => {
  it('have their defaults when not given', () => {
    const none = { rounds: 5, fleets: '1,2', only: '', stream: false, text: [], json: null };
    expect(parseBenchOptions(options, [])).toEqual(none);
  });

  it('have the given values, with numbers parsed', () => {
    const line = '--rounds 3 --fleets 4 --only q --stream --text a --text b --json out.json'.split(' ');
    expect(parseBenchOptions(options, line)).toEqual({
      rounds: 3,
      fleets: '4',
      only: 'q',
      stream: true,
      text: ['a', 'b'],
      json: 'out.json',
    });
  });

  it('are rejected when unknown or not a number', () => {
    expect(() => parseBenchOptions(options, ['--rounds', 'many'])).toThrow('--rounds takes a number, not "many"');
    expect(() => parseBenchOptions(options, ['--rounds='])).toThrow('--rounds takes a number');
    expect(() => parseBenchOptions(options, ['--lanes', '3'])).toThrow("Unknown option '--lanes'");
  });

  it('are listed in columns with their defaults', () => {
    expect(parseBenchOptions(options, ['--stream', '--help'])).toBeNull();
    expect(benchHelp('node bench.js [options]\n\nWhat it does.\n', options)).toBe(
      [
        'node bench.js [options]',
        '',
        'What it does.',
        '',
        '  --rounds N      measured rounds, default 5',
        '  --fleets LIST   numbers of workers, default 1,2',
        '  --only CASE     part of a name',
        '  --stream        as server-sent events',
        '  --text FILE     what is read',
        '  --json PATH     also write the report there',
        '',
      ].join('\n'),
    );
  });
});
