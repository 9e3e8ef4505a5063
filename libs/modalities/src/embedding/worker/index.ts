export { EmbeddingProcessor } from './embedding.processor.js';
