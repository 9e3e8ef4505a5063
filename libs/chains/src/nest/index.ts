export { ChainsModule } from './chains.module.js';
