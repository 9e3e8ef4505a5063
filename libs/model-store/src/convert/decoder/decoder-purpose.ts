/** Models that a decoder is converted to: one that writes text, returns a vector of a text, or scores two texts. */
export const decoderPurposes = ['text', 'embedding', 'rerank'] as const;
export type DecoderPurpose = (typeof decoderPurposes)[number];

/** The layer of a reranker that gives its score, in GGUF files. */
export const scoreTensor = 'cls.output.weight';

/** Tensors of files that a model without text does not need, and those that are read behind its layers. */
export const tensorsBehindLayers = /^(?:output|cls\.output|dense_[23])\.(?:weight|bias)$/;
