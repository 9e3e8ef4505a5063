export { RerankModule } from './rerank.module.js';
