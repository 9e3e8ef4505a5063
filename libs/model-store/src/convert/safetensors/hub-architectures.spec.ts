import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tinyDecoderConfig, tinyDecoderNames } from '#test/tiny-decoders';
import { tinyVisionConfig, tinyVisionNames } from '#test/tiny-vision-models';
import { findHubArchitecture, hubArchitectures } from './hub-architectures.js';
import { decoderConfig } from './hub-checkpoint.js';
import { HubConfig } from './hub-config.js';
import { readSettings } from './hub-parameters.js';

const page = readFileSync(join(import.meta.dirname, '../../../../../docs/operate/safetensors-models.md'), 'utf8');

function settingsOf(values: Record<string, unknown>) {
  const whole = new HubConfig(values);
  const hub = findHubArchitecture(whole);
  return readSettings(decoderConfig(whole, hub), hub);
}

describe('hubArchitectures', () => {
  it('are the list in docs/operate/safetensors-models.md', () => {
    const lines = [...page.matchAll(/^- `([^`]+)`: (`.+(?:\n {2}.+)*)$/gm)];
    const listed = lines.flatMap(([, computed, classes = '']) =>
      [...classes.matchAll(/\w+/g)].map(([name]) => `${name}: ${computed}`),
    );
    const known = Object.entries(hubArchitectures).map(([name, { architecture }]) => `${name}: ${architecture}`);
    expect(listed.toSorted()).toEqual(known.toSorted());
  });

  it('each have a model with known answers', async () => {
    const decoders = (await tinyDecoderNames()).map(tinyDecoderConfig);
    const configs = await Promise.all([...decoders, ...tinyVisionNames.map(tinyVisionConfig)]);
    const covered = configs.map(({ architectures }) => String([architectures].flat()[0]));
    expect(Object.keys(hubArchitectures).filter((name) => !covered.includes(name))).toEqual([]);
  });

  it.each([
    ['llama', 'rope_type'],
    ['llama-yarn', 'type'],
    ['llama-bias', 'type'],
  ])('read the settings of earlier files: %s', async (name, kind) => {
    const { rope_parameters: rope, ...rest } = await tinyDecoderConfig(name);
    const { rope_theta: base, rope_type: type, ...scaling } = rope as Record<string, unknown>;
    const earlier = { ...rest, rope_theta: base, rope_scaling: { ...scaling, [kind]: type } };
    expect(settingsOf(earlier)).toEqual(settingsOf({ ...rest, rope_parameters: rope }));
  });

  it('read the settings of earlier files where layers differ', async () => {
    const { rope_parameters: rope, layer_types: _, ...rest } = await tinyDecoderConfig('gemma3');
    const scaling = { rope_type: 'linear', factor: 8 };
    const earlier = { ...rest, rope_theta: 1e6, rope_local_base_freq: 1e4, rope_scaling: scaling };
    const { values } = settingsOf({ ...earlier, sliding_window_pattern: 2 });
    const later = settingsOf({ ...rest, rope_parameters: rope }).values;
    expect(values).toEqual(later.set('attention.sliding_window_pattern', 2));
  });

  it('read what later libraries write of attention to latents', async () => {
    const { rope_scaling: scaling, rope_theta: base, ...rest } = await tinyDecoderConfig('deepseek-v3');
    const { type, ...factors } = scaling as Record<string, unknown>;
    const later = { ...rest, rope_parameters: { ...factors, rope_type: type, rope_theta: base } };
    const settings = settingsOf({ ...rest, rope_scaling: scaling, rope_theta: base });
    expect(settings.values.get('rope.scaling.yarn_log_multiplier')).toBe(0.1);
    expect(settingsOf(later)).toEqual(settings);
    const { first_k_dense_replace: _, ...glm } = await tinyDecoderConfig('glm4-moe-lite');
    const listed = settingsOf({ ...glm, mlp_layer_types: ['dense', 'dense', 'sparse'] });
    expect(listed.values.get('leading_dense_block_count')).toBe(2);
  });

  it('read which layers have an indexer, listed, in letters or by their distance', async () => {
    const { indexer_types: _, index_topk_pattern: __, ...config } = await tinyDecoderConfig('glm5.2');
    const key = 'attention.indexer.types';
    const typesOf = (change: object) => settingsOf({ ...config, ...change }).values.get(key);
    expect(typesOf({})).toEqual([true, true, false, true]);
    expect(typesOf({ index_topk_pattern: 'FSSF' })).toEqual([true, false, false, true]);
    expect(typesOf({ index_topk_pattern: ['full', 'shared', 'full', 'full'] })).toEqual([true, false, true, true]);
    const listed = ['full', 'shared', 'shared', 'shared', 'full'];
    expect(typesOf({ indexer_types: listed, index_topk_pattern: 'FFFF' })).toEqual([true, false, false, false]);
    // As published: the first three, and every fourth from there on.
    const published = { index_topk_freq: 4, index_skip_topk_offset: 3, num_hidden_layers: 12 };
    const full = (typesOf(published) as boolean[]).flatMap((isFull, layer) => (isFull ? layer : []));
    expect(full).toEqual([0, 1, 2, 6, 10]);
  });

  it('read LongRoPE by its first name, with the original context outside', async () => {
    const { rope_parameters: rope, ...rest } = await tinyDecoderConfig('phi3');
    const { short_factor: short, long_factor: long } = rope as Record<string, unknown>;
    const scaling = { type: 'su', short_factor: short, long_factor: long };
    const { values, factors } = settingsOf({ ...rest, rope_scaling: scaling, original_max_position_embeddings: 8 });
    expect(values.get('rope.scaling.original_context_length')).toBe(8);
    expect(values.get('rope.scaling.attn_factor')).toBeCloseTo(Math.sqrt(1 + Math.log(32) / Math.log(8)), 12);
    expect([...(factors['rope_factors_long.weight'] ?? [])]).toEqual(long);
    const broken = { ...scaling, long_factor: [1, 2] };
    expect(() => settingsOf({ ...rest, rope_scaling: broken })).toThrow('its long_factor has 2 factors, not 4');
  });

  it('read the letters of EXAONE 4 for windows', async () => {
    const { layer_types: _, ...config } = await tinyDecoderConfig('exaone4-window');
    expect(settingsOf(config).values.get('attention.sliding_window_pattern')).toEqual([true, true, true, false]);
  });

  it('read Ministral 3 by the type of what is inside', async () => {
    const config = await tinyDecoderConfig('ministral3');
    expect(findHubArchitecture(new HubConfig(config)).architecture).toBe('mistral3');
    const { values } = settingsOf(config);
    expect(values.get('attention.temperature_scale')).toBe(0.5);
    const earlier = { ...config, text_config: { ...(config['text_config'] as object), model_type: 'mistral' } };
    expect(findHubArchitecture(new HubConfig(earlier)).architecture).toBe('llama');
    expect(() => settingsOf(earlier)).toThrow('its queries grow with their position');
  });

  it('read what LLaVA leaves out by the class of its decoder', () => {
    const text = { max_position_embeddings: 32_768, num_key_value_heads: 8, sliding_window: null };
    const settings = (type: string, more: object) => {
      const config = {
        architectures: ['LlavaNextForConditionalGeneration'],
        text_config: { model_type: type, ...more },
      };
      const { values } = settingsOf(config);
      const keys = ['embedding_length', 'feed_forward_length', 'attention.head_count_kv', 'context_length'];
      return [...keys, 'attention.sliding_window'].map((key) => values.get(key));
    };
    expect(settings('mistral', text)).toEqual([4096, 14_336, 8, 32_768, undefined]);
    expect(settings('mistral', {})).toEqual([4096, 14_336, 8, 131_072, 4096]);
    expect(settings('llama', {})).toEqual([4096, 11_008, 32, 2048, undefined]);
  });

  it('scale the base by the alpha of Hunyuan, whatever the length of the text', async () => {
    const config = await tinyDecoderConfig('hunyuan');
    const { values } = settingsOf(config);
    expect(values.get('rope.freq_base')).toBeCloseTo(10_000 * 50 ** (8 / 6), 6);
    expect(values.has('rope.scaling.type')).toBe(false);
  });

  it('rotate no layer of a Granite 4 that says so', async () => {
    const config = await tinyDecoderConfig('granite4');
    expect(settingsOf(config).values.has('rope.unrotated_layers')).toBe(false);
    const { values } = settingsOf({ ...config, position_embedding_type: 'nope' });
    expect(values.get('rope.unrotated_layers')).toEqual([true, true]);
  });

  it('read the kinds of layers of Granite 4 by both of their names, and a limit of steps that hides nothing', async () => {
    const config = await tinyDecoderConfig('granite4-h');
    const { layer_types: types } = config;
    const renamed = (types as string[]).map((type) => (type === 'mamba' ? 'linear_attention' : 'full_attention'));
    const later = { ...config, layer_types: renamed, time_step_limit: [0, { __float__: 'Infinity' }] };
    expect(settingsOf(later)).toEqual(settingsOf(config));
    expect(settingsOf(later).values.get('attention.head_count_kv')).toEqual([0, 0, 2, 0]);
  });

  it('have a window only where it is used', () => {
    const sizes = { num_attention_heads: 2, hidden_size: 16, num_hidden_layers: 2, intermediate_size: 8 };
    const base = { ...sizes, max_position_embeddings: 64, architectures: ['Qwen2ForCausalLM'], sliding_window: 32 };
    expect(settingsOf(base).values.has('attention.sliding_window')).toBe(false);
    const { values } = settingsOf({ ...base, use_sliding_window: true, max_window_layers: 1 });
    expect(values.get('attention.sliding_window')).toBe(32);
    expect(values.get('attention.sliding_window_pattern')).toEqual([false, true]);
    const mistral = { ...base, architectures: ['MistralForCausalLM'], sliding_window: null };
    expect(settingsOf(mistral).values.has('attention.sliding_window')).toBe(false);
  });
});
