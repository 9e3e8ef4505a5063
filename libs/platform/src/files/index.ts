export * from './temporary-folder.js';
