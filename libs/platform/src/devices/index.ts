export * from './main-memory.js';
export * from './nvidia-driver.js';
export * from './shared-libraries.js';
export * from './node-release.js';
