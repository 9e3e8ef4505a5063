import { describe, expect, it } from 'vitest';
import { type SpanRules, speechSpans } from './speech-spans.js';

const frame = 100;
const rules: SpanRules = {
  threshold: 0.5,
  endThreshold: 0.3,
  shortestSilence: 300,
  shortestSpeech: 200,
  padding: 50,
};

/** `s` is speech, `-` uncertain, `.` silence; one frame each. */
function spansOf(pattern: string, changed: Partial<SpanRules> = {}) {
  const probabilities = Float32Array.from(pattern, (letter) => ({ s: 0.9, '-': 0.4, '.': 0.1 })[letter] ?? 0);
  const samples = pattern.length * frame;
  return speechSpans(probabilities, { frameSamples: frame, samples, rules: { ...rules, ...changed } }).map(
    ({ start, end }) => [start, end],
  );
}

describe('detected speech', () => {
  it('is widened on both sides, within the recording', () => {
    expect(spansOf('....ssss....')).toEqual([[350, 850]]);
    expect(spansOf('ssss')).toEqual([[0, 400]]);
  });

  it('continues over short silence and uncertain frames', () => {
    expect(spansOf('sss..sss....')).toEqual([[0, 850]]);
    expect(spansOf('sss-----sss.....')).toEqual([[0, 1_150]]);
    expect(spansOf('sss---...sss....')).toEqual([
      [0, 650],
      [850, 1_250],
    ]);
  });

  it('excludes clicks, unless the whole recording is as short', () => {
    expect(spansOf('....s.......')).toEqual([]);
    expect(spansOf('s')).toEqual([[0, 100]]);
  });

  it('is joined when widened spans touch', () => {
    expect(spansOf('sss...sss', { padding: 150 })).toEqual([[0, 900]]);
  });

  it('is empty for silence and for no audio', () => {
    expect(spansOf('......')).toEqual([]);
    expect(spansOf('')).toEqual([]);
  });
});
