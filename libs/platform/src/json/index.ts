export { inexactIntegers } from './exact-integers.js';
export { parseJsonBody, textProblem } from './json-body.js';
export { JsonParser } from './json-parser.js';
export { jsonLimits } from './json-size.js';
