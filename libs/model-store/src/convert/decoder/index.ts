export { emitConcatDecoder, emitGroupQueryDecoder } from './concat-decoder.js';
export type { DecoderOptions } from './decoder-body.js';
export { weightNames, type DecoderShape, type LayerPart } from './decoder-shape.js';
export { emitExperts, type ExpertBody } from './expert-layers.js';
export { embeddingContent, emitLinear, type LinearFormat, vectorContent } from './linear-layer.js';
export { emitSplitDecoder } from './split-decoder.js';
export type { WeightSource } from './weight-source.js';
