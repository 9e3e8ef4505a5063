export * from './home-paths.js';
