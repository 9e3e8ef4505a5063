import { Tokenizer } from '@huggingface/tokenizers';
import { describe, expect, it } from 'vitest';
import { GgufMetadata } from './gguf-metadata.js';
import { readGgufTokenizer } from './gguf-tokenizer.js';
import type { GgufValue } from './gguf-types.js';

function read(entries: Record<string, GgufValue>) {
  return readGgufTokenizer(new GgufMetadata('tiny.gguf', new Map(Object.entries(entries))), 100);
}

const control = ['<unk>', '<s>', '</s>', '<|end|>', '<|assistant|>'];
const pieces: Record<string, GgufValue> = {
  'tokenizer.ggml.model': 'llama',
  'tokenizer.ggml.tokens': [...control, '▁', 'a', '▁▁'],
  'tokenizer.ggml.scores': [0, 0, 0, 0, 0, -1, -2, 0],
  'tokenizer.ggml.token_type': [2, 3, 3, 3, 3, 1, 1, 4],
};
const bytes: Record<string, GgufValue> = {
  'tokenizer.ggml.model': 'gpt2',
  'tokenizer.ggml.pre': 'qwen2',
  'tokenizer.ggml.tokens': ['a', 'b', 'ab', '<|end|>', '<|return|>', '<|eot|>'],
  'tokenizer.ggml.token_type': [1, 1, 1, 3, 3, 3],
  'tokenizer.ggml.merges': ['a b'],
};

describe('readGgufTokenizer', () => {
  it('gives vocabularies of pieces the ids that they have where the file names none', () => {
    const { bosTokenId, eosTokenIds, tokenizerConfig } = read(pieces);
    expect({ bosTokenId, eosTokenIds }).toEqual({ bosTokenId: 1, eosTokenIds: [2, 3] });
    expect(tokenizerConfig).toMatchObject({ unk_token: '<unk>', add_bos_token: true });
  });

  it('finds runs of spaces that the file defines as tokens', () => {
    const { tokenizerJson } = read({ ...pieces, 'tokenizer.ggml.add_space_prefix': false });
    expect(new Tokenizer(tokenizerJson, {}).encode('a  a a', { add_special_tokens: false }).ids).toEqual([
      6, 7, 6, 5, 6,
    ]);
  });

  it('merges pieces by a list as Gemma 4 does, behind the token that begins every text', () => {
    const { 'tokenizer.ggml.scores': _, ...entries } = pieces;
    const read4 = (more: Record<string, GgufValue>) =>
      read({ ...entries, 'tokenizer.ggml.model': 'gemma4', 'tokenizer.ggml.bos_token_id': 1, ...more });
    const tokens = [...(pieces['tokenizer.ggml.tokens'] as string[]), '▁a', 'a▁', '<turn|>'];
    const types = [...(pieces['tokenizer.ggml.token_type'] as number[]), 1, 1, 3];
    const found = read4({
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': types,
      'tokenizer.ggml.merges': ['a ▁', '▁ a'],
      'tokenizer.ggml.add_bos_token': false,
    });
    expect(new Tokenizer(found.tokenizerJson, {}).encode('a a').ids).toEqual([1, 9, 6]);
    expect(found).toMatchObject({ bosTokenId: 1, eosTokenIds: [2, 3, 10], tokenizerConfig: { add_bos_token: true } });
    expect(() => read4({ 'tokenizer.ggml.merges': ['▁ b'] })).toThrow('its merge 0 joins no two tokens to a third');
  });

  it('drops the spaces behind the control tokens of Phi 3 only', () => {
    const ids = (architecture: string) => {
      const { tokenizerJson } = read({ ...pieces, 'general.architecture': architecture });
      return new Tokenizer(tokenizerJson, {}).encode('<|end|> a', { add_special_tokens: false }).ids;
    };
    expect(ids('phi3')).toEqual([3, 5, 6]);
    expect(ids('llama')).toEqual([3, 5, 5, 6]);
  });

  it('ends a response where the file and common formats say, but not where only a part of it ends', () => {
    expect(read({ ...bytes, 'tokenizer.ggml.eot_token_id': 5 }).eosTokenIds).toEqual([5, 4]);
    const tokens = (bytes['tokenizer.ggml.tokens'] as string[]).filter((token) => token !== '<|return|>');
    const whole = { ...bytes, 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.token_type': [1, 1, 1, 3, 3] };
    expect(read(whole).eosTokenIds).toEqual([3]);
  });

  it('keeps all templates of a file by their names', () => {
    const entries = {
      ...bytes,
      'tokenizer.chat_template': 'one',
      'tokenizer.chat_templates': ['default', 'tool_use'],
      'tokenizer.chat_template.tool_use': 'two',
    };
    expect(read(entries).tokenizerConfig['chat_template']).toEqual([
      { name: 'default', template: 'one' },
      { name: 'tool_use', template: 'two' },
    ]);
    expect(read({ ...bytes, 'tokenizer.chat_template': 'one' }).tokenizerConfig['chat_template']).toBe('one');
  });

  it.each([
    [
      'an unknown word rule',
      { 'tokenizer.ggml.pre': 'novel' },
      'splits words by the unknown novel; known are default,',
    ],
    ['a merge of unknown tokens', { 'tokenizer.ggml.merges': ['a b', 'a c'] }, 'its merge 1 joins no two tokens'],
    ['a merge of one part', { 'tokenizer.ggml.merges': ['ab'] }, 'its merge 0 joins no two tokens'],
    ['types of other tokens', { 'tokenizer.ggml.token_type': [1] }, 'token_type` has 1 entries for 6 tokens'],
    ['another kind', { 'tokenizer.ggml.model': 'rwkv' }, 'its tokenizer rwkv is not known; llama, gemma4 and gpt2 are'],
  ])('refuses %s', (_, changed: Record<string, GgufValue>, message) => {
    expect(() => read({ ...bytes, ...changed })).toThrow(message);
  });
});
