export { DownloadLinksRepository } from './download-links.repository.js';
export * from './download.service.js';
export * from './forget-links.sweep.js';
