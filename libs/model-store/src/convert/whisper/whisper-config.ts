import type { WhisperShape } from './whisper-shape.js';

/** `config.json` of a converted Whisper, in the terms of the hubs. */
export function whisperConfig(shape: WhisperShape): Record<string, unknown> {
  const { encoder, decoder } = shape;
  return {
    model_type: 'whisper',
    architectures: ['WhisperForConditionalGeneration'],
    d_model: shape.hiddenSize,
    vocab_size: shape.vocabularySize,
    num_mel_bins: shape.melBins,
    max_source_positions: shape.sourcePositions,
    max_target_positions: shape.targetPositions,
    encoder_layers: encoder.layers,
    encoder_attention_heads: encoder.heads,
    encoder_ffn_dim: encoder.feedForwardSize,
    decoder_layers: decoder.layers,
    decoder_attention_heads: decoder.heads,
    decoder_ffn_dim: decoder.feedForwardSize,
  };
}
