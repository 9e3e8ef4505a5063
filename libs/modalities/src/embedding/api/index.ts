export { EmbeddingModule } from './embedding.module.js';
