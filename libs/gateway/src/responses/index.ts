export { type ResponseAsker, ResponseStore } from './response-store.js';
