export { DownloadLinksRepository } from './download-links.repository.js';
export * from './download.service.js';
export * from './delete-expired-links.sweep.js';
