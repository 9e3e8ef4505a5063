export { DownloadController } from './download.controller.js';
export * from '../requests/index.js';
