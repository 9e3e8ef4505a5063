export { type DecoderPurpose, decoderPurposes } from '../convert/decoder/decoder-purpose.js';
export { type SentencePooling, sentencePoolings } from '../convert/sentence/sentence-pooling.js';
export { type WeightFormat, weightFormats } from '../convert/weight-formats.js';
export { assertImported, importPath } from './import-path.js';
export { isManifestPath, isSourceUri, type ModelReference, parseReference, unknownSource } from './reference.js';
