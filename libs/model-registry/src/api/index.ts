export { ModelsApiModule } from './models-api.module.js';
