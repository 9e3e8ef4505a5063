import { describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { familyHostMemory, familyMemory, familyPeakBytes, type FamilySize } from './family-memory.js';

const unknown: FamilySize = { family: 'new', weightsBytes: 1e8, tokenizerBytes: 1e6, config: {}, maxTokens: 0 };

/** config.json of the tiny Whisper. */
const whisper = {
  d_model: 384,
  decoder_layers: 4,
  encoder_attention_heads: 6,
  max_source_positions: 1_500,
  vocab_size: 51_865,
};
const encoder = { hidden_size: 384, intermediate_size: 1_536, num_attention_heads: 12 };

describe('the memory of a model that is no converted text model', () => {
  it('is that of the process, its tokenizer and its weights', () => {
    expect(familyMemory(unknown)).toEqual({ process: 128 * mebibyte + 20e6, weights: 1e8, work: 0 });
    expect(familyPeakBytes(unknown)).toBe(128 * mebibyte + 20e6 + 1e8);
  });

  it('holds the work of a network that is the same in every model', () => {
    expect(familyMemory({ ...unknown, family: 'u2net' }).work).toBe(245 * mebibyte);
  });

  it('holds a window of speech: scores, keys and values twice, and the table of tokens', () => {
    const scores = 2 * 6 * 1_500 ** 2;
    const keys = 2 * (2 * 4 * 1_500 * 384);
    const { work } = familyMemory({ ...unknown, family: 'whisper', config: whisper });
    expect(work).toBe((scores + keys + 51_865 * 384) * 4 * 1.2);
  });

  it('holds the caches of a text model whose graph returns a longer one at every step', () => {
    const config = { num_hidden_layers: 8, num_attention_heads: 8, num_key_value_heads: 2, hidden_size: 512 };
    const { work } = familyMemory({ ...unknown, family: 'decoder', config, maxTokens: 4_400 });
    expect(work).toBe(3 * 4_400 * 2 * 8 * 2 * 64 * 4);
  });

  it('holds a batch of texts, and one text that is longer', () => {
    const workOf = (maxTokens: number) =>
      familyMemory({ ...unknown, family: 'text-embedding', config: encoder, maxTokens }).work;
    expect(workOf(256)).toBe((512 * (4 * 384 + 2 * 1_536) + 2 * 12 * 512 * 256) * 4 * 1.2);
    expect(workOf(8_192)).toBe((8_192 * (4 * 384 + 2 * 1_536) + 2 * 12 * 8_192 ** 2) * 4 * 1.2);
  });

  it('holds the biases of positions of one text', () => {
    const config = { ...encoder, position_embedding_type: 'alibi' };
    const workOf = (maxTokens: number) =>
      familyMemory({ ...unknown, family: 'text-embedding', config, maxTokens }).work;
    expect(workOf(256)).toBe((512 * (4 * 384 + 2 * 1_536) + 2 * 12 * 512 * 256 + 12 * 256 ** 2) * 4 * 1.2);
    expect(workOf(8_192)).toBe((8_192 * (4 * 384 + 2 * 1_536) + 3 * 12 * 8_192 ** 2) * 4 * 1.2);
  });

  it('knows the sizes under the names of Nomic', () => {
    const size = { ...unknown, family: 'text-embedding', maxTokens: 2_048 };
    const named = { n_embd: 384, n_inner: 1_536, n_head: 12 };
    expect(familyMemory({ ...size, config: named })).toEqual(familyMemory({ ...size, config: encoder }));
  });

  it('needs a batch of ordinary texts, not the longest text that the encoder takes', () => {
    const size = { ...unknown, family: 'cross-encoder', config: encoder, maxTokens: 8_192 };
    const { leastBytes, fullBytes } = familyHostMemory(size, 8_192);
    expect(leastBytes).toBe(familyPeakBytes({ ...size, maxTokens: 512 }));
    expect(fullBytes).toBe(familyPeakBytes(size));
  });

  it('needs one request of the whole context for a text model', () => {
    const config = { num_hidden_layers: 8, num_attention_heads: 8, hidden_size: 512 };
    const size = { ...unknown, family: 'decoder', config, maxTokens: 8 * 4_096 };
    const { leastBytes, fullBytes } = familyHostMemory(size, 4_096);
    const cacheOf = (bytes: number) => bytes - familyPeakBytes({ ...size, maxTokens: 0 });
    expect(cacheOf(fullBytes)).toBe(8 * cacheOf(leastBytes));
  });

  it('is a number whatever the config holds', () => {
    const config = { hidden_size: [384], dim: 384, intermediate_size: '1536', num_attention_heads: NaN, n_heads: 12 };
    const size = { ...unknown, family: 'text-embedding', maxTokens: 256 };
    expect(familyMemory({ ...size, config })).toEqual(familyMemory({ ...size, config: encoder }));
  });
});
