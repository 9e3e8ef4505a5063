export { parseJsonBody, textProblem } from './json-body.js';
