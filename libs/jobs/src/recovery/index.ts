export * from './delete-expired-artifacts.sweep.js';
export * from './expire-overdue.sweep.js';
export * from './fail-abandoned.sweep.js';
export * from './remove-closed.sweep.js';
export * from './result-backlog.js';
export * from './requeue-lost.sweep.js';
export * from './sweep-runner.js';
export * from './sweep.js';
