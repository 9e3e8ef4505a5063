export { ModelsController } from './models.controller.js';
