export { addAdapters } from './adapted-graph.js';
