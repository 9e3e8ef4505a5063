export { type WeightFormat, weightFormats } from '../convert/weight-formats.js';
export { assertImported, importPath } from './import-path.js';
export { isSourceUri, type ModelReference, parseReference, unknownSource } from './reference.js';
