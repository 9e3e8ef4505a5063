export { ModelRegistryModule } from './model-registry.module.js';
