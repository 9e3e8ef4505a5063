import { describe, expect, it } from 'vitest';
import { withPause } from './pauses.js';

const sampleRate = 1_000;

function audio(silence: number, length: number): Float32Array {
  const samples = new Float32Array(silence + length + silence);
  return samples.fill(0.5, silence, silence + length);
}

describe('withPause', () => {
  it("replaces the model's silence with the pause that fits what follows", () => {
    const said = withPause(audio(500, 100), { sampleRate, before: 'sentence', speed: 1 });
    expect(said.length).toBe(80 + 100 + 80 + 320);
    expect(said[79]).toBe(0);
    expect(said[80]).toBe(0.5);
  });

  it('pauses longer after a paragraph, and shorter at a fast pace', () => {
    const length = (before: 'clause' | 'sentence' | 'paragraph', speed: number) =>
      withPause(audio(0, 100), { sampleRate, before, speed }).length;
    expect(length('clause', 1)).toBeLessThan(length('sentence', 1));
    expect(length('sentence', 1)).toBeLessThan(length('paragraph', 1));
    expect(length('sentence', 2)).toBe(100 + 160);
  });

  it('adds nothing to silence', () => {
    expect(withPause(new Float32Array(1_000), { sampleRate, before: 'end', speed: 1 }).length).toBe(0);
  });
});
