import { describe, expect, it } from 'vitest';
import { generationConfigOf, mergeSampling } from './generation-config.js';

describe('generationConfigOf', () => {
  it('takes the defaults of the model', () => {
    const file = { do_sample: true, temperature: 0.7, top_p: 0.8, top_k: 20, repetition_penalty: 1.05 };
    expect(generationConfigOf(file, {}, null).sampling).toEqual({
      temperature: 0.7,
      topP: 0.8,
      topK: 20,
      minP: 0,
      repetitionPenalty: 1.05,
    });
  });

  it('is neutral if the model sets nothing, and greedy if the model says so', () => {
    expect(generationConfigOf({}, {}, null).sampling).toMatchObject({ temperature: 1, topP: 1, topK: 0 });
    expect(generationConfigOf({ do_sample: false, temperature: 0.6 }, {}, null).sampling.temperature).toBe(0);
  });

  it('ends at every EOS of every file, written as a number or as a list', () => {
    const { eosTokenIds } = generationConfigOf({ eos_token_id: [5, 6] }, { eos_token_id: 7 }, 8);
    expect([...eosTokenIds].sort((left, right) => left - right)).toEqual([5, 6, 7, 8]);
  });
});

describe('mergeSampling', () => {
  it('prefers the request, also for zero', () => {
    expect(mergeSampling({ temperature: 1, topP: 0.9 }, { temperature: 0, topP: undefined })).toEqual({
      temperature: 0,
      topP: 0.9,
    });
  });
});
