export { RerankProcessor } from './rerank.processor.js';
