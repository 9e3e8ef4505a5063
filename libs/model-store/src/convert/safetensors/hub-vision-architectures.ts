import { plain, wholeContext } from './layer-modules.js';

/* Classes of models that see, whose decoders are those of other classes, as `HubArchitecture` describes them. */

const inner = { layer: plain, inner: 'text_config' } as const;

/** Defaults of both classes of decoders, which published files leave out. */
const commonDefaults = { hidden_size: 4096, num_hidden_layers: 32, num_attention_heads: 32 };

/** LLaVA 1.5 and 1.6, whose decoder is of one of several classes. */
export const llava = {
  ...inner,
  architecture: 'llama',
  defaults: {
    ...commonDefaults,
    intermediate_size: 11_008,
    max_position_embeddings: 2048,
    tie_word_embeddings: false,
  },
  byInnerType: {
    mistral: {
      ...inner,
      architecture: 'llama',
      defaults: {
        ...commonDefaults,
        intermediate_size: 14_336,
        num_key_value_heads: 8,
        max_position_embeddings: 131_072,
        sliding_window: 4096,
      },
    },
    qwen2: { ...inner, architecture: 'qwen2', defaults: wholeContext },
  },
};

/** Idefics3 and SmolVLM, whose decoder is a Llama. */
export const idefics3 = { ...inner, architecture: 'llama' };

/** Qwen2-VL and Qwen2.5-VL. Published files have the settings of the decoder beside the others. */
export const qwen2vl = {
  ...inner,
  architecture: 'qwen2vl',
  mayBeFlat: true as const,
  defaults: { ...wholeContext, rms_norm_eps: 1e-5, rope_theta: 1e6 },
};
