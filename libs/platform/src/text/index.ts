export { trimEndOf, trimOf } from './trim-characters.js';
