export { EmbeddingController } from './embedding.controller.js';
