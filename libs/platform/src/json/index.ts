export { checkJson, parseJsonBody, textProblem } from './json-body.js';
export { JsonParser } from './json-parser.js';
export { jsonLimits } from './json-size.js';
export { isExactJson } from './json-source.js';
