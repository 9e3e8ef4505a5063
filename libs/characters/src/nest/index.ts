export { CharactersModule } from './characters.module.js';
