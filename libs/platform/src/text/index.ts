export { acceptedQuality } from './accept.js';
export { csvText, type CsvValue } from './csv.js';
export { trimEndOf, trimOf } from './trim-characters.js';
