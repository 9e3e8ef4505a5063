export { anthropicError, errorResponse, openaiError } from './error-envelope.js';
