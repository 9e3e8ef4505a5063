import type { Logger } from '#platform/logging';

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {} };

/** Production logs every recovered failure; a simulation causes many. */
export const silentLogger = silent as unknown as Logger;
