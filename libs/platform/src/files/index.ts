export { isDiskFull } from './disk-full.js';
export * from './temporary-folder.js';
export { isMissingFile, readIfPresent } from './missing-file.js';
export { isInnerPath } from './inner-path.js';
export * from './watched-file.js';
