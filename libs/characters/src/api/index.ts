export { CharactersApiModule } from './characters-api.module.js';
