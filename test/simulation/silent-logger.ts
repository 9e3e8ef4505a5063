import type { Logger } from '#platform/logging';

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {} };

/** Production logs what it survives; a simulation makes it survive a lot. */
export const silentLogger = silent as unknown as Logger;
