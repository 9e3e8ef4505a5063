export { EmbeddedTextClassifier } from './embedded-text-classifier.js';
export { EmbeddingModule } from './embedding.module.js';
export { InputTextEmbedder } from './input-text-embedder.js';
