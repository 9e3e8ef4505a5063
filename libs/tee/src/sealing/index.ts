export { publicKeyBytes, readPublicKey } from './public-key.js';
export { FieldOpener, sealText, type SharedSecret } from './seal-text.js';
export { contentBytes, fieldsOf, isSealedContent, openContent, type OpenedContent } from './sealed-content.js';
export { isSealedField } from './sealed-field.js';
export { SealingError, type SealingProblem, sealingProblems } from './sealing-error.js';
